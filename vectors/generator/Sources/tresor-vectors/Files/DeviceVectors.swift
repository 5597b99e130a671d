// SPDX-License-Identifier: Apache-2.0

/// The exchange of two machines of one person (SPEC §8.6).
struct DeviceVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile("device", section: "8.6", purpose: "a second machine: code, offer, answer, mailbox")
        let vectors = Self(file: file)
        vectors.addCodes()
        vectors.addOffers()
        vectors.addAnswers()
        vectors.addMailboxes()
        vectors.addFullBundle()
        return file
    }

    private static let digits = ascii("0123456789abcdefghjkmnpqrstvwxyz")

    private static func key(_ code: Bytes) -> Bytes { hash("tresor/v1/device-code", code) }

    /// Four groups of four digits.
    private static func text(_ code: Bytes) -> Bytes {
        let bits = code.flatMap { byte in (0..<8).map { byte >> UInt8(7 - $0) & 1 } }
        var text: Bytes = []
        for index in 0..<16 {
            if index > 0, index % 4 == 0 { text.append(0x2d) }
            text.append(digits[Int(bits[(index * 5)..<(index * 5 + 5)].reduce(0) { $0 << 1 | $1 })])
        }
        return text
    }

    private func addCodes() {
        group("readCode")
        let code = draw()("code", 10)
        let typed = Self.text(code)
        let output: Values = [
            "code": code, "text": typed, "locator": derive(Self.key(code), "tresor/v1/device-locator"),
        ]
        let base = valid("as it is shown", in: ["typed": typed], mid: ["K": Self.key(code)], out: output)
        let plain = String(decoding: typed, as: UTF8.self).filter { $0 != "-" }
        valid("in capitals, without hyphens", ["EdgeCase"], in: ["typed": ascii(plain.uppercased())], out: output)
        valid(
            "with blanks, a tab and a line end", ["EdgeCase"],
            in: ["typed": join(ascii(" \t"), typed, ascii("\r\n"))], out: output)
        let zeroOne: Bytes = [0x00, 0x42, 0, 0, 0, 0, 0, 0, 0, 0]
        valid(
            "i, l and o", ["EdgeCase"], in: ["typed": ascii("OiLO-oooo-oooo-oooo")],
            out: [
                "code": zeroOne, "text": ascii("0110-0000-0000-0000"),
                "locator": derive(Self.key(zeroOne), "tresor/v1/device-locator"),
            ])
        func refuse(_ comment: String, _ flag: String, _ typed: Bytes) {
            invalid(comment, flag, "not_found", base: base, in: ["typed": typed])
        }
        refuse("15 digits", "Truncated", Bytes(typed.dropLast()))
        refuse("17 digits", "TrailingData", typed + ascii("0"))
        refuse("a letter that is no digit", "NonCanonical", Bytes(typed.dropLast()) + ascii("u"))
        refuse("underscores", "NonCanonical", typed.map { $0 == 0x2d ? 0x5f : $0 })
        refuse("nothing", "Truncated", [])
    }

    /// An offer, with the seed of its key.
    private struct Offer {
        let code: Bytes
        let seed: Bytes
        let fields: Bytes
        var tag: Bytes { derive(DeviceVectors.key(code), "tresor/v1/device-tag", fields) }
        var bytes: Bytes { fields + tag }
        /// Four groups of five digits.
        var number: Bytes {
            let digest = derive(DeviceVectors.key(code), "tresor/v1/device-number", bytes)
            let groups = (0..<4).map { group in
                let value = digest[(group * 8)..<(group * 8 + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                return String(String(value % 100_000 + 100_000).dropFirst())
            }
            return ascii(groups.joined(separator: " "))
        }

        func receipt(of answer: Bytes) -> Bytes {
            derive(DeviceVectors.key(code), "tresor/v1/device-receipt", bytes + answer)
        }

        init(code: Bytes, seed: Bytes, until: UInt64 = 1_767_226_200, kemKey: Bytes? = nil, magic: String = "tresord1")
        {
            self.code = code
            self.seed = seed
            fields = join(preamble(magic), kemKey ?? kemPublicKey(seed: seed), u64(until))
        }
    }

    private func addOffers() {
        group("readOffer")
        let draw = draw()
        let (code, seed) = (draw("code", 10), draw("seed", 32))
        let offer = Offer(code: code, seed: seed)
        let base = valid(
            "an offer", in: ["code": code, "offer": offer.bytes], mid: ["K": Self.key(code), "tag": offer.tag],
            out: [
                "kem key": kemPublicKey(seed: seed), "until": u64(1_767_226_200), "number": offer.number,
            ])
        func refuse(_ comment: String, _ flag: String, _ error: String, _ offer: Bytes) {
            invalid(comment, flag, error, base: base, in: ["offer": offer])
        }
        refuse("a byte less", "Truncated", "altered", Bytes(offer.bytes.dropLast()))
        refuse("a byte more", "TrailingData", "altered", offer.bytes + [0])
        refuse("under another code", "WrongKey", "unverified", Offer(code: draw("other code", 10), seed: seed).bytes)
        refuse("a bit of the key", "ModifiedCiphertext", "unverified", offer.bytes.flipped(at: 10))
        refuse("a bit of the time", "ModifiedCiphertext", "unverified", offer.bytes.flipped(at: 1233))
        refuse("a bit of the tag", "ModifiedTag", "unverified", offer.bytes.flipped(at: 1265))
        refuse("a bit of the magic", "WrongMagic", "unverified", offer.bytes.flipped(at: 7))
        refuse(
            "under the label of answers", "WrongLabel", "unverified",
            offer.fields + derive(Self.key(code), "tresor/v1/device-answer", offer.fields))
        refuse(
            "another magic, rightly tagged", "WrongMagic", "unsupported",
            Offer(code: code, seed: seed, magic: "tresord2").bytes)
        refuse(
            "a time above the limit, rightly tagged", "LengthOverflow", "altered",
            Offer(code: code, seed: seed, until: 253_402_300_800).bytes)
        let low = kemPublicKey(seed: seed).replacing(at: 1184, with: zeros(32))
        refuse(
            "a key of low order, rightly tagged", "LowOrderPoint", "altered",
            Offer(code: code, seed: seed, kemKey: low).bytes)
    }

    /// The faults of an answer.
    private struct Faults {
        var padding: UInt8 = 0
        var file: Bytes?
        var seed: Bytes?
        var info: Bytes?
        var tagged: Bytes?
        var label = "tresor/v1/device-answer"
        var magic = "tresorw1"
        var innerMagic = "tresori1"
        var objects: [Bytes] = []
    }

    private struct Answer {
        let plaintext: Bytes
        let wrapping: HPKEWrapping
        let info: Bytes
        let bytes: Bytes

        init(_ person: Person, _ file: Bytes, to offer: Offer, store: Bytes, eseed: Bytes, _ faults: Faults = Faults())
        {
            let objects = join(faults.objects.map(prefixed))
            let fields = join(
                faults.seed ?? person.newest.seed, preamble(faults.innerMagic), prefixed(faults.file ?? file),
                u16(store.count), store, objects)
            let count = FileSealing.padded(max(512, fields.count)) - fields.count
            plaintext = join(fields, Bytes(zeros(count).dropLast()), count > 0 ? [faults.padding] : [])
            info = prefixed(ascii("tresor/v1/device-wrap")) + (faults.info ?? offer.bytes)
            wrapping = HPKEWrapping(kemPublicKey(seed: offer.seed), info: info, plaintext: plaintext, eseed: eseed)
            let untagged = join(preamble(faults.magic), wrapping.enc, prefixed(wrapping.ciphertext))
            let tagged = (faults.tagged ?? offer.bytes) + untagged
            bytes = untagged + derive(DeviceVectors.key(offer.code), faults.label, tagged)
        }
    }

    private func addAnswers() {
        group("openAnswer")
        let draw = draw()
        let (code, seed, kit) = (draw("code", 10), draw("seed", 32), draw("K", 32))
        let person = Cast.emilRenewed
        var writer = IdentityFileWriter(person, draw)
        writer.slots = [writer.kitSlot(kit)]
        let file = writer.bytes
        let offer = Offer(code: code, seed: seed)
        let store = ascii("https://tresor.example")
        let pins = join(preamble("tresorP1"), u64(1_767_225_700), [0], prefixed(Cast.anna.chain))
        let heads = join(preamble("tresorH1"), u64(0), draw("tresor", 32), u64(3), draw("head", 32))
        let objects = [pins, heads, [], [], [], []]
        var number = 0
        func answer(
            _ person: Person, to other: Offer? = nil, store name: Bytes? = nil,
            _ change: (inout Faults) -> Void = { _ in }
        ) -> Answer {
            number += 1
            var faults = Faults()
            faults.objects = objects
            change(&faults)
            return Answer(
                person, file, to: other ?? offer, store: name ?? store, eseed: draw("eseed \(number)", 64), faults)
        }
        let made = answer(person)
        func input(_ answer: Answer) -> Values {
            ["code": code, "offer": offer.bytes, "seed": seed, "answer": answer.bytes]
        }
        func output(_ answer: Answer, _ file: Bytes, store: Bytes, _ objects: [Bytes]) -> Values {
            let values: Values = [
                "user": person.user, "generation": u32(person.generation), "file": file, "store": store,
                "receipt": offer.receipt(of: answer.bytes),
            ]
            return values.with("objects", objects)
        }
        let base = valid(
            "with pins and heads", in: input(made),
            mid: [
                "K": Self.key(code), "info": made.info, "plaintext": made.plaintext, "enc": made.wrapping.enc,
                "ct": made.wrapping.ciphertext,
            ], out: output(made, file, store: store, objects))
        let nothing = answer(person, store: []) { $0.objects = [[], [], [], [], [], []] }
        valid(
            "of a home that knows nothing, without a store's name", ["EdgeCase"], in: input(nothing),
            out: output(nothing, file, store: [], [[], [], [], [], [], []]))
        var password = IdentityFileWriter(person, draw)
        password.slots = [password.passwordSlot("password of emil")]
        let without = password.bytes
        let kitless = answer(person) { $0.file = without }
        valid(
            "without a kit: the password's slot", ["EdgeCase"], in: input(kitless),
            out: output(kitless, without, store: store, objects))
        func refuse(_ comment: String, _ flag: String, _ error: String, _ answer: Bytes) {
            invalid(comment, flag, error, base: base, in: ["answer": answer])
        }
        refuse("a bit of the capsule", "ModifiedCiphertext", "unverified", made.bytes.flipped(at: 10))
        refuse("a bit of the ciphertext", "ModifiedCiphertext", "unverified", made.bytes.flipped(at: 1134))
        refuse("a bit of the tag", "ModifiedTag", "unverified", made.bytes.flipped(at: made.bytes.count - 1))
        refuse("cut short", "Truncated", "altered", made.bytes.at(0, 1690))
        refuse("a byte more", "TrailingData", "unverified", made.bytes + [0])
        let other = Offer(code: code, seed: draw("other seed", 32))
        refuse("an answer to another offer", "Replayed", "unverified", answer(person, to: other).bytes)
        let foreign = Offer(code: draw("other code", 10), seed: seed)
        refuse("under another code", "WrongKey", "unverified", answer(person, to: foreign).bytes)
        refuse(
            "under the label of offers", "WrongLabel", "unverified",
            answer(person) { $0.label = "tresor/v1/device-tag" }.bytes)
        refuse(
            "tagged without the offer", "WrongContext", "unverified", answer(person) { $0.tagged = [] }.bytes)
        refuse(
            "wrapped for another offer, rightly tagged", "WrongContext", "altered",
            answer(person) { $0.info = other.bytes }.bytes)
        refuse(
            "another magic, rightly tagged", "WrongMagic", "unsupported", answer(person) { $0.magic = "tresorw2" }.bytes
        )
        refuse(
            "another magic inside", "WrongMagic", "unsupported", answer(person) { $0.innerMagic = "tresori2" }.bytes)
        refuse(
            "the seed of somebody else", "WrongKey", "altered",
            answer(person) { $0.seed = Cast.anna.newest.seed }.bytes)
        refuse(
            "padding that is not zero", "BadPadding", "altered",
            answer(person) { $0.padding = 1 }.bytes)
        var two = writer
        two.slots.append(password.slots[0])
        let both = two.bytes
        refuse("a file with two slots", "NonCanonical", "altered", answer(person) { $0.file = both }.bytes)
        var device = IdentityFileWriter(person, draw)
        device.slots = [
            device.deviceSlot(
                draw("D", 32), serverShare: draw("T", 32), name: "laptop", until: 1_800_000_000,
                id: draw("device id", 16), tag: "device")
        ]
        let trusted = device.bytes
        refuse("a file with a device's slot", "NonCanonical", "altered", answer(person) { $0.file = trusted }.bytes)
        refuse(
            "a bit of the file's tag", "ModifiedTag", "altered",
            answer(person) { $0.file = file.flipped(at: file.count - 1) }.bytes)
        invalid("another seed of the key", "WrongKey", "altered", base: base, in: ["seed": draw("no seed", 32)])
    }

    private func addMailboxes() {
        group("reencode")
        let offer = draw()("offer", 1266)
        let magic = ascii("tresorb1")
        func mailbox(_ letters: Bytes) -> Bytes { join(preamble("tresorb1"), u64(1_767_226_200), letters) }
        func keep(_ comment: String, _ letters: Bytes, _ flags: [String] = ["Normal"]) -> Int {
            valid(
                comment, flags, in: ["magic": magic, "object": mailbox(letters)], out: ["object": mailbox(letters)])
        }
        let base = keep("an empty mailbox", [0])
        _ = keep("with an offer", [1] + offer)
        let answer = draw()("answer", 1694)
        _ = keep("with an offer and the shortest answer", join([2], offer, prefixed(answer)), ["EdgeCase"])
        func refuse(_ comment: String, _ flag: String, _ error: String, _ object: Bytes) {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        let receipt = draw()("receipt", 32)
        _ = keep("with a receipt", [3] + receipt)
        refuse("a receipt that is too short", "Truncated", "altered", mailbox([3] + Bytes(receipt.dropLast())))
        refuse("another state", "LengthOverflow", "altered", mailbox([4]))
        refuse("an offer that is too short", "Truncated", "altered", mailbox([1] + Bytes(offer.dropLast())))
        refuse("an offer that is too long", "TrailingData", "altered", mailbox(join([1], offer, [0])))
        refuse(
            "an answer that is too short", "LengthOverflow", "altered",
            mailbox(join([2], offer, prefixed(Bytes(answer.dropLast())))))
        refuse("an empty mailbox and a byte", "TrailingData", "altered", mailbox([0, 0]))
        refuse("another magic", "WrongMagic", "unsupported", mailbox([0]).flipped(at: 7))
    }

    /// A bundle in which no object is empty, from a home that knows a log-in.
    private func addFullBundle() {
        group("openAnswer")
        let draw = draw()
        let (code, seed, tresor) = (draw("code", 10), draw("seed", 32), draw("tresor", 32))
        let (person, fixture, store) = (Cast.emilRenewed, ServiceFixture(), ascii("https://tresor.example"))
        var writer = IdentityFileWriter(person, draw)
        writer.slots = [writer.kitSlot(draw("K", 32))]
        let file = writer.bytes
        let login = fixture.login(
            of: person, generation: person.generation, revision: 3, record: draw("record", 32), copy: draw("copy", 32))
        let marks = Sealing(
            derive(person.newest.seed, "tresor/v1/home-key"), "tresor/v1/marks-seal", person.user,
            join(preamble("tresorY1"), tresor, [2]), salt: draw("salt", 24))
        let pins = join(preamble("tresorP2"), u64(1_767_225_700), [0, 1], zeros(32), prefixed(Cast.anna.chain))
        let heads = join(preamble("tresorH2"), u64(0), tresor, [1], u64(3), draw("head", 32))
        let stores = join(preamble("tresorn1"), tresor, [1], u16(store.count), store)
        let address = fixture.audience("https", "tresor.example", 443)
        let services = join(preamble("tresora1"), address, fixture.serverID)
        let logins = join(preamble("tresorU1"), fixture.serverID, [222], login, [0], u64(0))
        var faults = Faults()
        faults.objects = [pins, heads, stores, services, marks.bytes, logins]
        let offer = Offer(code: code, seed: seed)
        let made = Answer(person, file, to: offer, store: store, eseed: draw("eseed", 64), faults)
        let output: Values = [
            "user": person.user, "generation": u32(person.generation), "file": file, "store": store,
            "receipt": offer.receipt(of: made.bytes),
        ]
        valid(
            "with all six objects", in: ["code": code, "offer": offer.bytes, "seed": seed, "answer": made.bytes],
            mid: [
                "K": Self.key(code), "info": made.info, "plaintext": made.plaintext, "enc": made.wrapping.enc,
                "ct": made.wrapping.ciphertext,
            ], out: output.with("objects", faults.objects))
    }
}
