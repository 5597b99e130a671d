// SPDX-License-Identifier: Apache-2.0

@testable import TresorCrypto

/// Cards, chains, user ids and numbers (SPEC §7).
struct IdentityVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "identity", section: "7", purpose: "cards, chains, user ids, numbers, and what a pin says of a chain")
        let vectors = Self(file: file)
        let pins = PinVectors(file: file)
        vectors.addChains()
        vectors.addCardFaults()
        vectors.addSuccessionFaults()
        vectors.addNumbers()
        vectors.addTrust()
        pins.addOwnChain()
        pins.addFounderTrust()
        pins.addPinning()
        pins.addGivingUp()
        pins.addLastGeneration()
        OwnTresorVectors(file: file).addTakeKnown()
        OwnTresorVectors(file: file).addTakeHeads()
        return file
    }

    static func number(_ hash: Bytes) -> String { SafetyNumber(must(try required(Hash256(hash)))).digits }

    private func middle(_ person: Person) -> Values {
        let newest = person.newest
        return [
            "S": newest.seed, "identity-sign": newest.signing.seed, "identity-kem": newest.kemSeed,
            "identity-previous": derive(newest.seed, "tresor/v1/identity-previous"),
            "identity-file": derive(newest.seed, "tresor/v1/identity-file"), "signing_key": newest.signing.publicKey,
            "kem_key": newest.kemKey, "body": newest.body, "card": newest.card, "number hash": person.number,
        ]
    }

    func addChain(_ comment: String, _ flag: String, _ person: Person) -> Int {
        valid(
            comment, [flag], in: ["chain": person.chain], mid: middle(person),
            out: [
                "user": person.user, "handle": person.handle, "generation": u32(person.generation),
                "card hash": person.newest.hash, "number": ascii(Self.number(person.number)),
            ])
    }

    private func addChains() {
        group("readChain")
        _ = addChain("anna, generation 0", "Normal", Cast.anna)
        _ = addChain("dr-house", "Normal", Cast.house)
        _ = addChain("gwen, generation 1", "Normal", Cast.gwenRenewed)
        var many = Person("many")
        for generation in 1...3 { many = many.renewed("many", time: 1_767_225_600 + UInt64(generation)) }
        _ = addChain("four generations", "EdgeCase", many)
        _ = addChain("a handle of 256 bytes", "EdgeCase", Person("long", handle: Bytes(repeating: 0x6c, count: 256)))
        _ = addChain("a handle of one byte, at time 0", "EdgeCase", Person("short", handle: ascii("a"), time: 0))
        _ = addChain("the last second of the year 9999", "EdgeCase", Person("late", time: 253_402_300_799))
        _ = addChain("a handle in NFD stays as it is", "EdgeCase", Person("nfd", handle: ascii("e\u{301}")))
    }

    private func signed(_ body: Bytes, by pair: SigningPair = Cast.anna.newest.signing) -> Bytes {
        body + pair.sign("tresor/v1/card-signature", body)
    }

    private func addCardFaults() {
        let anna = Cast.anna
        let card = anna.newest.card
        let body = anna.newest.body
        func refuse(_ comment: String, _ flag: String, _ error: String = "altered", chain: Bytes) {
            invalid(comment, flag, error, base: 1, in: ["chain": chain])
        }
        refuse("another release", "WrongMagic", "unsupported", chain: card.replacing(at: 7, with: [0x32]))
        refuse("no object of ours", "WrongMagic", chain: card.replacing(at: 5, with: [0x52]))
        refuse("version 2", "WrongVersion", "unsupported", chain: card.replacing(at: 8, with: [2]))
        refuse("suite 2", "WrongSuite", "unsupported", chain: card.replacing(at: 9, with: [2]))
        refuse("nothing", "Truncated", chain: [])
        refuse("without the signature's last byte", "Truncated", chain: Bytes(card.dropLast()))
        refuse("a byte behind", "TrailingData", chain: card + [0])
        refuse(
            "an empty handle", "LengthOverflow", chain: signed(body.replacing(at: 10, with: [0, 0]).dropping(12, 4)))
        refuse(
            "a handle of 257 bytes", "Oversize", chain: Person("x", handle: Bytes(repeating: 0x6c, count: 257)).chain)
        refuse("a handle that is not UTF-8", "BadUTF8", chain: Person("x", handle: [0xff]).chain)
        refuse("an overlong form in the handle", "BadUTF8", chain: Person("x", handle: [0xc1, 0xa1]).chain)
        refuse("a line end in the handle", "ControlInName", chain: Person("x", handle: ascii("a\nb")).chain)
        refuse(
            "a right-to-left override in the handle", "ControlInName",
            chain: Person("x", handle: ascii("a\u{202e}b")).chain)
        refuse("a time beyond the year 9999", "Oversize", chain: Person("x", time: 253_402_300_800).chain)
        refuse("a bit of the handle", "WrongSigner", chain: card.flipped(at: 12))
        refuse("a bit of the time", "WrongSigner", chain: card.flipped(at: body.count - 1))
        refuse("a bit of the signature", "WrongSigner", chain: card.flipped(at: card.count - 1))
        refuse("signed by another key", "WrongSigner", chain: signed(body, by: Cast.bert.newest.signing))
        refuse(
            "the label of successions", "CrossTypeSignature", chain: body + anna.sign("tresor/v1/card-succession", body)
        )
        refuse("the label of entries", "CrossTypeSignature", chain: body + anna.sign("tresor/v1/entry-signature", body))
        refuse("S + L", "NonCanonicalS", chain: body + EdgeSignature.addingOrder(Bytes(card.suffix(64))))
        let message = join(prefixed(ascii("tresor/v1/card-signature")), body)
        refuse(
            "R is the neutral point, and the equation holds", "SmallOrderR",
            chain: body + EdgeSignature.neutralR(anna.newest.signing, message))
        let neutralSignature = EdgeSignature.forNeutralKey(draw()("S", 32))
        let keyed = body.replacing(at: 84, with: [1] + zeros(31))
        refuse(
            "the signing key is the neutral point, and the equation holds", "SmallOrderKey",
            chain: keyed + neutralSignature)
        for (comment, key) in [
            ("of order two", [0xec] + Bytes(repeating: 0xff, count: 30) + [0x7f]), ("of order four", zeros(32)),
        ] {
            refuse("a signing key \(comment)", "SmallOrderKey", chain: signed(body.replacing(at: 84, with: key)))
        }
        for (comment, key) in [
            (
                "the neutral point, not canonical, and the equation holds",
                [0xee] + Bytes(repeating: 0xff, count: 30) + [0x7f]
            ),
            ("the neutral point with a sign, and the equation holds", [1] + zeros(30) + [0x80]),
        ] {
            refuse(
                "the signing key is \(comment)", "NonCanonicalKey",
                chain: body.replacing(at: 84, with: key) + neutralSignature)
        }
        refuse("generation 1 with a zero user id", "NonCanonical", chain: signed(body.replacing(at: 16, with: u32(1))))
        refuse("generation 0 with a user id", "NonCanonical", chain: signed(body.replacing(at: 20, with: anna.user)))
        refuse(
            "generation 0 with a previous card", "NonCanonical",
            chain: signed(body.replacing(at: 52, with: anna.newest.hash)))
        let key = anna.newest.kemKey
        refuse(
            "a coefficient of 3329", "ModulusOverflow",
            chain: signed(body.replacing(at: 116, with: [0x01, key[1] & 0xf0 | 0x0d])))
        refuse(
            "an X25519 half of zeros", "LowOrderPoint", chain: signed(body.replacing(at: 116 + 1184, with: zeros(32))))
    }

    private func addSuccessionFaults() {
        let gwen = Cast.gwenRenewed
        let first = Cast.gwen.chain
        func refuse(_ comment: String, _ flag: String, chain: Bytes) {
            invalid(comment, flag, "altered", base: 3, in: ["chain": chain])
        }
        refuse("the newer card alone", "GenerationSkipped", chain: gwen.newest.card)
        refuse("the first card twice", "GenerationForked", chain: first + first)
        refuse("the newer card first", "GenerationSkipped", chain: gwen.newest.card + first)
        let third = gwen.renewed("gwen", time: 1_767_400_001)
        refuse("a card is left out", "GenerationSkipped", chain: first + third.newest.card)
        refuse("somebody else's next card", "ChangedPerson", chain: first + Cast.emilRenewed.newest.card)
        refuse(
            "a succession by a thief's key", "WrongSigner",
            chain: first + ForgedCards.successor(of: Cast.gwen, signedBy: Cast.fred))
        func next(handle: Bytes? = nil, generation: Int = 1, user: Bytes? = nil, previous: Bytes? = nil) -> Bytes {
            let keys = gwen.newest
            let body = Person.body(
                handle: handle ?? gwen.handle, generation: generation, user: user ?? gwen.user,
                previous: previous ?? Cast.gwen.newest.hash,
                signingKey: keys.signing.publicKey, kemKey: keys.kemKey, time: 1_767_400_000)
            return join(
                body, keys.signing.sign("tresor/v1/card-signature", body),
                Cast.gwen.sign("tresor/v1/card-succession", body))
        }
        refuse("another handle", "ChangedPerson", chain: first + next(handle: ascii("gwyn")))
        refuse("generation 2 behind generation 0", "GenerationSkipped", chain: first + next(generation: 2))
        refuse("generation 256", "Oversize", chain: first + next(generation: 256))
        refuse("another user id", "ChangedPerson", chain: first + next(user: Cast.fred.user))
        refuse("another previous card", "GenerationForked", chain: first + next(previous: Cast.fred.newest.hash))
        let body = gwen.newest.body
        refuse(
            "the signatures changed places", "CrossTypeSignature",
            chain: join(
                first, body, Cast.gwen.sign("tresor/v1/card-succession", body),
                gwen.newest.signing.sign("tresor/v1/card-signature", body)))
        refuse("without its succession", "Truncated", chain: first + Bytes(gwen.newest.card.dropLast(64)))
    }

    private func addNumbers() {
        group("compareNumber")
        let digits = Self.number(Cast.anna.number)
        let base = valid(
            "anna's number", in: ["chain": Cast.anna.chain, "typed": ascii(digits)], out: ["number": ascii(digits)])
        var grouped = ""
        for (index, digit) in digits.enumerated() {
            grouped += (index > 0 && index % 5 == 0 ? " " : "") + String(digit)
        }
        valid(
            "in groups of five", in: ["chain": Cast.anna.chain, "typed": ascii(grouped)], out: ["number": ascii(digits)]
        )
        func refuse(_ comment: String, _ flag: String, _ error: String, _ typed: String) {
            invalid(comment, flag, error, base: base, in: ["typed": ascii(typed)])
        }
        let last = digits.last == "9" ? "0" : "9"
        refuse("the last digit", "WrongNumber", "unverified", String(digits.dropLast()) + last)
        refuse("somebody else's number", "WrongNumber", "unverified", Self.number(Cast.bert.number))
        refuse("29 digits", "WrongNumber", "usage", String(digits.dropLast()))
        refuse("31 digits", "WrongNumber", "usage", digits + "0")
        refuse("with hyphens", "NonCanonical", "usage", grouped.split(separator: " ").joined(separator: "-"))
        refuse("digits of another script", "NonCanonical", "usage", String(digits.dropLast()) + "\u{0661}")
        invalid(
            "the number of the earlier generation", "WrongNumber", "unverified",
            in: ["chain": Cast.gwenRenewed.chain, "typed": ascii(Self.number(Cast.gwen.number))])
    }

    private func addTrust() {
        group("trust")
        func pin(_ person: Person, replaced: Bool = false) -> PinWriter { PinWriter(person, replaced: replaced) }
        func pins(_ pins: PinWriter...) -> Bytes { PinWriter.object(pins) }
        let base = valid(
            "a pinned person", in: ["pins": pins(pin(Cast.gwen)), "chain": Cast.gwen.chain],
            out: ["trust": ascii("verified")])
        valid(
            "among others",
            in: ["pins": pins(pin(Cast.anna), pin(Cast.gwen), pin(Cast.fred)), "chain": Cast.gwen.chain],
            out: ["trust": ascii("verified")])
        func refuse(_ comment: String, _ flag: String, _ error: String, _ input: Values) {
            invalid(comment, flag, error, base: base, in: input)
        }
        refuse("nobody is pinned", "ChangedPerson", "unverified", ["pins": pins()])
        refuse("a longer chain than was compared", "StaleGeneration", "unverified", ["chain": Cast.gwenRenewed.chain])
        refuse("an older chain than was compared", "GenerationForked", "forked", ["pins": pins(pin(Cast.gwenRenewed))])
        let other = Cast.gwen.renewed("gwen again", time: 1_767_400_001)
        invalid(
            "another card of a known generation", "GenerationForked", "forked",
            in: ["pins": pins(pin(Cast.gwenRenewed)), "chain": other.chain])
        let impostor = Person("impostor", handle: ascii("gwen"))
        refuse("another person under a pinned handle", "ChangedPerson", "unverified", ["chain": impostor.chain])
        refuse("a pin that was replaced", "ChangedPerson", "unverified", ["pins": pins(pin(Cast.gwen, replaced: true))])
        refuse("two pins of one person", "NonCanonical", "altered", ["pins": pins(pin(Cast.gwen), pin(Cast.gwen))])
        valid(
            "two people under one handle, both pinned", ["EdgeCase"],
            in: ["pins": pins(pin(Cast.gwen), pin(impostor)), "chain": impostor.chain],
            out: ["trust": ascii("verified")])
    }
}

extension Bytes {
    func dropping(_ offset: Int, _ count: Int) -> Bytes {
        join(Bytes(self[..<offset]), Bytes(self[(offset + count)...]))
    }
}
