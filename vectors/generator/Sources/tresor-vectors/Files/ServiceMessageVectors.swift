// SPDX-License-Identifier: Apache-2.0

/// The bodies of requests and answers (SPEC §18.4): the one form of each, and what is not it.
struct ServiceMessageVectors: TestWriter {
    let file: VectorFile
    let fixture = ServiceFixture()

    func addMessages() {
        group("readMessage")
        addCards()
        addLogs()
        addWraps()
        addBlobs()
        addTresors()
        addEscrow()
        addRegistration()
        addAccounts()
        addOperators()
        addLogins()
    }

    /// A body that is not the form: why, its flag and the body.
    typealias Fault = (comment: String, flag: String, body: Bytes)

    /// A message, its ends, and its own faults.
    func message(_ name: String, _ body: Bytes, _ faults: [Fault] = [], comment: String? = nil) {
        let base = valid(
            comment.map { "\(name), \($0)" } ?? name, in: ["message": ascii(name), "body": body], out: ["body": body])
        func refuse(_ comment: String, _ flag: String, _ body: Bytes) {
            invalid("\(name), \(comment)", flag, "altered", base: base, in: ["body": body])
        }
        if !body.isEmpty {
            refuse("nothing", "Truncated", [])
            if body.count > 1 { refuse("a byte is missing", "Truncated", Bytes(body.dropLast())) }
        }
        refuse("a byte behind", "TrailingData", body + [0])
        for fault in faults { refuse(fault.comment, fault.flag, fault.body) }
    }

    /// A form at a limit.
    func edge(_ name: String, _ comment: String, _ body: Bytes) {
        valid("\(name), \(comment)", ["EdgeCase"], in: ["message": ascii(name), "body": body], out: ["body": body])
    }

    private func ids(_ name: String, _ count: Int) -> [Bytes] {
        (0..<count).map { draw(0)("\(name) \($0)", 32) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    func vector8(_ bytes: Bytes) -> Bytes { [UInt8(truncatingIfNeeded: bytes.count)] + bytes }
    func vector16(_ bytes: Bytes) -> Bytes { u16(bytes.count) + bytes }

    private func addCards() {
        let chain = prefixed(Cast.bert.chain)
        message("ServerRequest", [])
        message(
            "ServerAnswer", join(fixture.server, [1], u16(1), chain),
            [
                ("registration 3", "NonCanonical", join(fixture.server, [3], u16(1), chain)),
                ("an empty chain", "LengthOverflow", join(fixture.server, [1], u16(1), u32(0))),
                ("two approvers of one", "LengthOverflow", join(fixture.server, [1], u16(2), chain)),
            ])
        edge("ServerAnswer", "no approvers", join(fixture.server, [2], u16(0)))
        invalid(
            "ServerAnswer, a server of another release", "WrongMagic", "unsupported",
            in: [
                "message": ascii("ServerAnswer"),
                "body": join(fixture.server.replacing(at: 7, with: [0x32]), [1], u16(0)),
            ])
        message("CardRequest", Cast.bert.user)
        message("ChainAnswer", chain, [("524 289 bytes", "Oversize", u32(524_289))])
        edge("ChainAnswer", "none", u32(0))
        edge("ChainAnswer", "a byte that is no chain", prefixed([1]))
        message("CardsRequest", vector16(ascii("bert")), [("257 bytes", "Oversize", vector16(zeros(257)))])
        message("ChainsAnswer", u16(1) + chain, [("an empty chain", "LengthOverflow", u16(1) + u32(0))])
        edge("ChainsAnswer", "none", u16(0))
        edge("ChainsAnswer", "two", u16(2) + chain + prefixed(Cast.cleo.chain))
        let prefix = Cast.bert.user
        message(
            "UsersRequest", vector8(prefix.at(0, 3)),
            [
                ("2 bytes", "LengthOverflow", vector8(prefix.at(0, 2))),
                ("33 bytes", "Oversize", vector8(prefix + [0])),
            ])
        edge("UsersRequest", "32 bytes", vector8(prefix))
        let users = ids("user", 65)
        message(
            "UsersAnswer", u16(2) + users[0] + users[1],
            [
                ("that falls", "NonCanonical", u16(2) + users[1] + users[0]),
                ("one twice", "NonCanonical", u16(2) + users[0] + users[0]),
                ("65", "Oversize", u16(65) + join(users)),
            ])
        edge("UsersAnswer", "none", u16(0))
        edge("UsersAnswer", "64", u16(64) + join(Array(users.prefix(64))))
        message("PutCardRequest", chain + chain, [("no chain", "LengthOverflow", u32(0) + chain)])
        edge("PutCardRequest", "nothing to replace", chain + u32(0))
        message("OutcomeAnswer", [1], [("2", "NonCanonical", [2])])
        edge("OutcomeAnswer", "done", [0])
        message("DoneAnswer", [])
    }

    private func addLogs() {
        let (tresor, user) = (draw(0)("tresor", 32), Cast.bert.user)
        let entry = draw(0)("entry", 40)
        message("EntriesRequest", tresor + u64(5) + u32(7))
        message(
            "EntriesAnswer", [1] + u32(2) + prefixed(entry) + prefixed([1]),
            [
                ("more after nothing", "NonCanonical", [1] + u32(0)),
                ("more is 2", "NonCanonical", [2] + u32(1) + prefixed(entry)),
                ("an entry of no bytes", "LengthOverflow", [0] + u32(1) + u32(0) + [0]),
                ("an entry longer than 1 MiB", "Oversize", [0] + u32(1) + u32(1 << 20 + 1) + [0]),
                ("2^32 − 1 entries", "LengthOverflow", [0, 255, 255, 255, 255] + prefixed(entry)),
            ])
        edge("EntriesAnswer", "none", [0] + u32(0))
        let head = tresor + u64(1) + draw(0)("previous", 32)
        let wrap = draw(0)("wrap", 50)
        let wraps = u32(2) + vector16(wrap) + vector16([1])
        let blob = draw(0)("blob hash", 32)
        let blobs = u16(2) + blob + u64(3) + prefixed([7, 8, 9]) + blob + u64(674) + u32(0)
        message(
            "AppendRequest", head + prefixed(entry) + wraps + u32(1) + user + blobs,
            [
                (
                    "a blob of another size", "NonCanonical",
                    head + prefixed(entry) + wraps + u32(0) + u16(1) + blob + u64(3) + prefixed([7, 8])
                ),
                (
                    "a blob longer than a pack", "Oversize",
                    head + prefixed(entry) + wraps + u32(0) + u16(1) + blob + u64(1_081_763)
                        + prefixed(zeros(1_081_763))
                ),
                (
                    "10 001 blobs", "Oversize",
                    head + prefixed(entry) + wraps + u32(0) + u16(10_001) + zeros(10_001 * 44)
                ),
                ("an entry of no bytes", "LengthOverflow", head + u32(0) + wraps + u32(0) + u16(0)),
                (
                    "a wrap of no bytes", "LengthOverflow",
                    head + prefixed(entry) + u32(1) + [0, 0, 0] + u32(0) + u16(0)
                ),
                (
                    "a wrap of 1360 bytes", "Oversize",
                    head + prefixed(entry) + u32(1) + vector16(zeros(1360)) + u32(0) + u16(0)
                ),
                ("2^32 − 1 wraps", "LengthOverflow", head + prefixed(entry) + [255, 255, 255, 255]),
                (
                    "10 001 wraps", "Oversize",
                    head + prefixed(entry) + u32(10_001) + join(.init(repeating: [0, 1, 9], count: 10_001)) + u32(0)
                        + u16(0)
                ),
                ("more users than bytes", "LengthOverflow", head + prefixed(entry) + wraps + u32(2) + user + u16(0)),
            ])
        edge(
            "AppendRequest", "nothing but an entry",
            tresor + u64(0) + zeros(32) + prefixed(entry) + u32(0) + u32(0) + u16(0))
        edge(
            "AppendRequest", "the longest wrap",
            head + prefixed(entry) + u32(1) + vector16(zeros(1359)) + u32(0) + u16(0))
        message(
            "PutWrapsRequest", tresor + wraps,
            [
                ("a wrap of no bytes", "LengthOverflow", tresor + u32(1) + [0, 0, 0])
            ])
        message("DeleteTresorRequest", tresor)
    }

    private func addWraps() {
        let tresor = draw(0)("tresor", 32)
        let users = ids("user", 2)
        message(
            "WrapsRequest", tresor + [0] + u64(3) + u32(2) + join(users),
            [
                ("a mark of 2", "NonCanonical", tresor + [2] + u64(3) + u32(2) + join(users)),
                ("nobody", "LengthOverflow", tresor + [0] + u64(3) + u32(0)),
                ("2001 users", "Oversize", tresor + [0] + u64(3) + u32(2001) + zeros(2001 * 32)),
            ])
        edge("WrapsRequest", "all from an epoch on", tresor + [1] + u64(3) + u32(2) + join(users))
        edge("WrapsRequest", "all, one user twice", tresor + [1] + u64(0) + u32(2) + users[0] + users[0])
        edge("WrapsRequest", "2000 users", tresor + [0] + u64(3) + u32(2000) + zeros(2000 * 32))
        let wrap = vector16(draw(0)("wrap", 50))
        message(
            "WrapsAnswer", u32(2) + u32(2) + wrap + wrap + u32(0),
            [
                ("of nobody", "LengthOverflow", u32(0)),
                ("a wrap of no bytes", "LengthOverflow", u32(1) + u32(1) + [0, 0, 0]),
                ("a wrap of 1360 bytes", "Oversize", u32(1) + u32(1) + vector16(zeros(1360))),
                ("2^32 − 1 users", "LengthOverflow", [255, 255, 255, 255] + u32(0)),
            ])
        edge("WrapsAnswer", "none of one", u32(1) + u32(0))
    }

    private func addBlobs() {
        let (tresor, blob) = (draw(0)("tresor", 32), draw(0)("blob hash", 32))
        let other = draw(0)("another blob hash", 32)
        let part = tresor + blob + u32(3)
        message(
            "PutBlobRequest", part + prefixed([1, 2]),
            [
                ("a part of no bytes", "LengthOverflow", part + u32(0)),
                ("a part of 262 145 bytes", "Oversize", part + prefixed(zeros(262_145))),
            ])
        message("BlobRequest", part)
        message("BlobAnswer", prefixed([1, 2]), [("262 145 bytes", "Oversize", prefixed(zeros(262_145)))])
        edge("BlobAnswer", "none", u32(0))
        for name in ["BlobsRequest", "DeleteBlobsRequest"] {
            message(
                name, tresor + u32(2) + blob + other,
                [
                    ("no blob", "LengthOverflow", tresor + u32(0)),
                    ("1025 blobs", "Oversize", tresor + u32(1025) + zeros(1025 * 32)),
                    ("more blobs than bytes", "LengthOverflow", tresor + u32(2) + blob),
                ])
            edge(name, "one blob twice", tresor + u32(2) + blob + blob)
        }
        message(
            "BlobsAnswer", u32(3) + prefixed([1, 2]) + u32(0) + prefixed([3]),
            [
                ("no blob", "LengthOverflow", u32(0)),
                ("1025 blobs", "Oversize", u32(1025) + zeros(1025 * 4)),
                ("a blob longer than 4 MiB", "Oversize", u32(1) + u32(4_194_305) + [0]),
                ("2^32 − 1 blobs", "LengthOverflow", [255, 255, 255, 255] + u32(0)),
            ])
    }

    private func addTresors() {
        let tresors = ids("tresor", 3)
        message("TresorsRequest", tresors[0])
        message(
            "TresorsAnswer", [1] + u32(2) + tresors[0] + tresors[1],
            [
                ("more after nothing", "NonCanonical", [1] + u32(0)),
                ("that falls", "NonCanonical", [0] + u32(2) + tresors[1] + tresors[0]),
                ("one twice", "NonCanonical", [0] + u32(2) + tresors[0] + tresors[0]),
                ("4097", "Oversize", [0] + u32(4097) + join((0..<4097).map { u32($0) + zeros(28) })),
            ])
        edge("TresorsAnswer", "none", [0] + u32(0))
        edge("TresorsAnswer", "4096", [1] + u32(4096) + join((0..<4096).map { u32($0) + zeros(28) }))
        message(
            "NewsRequest", vector8([1, 2]) + u16(55),
            [
                ("56 seconds", "Oversize", vector8([1, 2]) + u16(56)),
                ("a cursor of 65 bytes", "Oversize", vector8(zeros(65)) + u16(5)),
            ])
        edge("NewsRequest", "the first", [0] + u16(0))
        message(
            "NewsAnswer", [1] + vector8([1, 2]) + u16(2) + tresors[1] + tresors[0],
            [
                ("more after nothing", "NonCanonical", [1] + vector8([1, 2]) + u16(0)),
                ("a cursor of 65 bytes", "Oversize", [0] + vector8(zeros(65)) + u16(0)),
            ])
        edge("NewsAnswer", "one twice", [0] + vector8(zeros(64)) + u16(2) + tresors[0] + tresors[0])
        edge("NewsAnswer", "nothing grew", [0] + vector8([7]) + u16(0))
    }

    private func addEscrow() {
        let (share, locator) = (draw(0)("server share", 32), draw(0)("locator", 32))
        message("PutServerShareRequest", fixture.device + share + fixture.deviceKey.publicKey)
        message("ServerShareRequest", fixture.device)
        message(
            "ServerShareAnswer", vector8(share),
            [
                ("31 bytes", "LengthOverflow", vector8(share.at(0, 31))),
                ("33 bytes", "Oversize", vector8(share + [0])),
            ])
        edge("ServerShareAnswer", "none", [0])
        message("DeleteServerSharesRequest", u16(1) + fixture.device)
        edge("DeleteServerSharesRequest", "all", u16(0))
        message("PutKitCopyRequest", locator + prefixed([1]), [("no copy", "LengthOverflow", locator + u32(0))])
        message("KitCopyRequest", locator)
        message("KitCopyAnswer", prefixed([1]), [("longer than 1 MiB", "Oversize", u32(1 << 20 + 1) + [0])])
        edge("KitCopyAnswer", "none", u32(0))
        message("DeleteKitCopyRequest", locator)
        let offer = draw()("offer", 1266)
        message(
            "PutOfferRequest", locator + offer,
            [("an offer that is too long", "TrailingData", join(locator, offer, [0]))])
        message("PutOfferAnswer", [0], [("another outcome", "LengthOverflow", [3])])
        edge("PutOfferAnswer", "no mailbox", [2])
    }

    private func addRegistration() {
        let chain = prefixed(Cast.anna.chain)
        let (code, blinded) = (draw(0)("code", 16), draw(0)("blinded", 32))
        message(
            "RegisterRequest", chain + vector8(code) + vector8(blinded),
            [
                ("no chain", "LengthOverflow", u32(0) + vector8(code) + vector8(blinded)),
                ("a code of 15 bytes", "LengthOverflow", chain + vector8(code.at(0, 15)) + [0]),
                ("a code of 17 bytes", "Oversize", chain + vector8(code + [0]) + [0]),
                ("31 blinded bytes", "LengthOverflow", chain + [0] + vector8(blinded.at(0, 31))),
            ])
        edge("RegisterRequest", "a chain alone", chain + [0, 0])
        message(
            "RegisterAnswer", [1] + vector8(blinded),
            [
                ("state 0", "NonCanonical", [0, 0]), ("state 5", "NonCanonical", [5, 0]),
                ("31 bytes", "LengthOverflow", [1] + vector8(blinded.at(0, 31))),
            ])
        edge("RegisterAnswer", "closed", [4, 0])
        addFinish()
        message("FinishAnswer", [3], [("state 0", "NonCanonical", [0]), ("state 5", "NonCanonical", [5])])
    }

    private func addFinish() {
        let without = fixture.login()
        let with = fixture.login(record: draw(0)("record hash", 32), copy: draw(0)("copy hash", 32))
        let record = vector8(draw(0)("record", 192))
        message(
            "FinishRequest", record + with + prefixed([1]),
            [
                ("a record and no copy", "NonCanonical", record + with + u32(0)),
                ("a record, and a statement without", "NonCanonical", record + without + prefixed([1])),
                ("no record, and a statement with one", "NonCanonical", [0] + with + u32(0)),
                ("a copy and no record", "NonCanonical", [0] + without + prefixed([1])),
                ("a record of 191 bytes", "LengthOverflow", vector8(zeros(191)) + with + prefixed([1])),
                ("revision 0", "NonCanonical", [0] + fixture.login(revision: 0) + u32(0)),
            ])
        edge("FinishRequest", "a statement alone", [0] + without + u32(0))
    }

    private func addAccounts() {
        message("AccountRequest", [])
        addAccountAnswer()
        message("EndSessionsRequest", [])
        message("DeleteAccountRequest", [])
    }

    private func addOperators() {
        let (digest, label) = (draw(0)("hash", 32), vector16(ascii("ward 5")))
        message(
            "InviteRequest", digest + label + u64(1_767_300_000),
            [
                ("a control character", "ControlInName", digest + vector16([10]) + u64(5)),
                ("a label that is no text", "BadUTF8", digest + vector16([0xff]) + u64(5)),
                ("a label of 257 bytes", "Oversize", digest + vector16(.init(repeating: 97, count: 257)) + u64(5)),
                ("after the last time", "Oversize", digest + label + u64(latestTime + 1)),
            ])
        message("InboxRequest", zeros(32))
        let waiting = [2] + prefixed(Cast.anna.chain) + label + u64(5)
        let asked = [1] + prefixed(Cast.bert.chain) + u16(0) + u64(6)
        message(
            "InboxAnswer", [1] + u32(2) + waiting + asked,
            [
                ("more after nothing", "NonCanonical", [1] + u32(0)),
                ("an active account", "NonCanonical", [0] + u32(1) + [3] + waiting.dropFirst()),
                ("no chain", "LengthOverflow", [0] + u32(1) + [2] + u32(0) + label + u64(5)),
                ("a control character", "ControlInName", [0] + u32(1) + [2] + prefixed([1]) + vector16([0]) + u64(5)),
                ("2^32 − 1 people", "LengthOverflow", [0, 255, 255, 255, 255] + waiting),
            ])
        edge("InboxAnswer", "nobody", [0] + u32(0))
        let people = Person.byUser([Cast.anna, Cast.bert]).reversed().map { person -> Bytes in
            [2] + prefixed(person.chain) + u16(0) + u64(5)
        }
        edge("InboxAnswer", "user ids that fall", [0] + u32(2) + join(people))
        message(
            "AdmitRequest", Cast.anna.user + Cast.anna.newest.hash + [1],
            [("2", "NonCanonical", Cast.anna.user + Cast.anna.newest.hash + [2])])
    }
}
