// SPDX-License-Identifier: Apache-2.0

import Csodium

/// Wraps, HPKE with X-Wing, and checks of keys (SPEC §9.6).
struct WrapVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile("wrap", section: "9.6", purpose: "wraps, HPKE with X-Wing, and checks of keys")
        let vectors = Self(file: file)
        vectors.addKeyChecks()
        file.group("openWrap")
        vectors.addWraps()
        vectors.addTaggedLowOrder()
        KeysOfVectors(file: file).addKeysOf()
        return file
    }

    /// Points of SPEC §5.4 whose X25519 result is zero.
    static let lowOrder: [Bytes] = [
        zeros(32), [1] + zeros(31), [0xec] + Bytes(repeating: 0xff, count: 30) + [0x7f],
        hexBytes("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        hexBytes("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        [0xed] + Bytes(repeating: 0xff, count: 30) + [0x7f], [0xee] + Bytes(repeating: 0xff, count: 30) + [0x7f],
        zeros(31) + [0x80],
    ]

    private func addKeyChecks() {
        group("checkKEMKey")
        let key = Cast.house.newest.kemKey
        let base = valid("a public key", in: ["pk": key], out: ["pk": key])
        invalid("one byte is missing", "Truncated", "altered", base: base, in: ["pk": Bytes(key.dropLast())])
        invalid("one byte more", "TrailingData", "altered", base: base, in: ["pk": key + [0]])
        invalid(
            "the first coefficient is 3329", "ModulusOverflow", "altered", base: base,
            in: ["pk": key.replacing(at: 0, with: [0x01, key[1] & 0xf0 | 0x0d])])
        invalid(
            "the second coefficient is 4095", "ModulusOverflow", "altered", base: base,
            in: ["pk": key.replacing(at: 1, with: [key[1] | 0xf0, 0xff])])
        invalid(
            "the last coefficient is 3329", "ModulusOverflow", "altered", base: base,
            in: ["pk": key.replacing(at: 1150, with: [key[1150] & 0x0f | 0x10, 0xd0])])
        for point in Self.lowOrder {
            invalid(
                "an X25519 half of low order", "LowOrderPoint", "altered", base: base,
                in: ["pk": join(key.at(0, 1184), point)])
        }
    }

    private func addWraps() {
        let log = Cast.fullLog()
        let statements = log.epochs.map(\.statement)
        func input(_ wrap: Bytes, _ person: Person, epoch: UInt64, history: UInt64) -> Values {
            let values: Values = [
                "wrap": wrap, "tresor": log.tresor, "epoch": statements[Int(epoch) - 1], "chain": person.chain,
                "history": u64(history), "own chain": person.chain, "S": person.newest.seed,
            ]
            return values.with("previous", person.previous)
        }
        @discardableResult func add(
            _ comment: String, _ flag: String, _ wrapping: Wrapping, _ person: Person, epoch: UInt64, history: UInt64
        ) -> Int {
            valid(
                comment, [flag], in: input(wrapping.bytes, person, epoch: epoch, history: history),
                mid: [
                    "info": wrapping.info, "eseed": wrapping.hpke.eseed, "enc": wrapping.hpke.enc,
                    "shared secret": wrapping.hpke.sharedSecret, "context": wrapping.hpke.context,
                    "secret": wrapping.hpke.secret, "key": wrapping.hpke.key, "nonce": wrapping.hpke.nonce,
                    "ct": wrapping.hpke.ciphertext,
                ], out: ["keys": wrapping.plaintext])
        }
        func wrapping(_ epoch: Int, _ person: Person, generation: Int? = nil, history: Bool = true) -> Wrapping {
            Wrapping(
                log.epochs[epoch - 1], tresor: log.tresor, for: person, generation: generation, history: history,
                eseed: draw()("eseed", 64))
        }
        let bert = wrapping(3, Cast.bert)
        let base = add("full history: TK and HK", "Normal", bert, Cast.bert, epoch: 3, history: 0)
        let fred = wrapping(3, Cast.fred, history: false)
        let fromNow = add("from now: TK alone", "Normal", fred, Cast.fred, epoch: 3, history: 3)
        let older = wrapping(3, Cast.gwenRenewed, generation: 0)
        add(
            "for the earlier generation of somebody who renewed", "EdgeCase", older, Cast.gwenRenewed, epoch: 3,
            history: 0)
        add("for the newer generation", "Normal", wrapping(3, Cast.gwenRenewed), Cast.gwenRenewed, epoch: 3, history: 0)
        add("epoch 1", "Normal", wrapping(1, Cast.anna), Cast.anna, epoch: 1, history: 0)
        addWrapFormFaults(base, bert.bytes)
        addWrapContentFaults(base: base, fromNow: fromNow, log: log, bert: bert, fred: fred)
        invalid(
            "a generation that only the log knows", "StaleGeneration", "no_access",
            in: input(wrapping(3, Cast.gwenRenewed).bytes, Cast.gwenRenewed, epoch: 3, history: 0)
                .replacing("S", Cast.gwen.newest.seed).replacing("own chain", Cast.gwen.chain).replacing(
                    "previous", [Bytes]()))
    }

    /// X25519 gives zero for these points. A program that continues with zero finds a valid tag.
    private func addTaggedLowOrder() {
        let log = Cast.fullLog()
        let (epoch, person) = (log.epochs[2], Cast.bert)
        let made = Wrapping(epoch, tresor: log.tresor, for: person, eseed: draw()("eseed", 64))
        let base = file.tests.first { $0.out(is: made.plaintext) }?.id
        for index in [0, 4, 5] {
            let enc = made.hpke.enc.at(0, 1088) + Self.lowOrder[index]
            let forged = HPKEWrapping(
                enc: enc, sharedSecret: decapsulatedWithoutCheck(enc, seed: person.newest.kemSeed), info: made.info,
                plaintext: made.plaintext, eseed: [])
            invalid(
                "the X25519 half of enc is of low order, and the tag holds", "LowOrderPoint", "altered", base: base,
                in: [
                    "wrap": Wrapping.encode(
                        tresor: log.tresor, epoch: 3, user: person.user, generation: 0, enc: enc,
                        ct: forged.ciphertext)
                ], mid: ["plaintext without the check": made.plaintext])
        }
    }

    private func addWrapFormFaults(_ base: Int, _ wrap: Bytes) {
        func refuse(_ comment: String, _ flag: String, _ bytes: Bytes) { refuse(comment, flag, "altered", bytes) }
        func refuse(_ comment: String, _ flag: String, _ error: String, _ bytes: Bytes) {
            invalid(comment, flag, error, base: base, in: ["wrap": bytes])
        }
        refuse("another release", "WrongMagic", "unsupported", wrap.replacing(at: 7, with: [0x32]))
        refuse("no object of ours", "WrongMagic", wrap.replacing(at: 0, with: [0]))
        refuse("suite 2", "WrongSuite", "unsupported", wrap.replacing(at: 8, with: [2]))
        refuse("suite 0", "WrongSuite", "unsupported", wrap.replacing(at: 8, with: [0]))
        refuse("cut in enc", "Truncated", Bytes(wrap.prefix(700)))
        refuse("cut in ct", "Truncated", Bytes(wrap.dropLast()))
        refuse("a byte behind", "TrailingData", wrap + [0])
        refuse("a ct of 49 bytes", "LengthOverflow", wrap.at(0, 1205) + u16(49) + wrap.at(1207, 49))
        refuse("a ct of 81 bytes", "LengthOverflow", wrap.at(0, 1205) + u16(81) + zeros(81))
        refuse("a ct of 0 bytes", "LengthOverflow", wrap.at(0, 1205) + u16(0))
        refuse("a bit of the ML-KEM half of enc", "ModifiedCiphertext", wrap.flipped(at: 85))
        refuse("a bit of the X25519 half of enc", "ModifiedCiphertext", wrap.flipped(at: 85 + 1088))
        refuse("a bit of ct", "ModifiedCiphertext", wrap.flipped(at: 1207))
        refuse("a bit of the tag", "ModifiedTag", wrap.flipped(at: wrap.count - 1))
        for point in Self.lowOrder {
            refuse(
                "the X25519 half of enc is of low order", "LowOrderPoint", wrap.replacing(at: 85 + 1088, with: point))
        }
    }

    private func addWrapContentFaults(base: Int, fromNow: Int, log: Log, bert: Wrapping, fred: Wrapping) {
        let epoch = log.epochs[2]
        func refuse(_ comment: String, _ flag: String, _ wrap: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["wrap": wrap])
        }
        func made(
            tresor: Bytes? = nil, _ secret: EpochSecret? = nil, for person: Person = Cast.bert, generation: Int? = nil,
            history: Bool = true
        ) -> Wrapping {
            Wrapping(
                secret ?? epoch, tresor: tresor ?? log.tresor, for: person, generation: generation, history: history,
                eseed: draw()("eseed", 64))
        }
        func labelled(
            _ wrapping: Wrapping, tresor: Bytes? = nil, epoch: UInt64 = 3, user: Bytes = Cast.bert.user,
            generation: Int = 0
        ) -> Bytes {
            Wrapping.encode(
                tresor: tresor ?? log.tresor, epoch: epoch, user: user, generation: generation, enc: wrapping.hpke.enc,
                ct: wrapping.hpke.ciphertext)
        }
        let foreign = hash("tresor/v1/tresor-id", zeros(97))
        refuse("of another tresor", "WrongTresor", made(tresor: foreign).bytes)
        refuse("of another tresor, relabelled", "WrongTresor", labelled(made(tresor: foreign)))
        refuse("of another epoch", "WrongEpoch", made(log.epochs[1]).bytes)
        refuse("of another epoch, relabelled", "WrongEpoch", labelled(made(log.epochs[1])))
        refuse("of another member", "WrongMember", made(for: Cast.cleo).bytes)
        refuse("of another member, relabelled", "WrongMember", labelled(made(for: Cast.cleo)))
        refuse("of a generation that the chain does not have", "WrongCard", labelled(bert, generation: 1))
        let body = Cast.bert.newest
        let info = Wrapping.info(tresor: log.tresor, epoch: 3, user: Cast.bert.user, cardHash: Cast.cleo.newest.hash)
        let other = HPKEWrapping(body.kemKey, info: info, plaintext: bert.plaintext, eseed: draw()("eseed", 64))
        refuse(
            "bound to another card", "WrongCard",
            Wrapping.encode(
                tresor: log.tresor, epoch: 3, user: Cast.bert.user, generation: 0, enc: other.enc, ct: other.ciphertext)
        )
        let second = made()
        let (left, right) = (bert.hpke.enc, second.hpke.enc)
        refuse(
            "the ML-KEM half of another wrap", "SwappedHalves",
            labelled(bert).replacing(at: 85, with: right.at(0, 1088)))
        refuse(
            "the X25519 half of another wrap", "SwappedHalves",
            labelled(bert).replacing(at: 85 + 1088, with: right.at(1088, 32)))
        refuse("the ciphertext of another wrap", "SwappedHalves", labelled(second).replacing(at: 85, with: left))
        func holding(_ tk: Bytes, _ hk: Bytes) -> EpochSecret {
            EpochSecret(tresor: log.tresor, number: 3, tk: tk, hk: hk, links: [], salt: zeros(24))
        }
        refuse(
            "a TK that the log did not commit to", "CommitmentMismatch", made(holding(draw()("TK", 32), epoch.hk)).bytes
        )
        refuse(
            "an HK that the log did not commit to", "CommitmentMismatch",
            made(holding(epoch.tk, draw()("HK", 32))).bytes)
        refuse("TK and HK changed places", "CommitmentMismatch", made(holding(epoch.hk, epoch.tk)).bytes)
        refuse(
            "the keys of the epoch before", "CommitmentMismatch",
            made(holding(log.epochs[1].tk, log.epochs[1].hk)).bytes)
        refuse("no HK for a member with full history", "HistoryKeyLeaked", made(history: false).bytes)
        invalid(
            "an HK for a member from now on", "HistoryKeyLeaked", "altered", base: fromNow,
            in: ["wrap": made(for: Cast.fred).bytes])
        invalid(
            "a TK that the log did not commit to, from now on", "CommitmentMismatch", "altered", base: fromNow,
            in: ["wrap": made(holding(draw()("TK", 32), epoch.hk), for: Cast.fred, history: false).bytes])
        invalid(
            "another seed", "WrongKey", "altered", base: base,
            in: ["own chain": Cast.cleo.chain, "S": Cast.cleo.newest.seed])
    }
}

func hexBytes(_ text: String) -> Bytes {
    var bytes: Bytes = []
    var high: UInt8?
    for digit in text.utf8 {
        let value = digit > 0x40 ? digit - 0x57 : digit - 0x30
        if let first = high {
            bytes.append(first << 4 | value)
            high = nil
        } else {
            high = value
        }
    }
    return bytes
}
