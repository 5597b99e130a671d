// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The wire of a service (SPEC §18): its objects, sessions, requests and refusals.
struct ServiceVectors: TestWriter {
    let file: VectorFile
    private let fixture = ServiceFixture()

    static func make() -> VectorFile {
        let file = VectorFile(
            "service", section: "18", purpose: "the wire of a service: objects, sessions, requests, messages, refusals")
        let vectors = Self(file: file)
        vectors.addObjects()
        vectors.addServer()
        vectors.addDeviceKey()
        vectors.addAudiences()
        vectors.addSessions()
        vectors.addSessionFaults()
        vectors.addRequests()
        vectors.addAuthorizationFaults()
        vectors.addLogins()
        ServiceMessageVectors(file: file).addMessages()
        ServiceAnswerVectors(file: file).add()
        return file
    }

    /// The first bytes of an object and its size, broken in every way.
    private func addFrameFaults(_ object: Bytes, base: Int, as name: String) {
        func refuse(_ comment: String, _ flag: String, _ error: String, _ bytes: Bytes) {
            invalid(comment, flag, error, base: base, in: [name: bytes])
        }
        refuse("another release", "WrongMagic", "unsupported", object.replacing(at: 7, with: [0x39]))
        refuse("another object", "WrongMagic", "unsupported", object.replacing(at: 6, with: ascii("C1")))
        refuse("no object of ours", "WrongMagic", "altered", object.replacing(at: 0, with: [0x54]))
        refuse("version 2", "WrongVersion", "unsupported", object.replacing(at: 8, with: [2]))
        refuse("suite 2", "WrongSuite", "unsupported", object.replacing(at: 9, with: [2]))
        refuse("nothing", "Truncated", "altered", [])
        refuse("a byte is missing", "Truncated", "altered", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", "altered", object + [0])
    }

    private func addObjects() {
        group("reencode")
        let objects = [
            ("tresorN1", "a server", fixture.server), ("tresorT1", "a session statement", fixture.session()),
            ("tresorQ1", "a login statement", fixture.login()),
        ]
        for (magic, comment, object) in objects {
            let base = valid(comment, in: ["magic": ascii(magic), "object": object], out: ["object": object])
            addFrameFaults(object, base: base, as: "object")
        }
        for (magic, comment, object) in objects.dropFirst() {
            invalid(
                "\(comment) of another release, cut: the size comes first", "Truncated", "altered",
                in: ["magic": ascii(magic), "object": Bytes(object.replacing(at: 7, with: [0x39]).prefix(60))])
        }
    }

    private func addServer() {
        group("readServer")
        let base = valid("a server", in: ["server": fixture.server], out: ["server id": fixture.serverID])
        let other = fixture.server.replacing(at: 42, with: u32(65_536) + u32(4))
        valid("another cost", in: ["server": other], out: ["server id": hash("tresor/v1/server-id", other)])
        addFrameFaults(fixture.server, base: base, as: "server")
    }

    private func addDeviceKey() {
        group("deviceKey")
        let share = fixture.deviceShare
        let base = valid(
            "a device", in: ["device share": share],
            out: ["user": Cast.anna.user, "device": fixture.device, "device key": fixture.deviceKey.publicKey])
        addFrameFaults(share, base: base, as: "device share")
        invalid(
            "of another release, cut: the size comes first", "Truncated", "altered", base: base,
            in: ["device share": Bytes(share.replacing(at: 7, with: [0x39]).prefix(60))])
    }

    private func addAudiences() {
        group("audience")
        let addresses: [(String, String, String, UInt16)] = [
            ("a name", "https", "tresor.example", 443), ("another port", "https", "tresor.example", 8443),
            ("another name", "https", "tresor.example.org", 443), ("of loopback", "http", "127.0.0.1", 8443),
            ("an IPv6 address", "https", "[2001:db8::1]", 443), ("the greatest port", "http", "localhost", 65_535),
            ("the longest name", "https", String(repeating: "a", count: 253), 1),
        ]
        for (comment, scheme, host, port) in addresses {
            valid(
                comment, in: ["scheme": ascii(scheme), "host": ascii(host), "port": u16(Int(port))],
                out: ["audience": fixture.audience(scheme, host, port)])
        }
    }

    private func sessionOut(_ session: Bytes) -> Values {
        let device = session.at(111, 16)
        return [
            "kind": session.at(10, 1), "server id": session.at(11, 32), "audience": session.at(43, 32),
            "user": session.at(75, 32), "generation": session.at(107, 4),
            "device": device == zeros(16) ? [] : device, "era": session.at(127, 16), "key": session.at(143, 32),
            "since": session.at(175, 8), "until": session.at(183, 8),
            "session hash": hash("tresor/v1/session-hash", session),
        ]
    }

    private func addSessions() {
        group("verifySession")
        let signer = Cast.anna.newest.signing.publicKey
        let tests: [(String, String, Bytes, Bytes)] = [
            ("of a trusted device's person", "Normal", fixture.session(device: fixture.device), signer),
            (
                "of a renewed identity", "Normal",
                fixture.session(of: Cast.gwenRenewed, generation: 1, signer: Cast.gwenRenewed.newest.signing),
                Cast.gwenRenewed.newest.signing.publicKey
            ),
            ("of a device", "Normal", fixture.deviceSession(), fixture.deviceKey.publicKey),
            ("of a later era", "Normal", fixture.session(era: draw()("era", 16)), signer),
            (
                "at another address", "Normal", fixture.session(audience: fixture.audience("http", "localhost", 8443)),
                signer
            ),
            ("a second", "EdgeCase", fixture.session(since: 7, until: 7), signer),
            ("a day", "EdgeCase", fixture.session(since: 7, until: 86_407), signer),
            ("the last second", "EdgeCase", fixture.session(since: latestTime, until: latestTime), signer),
        ]
        for (comment, flag, session, signer) in tests {
            valid(comment, [flag], in: ["session": session, "signer": signer], out: sessionOut(session))
        }
    }

    private func addSessionFaults() {
        let anna = Cast.anna.newest.signing
        let session = fixture.session()
        let base = valid(
            "of an identity", in: ["session": session, "signer": anna.publicKey], out: sessionOut(session))
        addFrameFaults(session, base: base, as: "session")
        func refuse(_ comment: String, _ flag: String, _ session: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["session": session])
        }
        refuse("kind 0", "NonCanonical", fixture.session(kind: 0))
        refuse("kind 3", "NonCanonical", fixture.session(kind: 3))
        refuse("ends before it begins", "NonCanonical", fixture.session(since: 7, until: 6))
        refuse("a day and a second", "Oversize", fixture.session(since: 7, until: 86_408))
        refuse("until the year 10 000", "Oversize", fixture.session(since: latestTime, until: latestTime + 1))
        refuse("since the year 10 000", "Oversize", fixture.session(since: latestTime + 1, until: latestTime + 1))
        refuse("signed under another label", "CrossTypeSignature", fixture.session(label: "tresor/v1/login-signature"))
        refuse("signed by its own key", "WrongSigner", fixture.session(signer: fixture.sessionKey))
        for (place, what) in [
            (11, "server"), (43, "audience"), (75, "user"), (110, "generation"), (111, "device"), (127, "era"),
            (143, "key"), (182, "since"), (190, "until"), (191, "R"), (223, "S"),
        ] {
            refuse("another \(what)", "WrongSigner", session.flipped(at: place))
        }
        refuse("S + L", "NonCanonicalS", session.at(0, 191) + EdgeSignature.addingOrder(session.at(191, 64)))
        invalid(
            "another signer", "WrongSigner", "altered", base: base, in: ["signer": Cast.bert.newest.signing.publicKey])
        let device = fixture.deviceSession()
        let second = valid(
            "of the device", in: ["session": device, "signer": fixture.deviceKey.publicKey], out: sessionOut(device))
        func refuseDevice(_ comment: String, _ session: Bytes) {
            invalid(comment, "NonCanonical", "altered", base: second, in: ["session": session])
        }
        refuseDevice("a device that names none", fixture.deviceSession(device: zeros(16)))
        refuseDevice("a device with a generation", fixture.deviceSession(generation: 1))
        refuseDevice(
            "a device's statement for a person's",
            fixture.session(device: fixture.device, signer: fixture.deviceKey).replacing(at: 10, with: [2]))
    }

    private func addRequests() {
        group("verifyRequest")
        let tests: [(String, String, Bytes)] = [
            ("a request", "append", draw()("body", 100)), ("an empty body", "server", []),
            ("the longest name", "delete-server-shares", [0, 0]),
        ]
        for (comment, operation, body) in tests {
            let request = fixture.request(operation, body)
            valid(
                comment, in: ["authorization": request.text, "operation": ascii(operation), "body": body],
                mid: ["request": request.statement],
                out: ["session": fixture.session(), "id": fixture.id, "time": u64(1_767_300_100)])
        }
    }

    private func addAuthorizationFaults() {
        let body = ascii("body")
        let request = fixture.request("put-card", body)
        let base = valid(
            "the base of what is broken",
            in: ["authorization": request.text, "operation": ascii("put-card"), "body": body],
            mid: ["request": request.statement],
            out: ["session": fixture.session(), "id": fixture.id, "time": u64(1_767_300_100)])
        invalid("another operation", "WrongContext", "altered", base: base, in: ["operation": ascii("append")])
        invalid("no operation", "NonCanonical", "failed", base: base, in: ["operation": ascii("Put-Card")])
        invalid(
            "no operation and no authorization: the operation comes first", "NonCanonical", "failed", base: base,
            in: ["operation": ascii("Put-Card"), "authorization": []])
        invalid("another body", "WrongContext", "altered", base: base, in: ["body": body + [0]])
        func refuse(_ comment: String, _ flag: String, _ text: Bytes, _ error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["authorization": text])
        }
        refuse(
            "another id", "WrongContext", fixture.request("put-card", body, id: zeros(16), signedID: fixture.id).text)
        refuse("another time", "WrongContext", fixture.request("put-card", body, time: 5, signedTime: 6).text)
        refuse("a time after the last", "Oversize", fixture.request("put-card", body, time: latestTime + 1).text)
        refuse(
            "signed by the identity", "WrongSigner",
            fixture.request("put-card", body, by: Cast.anna.newest.signing).text)
        refuse(
            "signed under another label", "CrossTypeSignature",
            fixture.request("put-card", body, label: "tresor/v1/session-signature").text)
        refuse("for another session", "WrongContext", fixture.request("put-card", body, session: zeros(32)).text)
        refuse(
            "a session that is none", "NonCanonical", fixture.authorization(fixture.session(kind: 9), request.tail))
        refuse(
            "a session of another release", "WrongMagic",
            fixture.authorization(fixture.session().replacing(at: 7, with: [0x32]), request.tail), "unsupported")
        addTextFaults(request.text, base: base)
    }

    private func addTextFaults(_ text: Bytes, base: Int) {
        func refuse(_ comment: String, _ flag: String, _ text: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["authorization": text])
        }
        refuse("nothing", "Truncated", [])
        refuse("the scheme alone", "Truncated", text.at(0, 7))
        refuse("one part", "Truncated", text.at(0, 347))
        refuse("one part and a point", "Truncated", text.at(0, 348))
        refuse("a character is missing", "Truncated", Bytes(text.dropLast()))
        refuse("a character more", "TrailingData", text + ascii("A"))
        refuse("padding", "TrailingData", text + ascii("=="))
        refuse("a blank behind", "TrailingData", text + ascii(" "))
        refuse("the scheme in lower case", "NonCanonical", text.replacing(at: 0, with: ascii("t")))
        refuse("another scheme", "NonCanonical", ascii("Bearer ") + text.dropFirst(7))
        refuse("two blanks", "NonCanonical", ascii("Tresor  ") + text.dropFirst(7))
        refuse("a tab", "NonCanonical", text.replacing(at: 6, with: [9]))
        refuse("another mark between the parts", "NonCanonical", text.replacing(at: 347, with: ascii(",")))
        refuse(
            "the parts in the other order", "NonCanonical",
            text.at(0, 7) + text.at(348, 118) + ascii(".") + text.at(7, 340))
        refuse("the other alphabet", "NonCanonical", text.replacing(at: 50, with: ascii("+")))
        refuse("a character beyond ASCII", "NonCanonical", text.replacing(at: 50, with: [0xc3, 0xa9]))
        refuse("a byte that is no text", "BadUTF8", text.replacing(at: 50, with: [0xff]))
        let digits = ascii("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = digits.firstIndex(of: text[465]) ?? 0
        for bit in 0..<4 {
            refuse("unused bit \(bit) is set", "NonCanonical", text.replacing(at: 465, with: [digits[last | 1 << bit]]))
        }
    }

    private func loginOut(_ login: Bytes) -> Values {
        [
            "server id": login.at(10, 32), "user": login.at(42, 32), "generation": login.at(74, 4),
            "revision": login.at(78, 8), "record": login.at(86, 32), "copy": login.at(118, 32),
            "time": login.at(150, 8),
        ]
    }

    private func addLogins() {
        group("verifyLogin")
        let chain = Cast.anna.chain
        let login = fixture.login()
        let base = valid("without a log-in", in: ["statement": login, "chain": chain], out: loginOut(login))
        let (record, copy) = (draw()("record", 32), draw()("copy", 32))
        let full = fixture.login(revision: 2, record: record, copy: copy)
        valid("with a log-in", in: ["statement": full, "chain": chain], out: loginOut(full))
        for generation in 0...1 {
            let login = fixture.login(of: Cast.gwenRenewed, generation: generation)
            valid(
                "generation \(generation) of two", in: ["statement": login, "chain": Cast.gwenRenewed.chain],
                out: loginOut(login))
        }
        addFrameFaults(login, base: base, as: "statement")
        func refuse(_ comment: String, _ flag: String, _ login: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["statement": login])
        }
        refuse("revision 0", "NonCanonical", fixture.login(revision: 0))
        refuse("a record without a copy", "NonCanonical", fixture.login(record: record))
        refuse("a copy without a record", "NonCanonical", fixture.login(copy: copy))
        refuse("a time after the last", "Oversize", fixture.login(time: latestTime + 1))
        refuse("a generation that is not there", "WrongSigner", fixture.login(generation: 1))
        refuse("another's statement", "WrongSigner", fixture.login(of: Cast.bert))
        refuse("signed by another", "WrongSigner", fixture.login(signer: Cast.bert.newest.signing))
        let twin = Person(seed: Cast.anna.newest.seed, handle: ascii("dr-anna"), time: 1_767_225_600)
        refuse("of another user id with the same key", "WrongContext", fixture.login(of: twin))
        refuse("signed under another label", "CrossTypeSignature", fixture.login(label: "tresor/v1/session-signature"))
        for (place, what) in [(10, "server"), (42, "user"), (85, "revision"), (157, "time"), (158, "R"), (190, "S")] {
            refuse("another \(what)", "WrongSigner", login.flipped(at: place))
        }
        invalid("another's chain", "WrongSigner", "altered", base: base, in: ["chain": Cast.bert.chain])
        invalid("no chain", "Truncated", "altered", base: base, in: ["chain": []])
    }
}

/// The latest time of the format.
let latestTime: UInt64 = 253_402_300_799

/// One service, one device and one session, with everything that a test changes of them.
struct ServiceFixture {
    private let draw = Draw(file: "service", id: 0)

    var server: Bytes { preamble("tresorN1") + draw("key", 32) + u32(262_144) + u32(3) }
    var serverID: Bytes { hash("tresor/v1/server-id", server) }
    var sessionKey: SigningPair { SigningPair(seed: draw("session", 32)) }
    var device: Bytes { draw("device", 16) }
    var deviceShare: Bytes { preamble("tresorD1") + Cast.anna.user + device + draw("share", 32) }
    var deviceKey: SigningPair { SigningPair(seed: derive(draw("share", 32), "tresor/v1/device-sign")) }
    var id: Bytes { draw("id", 16) }

    func audience(_ scheme: String, _ host: String, _ port: UInt16) -> Bytes {
        func vector8(_ text: String) -> Bytes { [UInt8(truncatingIfNeeded: text.utf8.count)] + ascii(text) }
        return hash("tresor/v1/audience", join(vector8(scheme), vector8(host), u16(Int(port))))
    }

    func session(
        of person: Person = Cast.anna, kind: UInt8 = 1, generation: Int = 0, device: Bytes = zeros(16),
        audience: Bytes? = nil, era: Bytes = zeros(16), since: UInt64 = 1_767_300_000, until: UInt64 = 1_767_303_600,
        signer: SigningPair? = nil, label: String = "tresor/v1/session-signature"
    ) -> Bytes {
        let signed = join(
            preamble("tresorT1"), [kind], serverID, audience ?? self.audience("https", "tresor.example", 443),
            person.user, u32(generation), device, era, sessionKey.publicKey, u64(since), u64(until))
        return signed + (signer ?? person.generations[0].signing).sign(label, signed)
    }

    func deviceSession(generation: Int = 0, device: Bytes? = nil) -> Bytes {
        session(kind: 2, generation: generation, device: device ?? self.device, signer: deviceKey)
    }

    struct Request {
        let text: Bytes
        let statement: Bytes
        /// id, time and signature.
        let tail: Bytes
    }

    func request(
        _ operation: String, _ body: Bytes, id: Bytes? = nil, signedID: Bytes? = nil, time: UInt64 = 1_767_300_100,
        signedTime: UInt64? = nil, session: Bytes? = nil, by signer: SigningPair? = nil,
        label: String = "tresor/v1/request-signature"
    ) -> Request {
        let id = id ?? self.id
        let statement = join(
            session ?? hash("tresor/v1/session-hash", self.session()), signedID ?? id, u64(signedTime ?? time),
            [UInt8(truncatingIfNeeded: operation.utf8.count)], ascii(operation), hash("tresor/v1/request-body", body))
        let tail = join(id, u64(time), (signer ?? sessionKey).sign(label, statement))
        return Request(text: authorization(self.session(), tail), statement: statement, tail: tail)
    }

    func authorization(_ session: Bytes, _ tail: Bytes) -> Bytes {
        func text(_ bytes: Bytes) -> String {
            Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
                "=", with: "")
        }
        return ascii("Tresor \(text(session)).\(text(tail))")
    }

    func login(
        of person: Person = Cast.anna, generation: Int = 0, revision: UInt64 = 1, record: Bytes = zeros(32),
        copy: Bytes = zeros(32), time: UInt64 = 1_767_300_000, signer: SigningPair? = nil,
        label: String = "tresor/v1/login-signature"
    ) -> Bytes {
        let signed = join(
            preamble("tresorQ1"), serverID, person.user, u32(generation), u64(revision), record, copy, u64(time))
        let own = person.generations[min(generation, person.generation)].signing
        return signed + (signer ?? own).sign(label, signed)
    }
}
