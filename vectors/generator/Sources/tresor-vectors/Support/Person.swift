// SPDX-License-Identifier: Apache-2.0

/// A person of the vectors, with all secrets.
struct Person {
    let handle: Bytes
    private(set) var generations: [Generation]
    /// The sealed earlier seeds, newest first.
    fileprivate(set) var previous: [Bytes] = []

    struct Generation {
        let seed: Bytes
        let signing: SigningPair
        let kemSeed: Bytes
        let kemKey: Bytes
        let body: Bytes
        let card: Bytes

        var hash: Bytes { cardHash(card) }
    }

    /// Generation 0, the seed drawn under the person's name.
    init(_ name: String, handle: Bytes? = nil, time: UInt64 = 1_767_225_600) {
        let draw = Draw(file: "people", id: 0)
        self.init(seed: draw("\(name) S_0", 32), handle: handle ?? ascii(name), time: time)
    }

    init(seed: Bytes, handle: Bytes, time: UInt64) {
        self.handle = handle
        generations = []
        generations = [make(seed: seed, generation: 0, user: zeros(32), previous: zeros(32), time: time)]
    }

    var user: Bytes { hash("tresor/v1/user-id", generations[0].card) }
    var chain: Bytes { join(generations.map(\.card)) }
    var generation: Int { generations.count - 1 }
    var newest: Generation { generations[generation] }
    var number: Bytes { hash("tresor/v1/number", user + newest.hash) }

    static func body(
        handle: Bytes, generation: Int, user: Bytes, previous: Bytes, signingKey: Bytes, kemKey: Bytes, time: UInt64
    ) -> Bytes {
        join(
            preamble("tresorC1"), u16(handle.count), handle, u32(generation), user, previous, signingKey, kemKey,
            u64(time))
    }

    private func make(
        seed: Bytes, generation: Int, user: Bytes, previous: Bytes, time: UInt64, signer: SigningPair? = nil
    ) -> Generation {
        let signing = SigningPair(seed: derive(seed, "tresor/v1/identity-sign"))
        let kemSeed = derive(seed, "tresor/v1/identity-kem")
        let kemKey = kemPublicKey(seed: kemSeed)
        let body = Self.body(
            handle: handle, generation: generation, user: user, previous: previous, signingKey: signing.publicKey,
            kemKey: kemKey, time: time)
        var card = body + signing.sign("tresor/v1/card-signature", body)
        if let signer { card += signer.sign("tresor/v1/card-succession", body) }
        return Generation(seed: seed, signing: signing, kemSeed: kemSeed, kemKey: kemKey, body: body, card: card)
    }

    /// Adds a generation.
    func renewed(_ name: String, time: UInt64) -> Person {
        var person = self
        let draw = Draw(file: "people", id: 0)
        let seed = draw("\(name) S_\(generations.count)", 32)
        person.generations.append(
            make(
                seed: seed, generation: generations.count, user: user, previous: newest.hash, time: time,
                signer: newest.signing))
        let sealing = Sealing(
            derive(seed, "tresor/v1/identity-previous"), "tresor/v1/previous-seal",
            Self.previousContext(user: user, generation: generations.count), newest.seed,
            salt: draw("\(name) previous salt \(generations.count)", 24))
        person.previous.insert(sealing.bytes, at: 0)
        return person
    }

    static func previousContext(user: Bytes, generation: Int) -> Bytes {
        join(user, u32(generation), u32(generation - 1))
    }

    /// The person as they were at an earlier generation.
    func upTo(generation: Int) -> Person {
        var person = self
        person.generations = generation < generations.count ? Array(generations[...generation]) : generations
        person.previous = Array(previous.suffix(generation))
        return person
    }

    func sign(_ label: String, _ bytes: Bytes, generation: Int? = nil) -> Bytes {
        generations[generation ?? self.generation].signing.sign(label, bytes)
    }
}

func cardHash(_ card: Bytes) -> Bytes { hash("tresor/v1/card-hash", card) }

extension Person {
    func replacingPrevious(_ previous: [Bytes]) -> Person {
        var person = self
        person.previous = previous
        return person
    }
}
