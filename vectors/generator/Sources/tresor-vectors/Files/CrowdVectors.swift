// SPDX-License-Identifier: Apache-2.0

/// The limits of members and of an entry, which no file could hold (SPEC §9.2).
struct CrowdVectors: TestWriter {
    let file: VectorFile

    /// The limits of members and of an entry, which no file could hold: the cards are made from one seed and differ in
    /// their times.
    func addCrowd() {
        group("foldCrowd")
        let crowd = Crowd(
            log: Log.begun(draw(), founder: Cast.anna), count: 9_999, peopleInGrant: 700, most: 10_000)
        let base = accept("10 000 members", crowd)
        invalid("10 001 members", "Oversize", "altered", base: base, rule: 22, in: ["count": u64(10_000)])
    }

    func addLargeEntries() {
        group("foldCrowd")
        let crowd = Crowd(log: Log.begun(draw(), founder: Cast.anna), count: 744, peopleInGrant: 743, most: 10_000)
        let base = accept("743 people in an entry, 738 bytes below 1 MiB", crowd)
        invalid(
            "744 people in an entry, 672 bytes above 1 MiB", "Oversize", "altered", base: base, rule: 2,
            in: ["people in a grant": u64(744)])
    }

    /// Former members count.
    func addKnown() {
        group("foldCrowd")
        let crowd = Crowd(
            log: Log.begun(draw(), founder: Cast.anna), count: 16_383, peopleInGrant: 700, most: 9_999)
        let base = accept("16 384 people, of whom 9 999 were removed", crowd)
        invalid(
            "16 385 people, of whom 9 999 were removed", "Oversize", "altered", base: base, rule: 49,
            in: ["count": u64(16_384)])
    }

    private func accept(_ comment: String, _ crowd: Crowd) -> Int {
        let log = crowd.log
        let grown = crowd.entries.reduce(into: log) { $0.append($1) }
        let input: Values = [
            "tresor": log.tresor, "genesis": log.entries[0], "author": Cast.anna.user,
            "founder": Cast.anna.newest.signing.seed, "crowd": Crowd.keys.signing.seed, "kem_key": Crowd.keys.kemKey,
            "handle": Crowd.handle, "time": u64(Crowd.time), "people in a grant": u64(UInt64(crowd.peopleInGrant)),
            "count": u64(UInt64(crowd.count)), "most": u64(UInt64(crowd.most)), "epoch": crowd.epoch,
        ]
        return valid(
            comment, ["EdgeCase"], in: input,
            out: ["head": u64(grown.sequence - 1) + grown.head, "members": u64(UInt64(crowd.count % crowd.most + 1))])
    }
}

/// Many people, whose cards differ only in their times, and the entries that add them. When as many as may be are in
/// and there are others, all of them are removed.
struct Crowd {
    static let keys = Cast.bert.newest
    static let handle = ascii("crowd")
    static let time: UInt64 = 1_767_225_600

    let log: Log
    let count: Int
    let peopleInGrant: Int
    let most: Int

    /// The statement of the epoch that begins when people are removed.
    var epoch: Bytes { log.nextEpoch().statement }

    /// The entries after the genesis.
    var entries: [Bytes] {
        let cards = cards
        var grown = log
        for first in stride(from: 0, to: count, by: most) {
            let house = first..<min(first + most, count)
            for start in stride(from: first, to: house.upperBound, by: peopleInGrant) {
                let group = cards[start..<min(start + peopleInGrant, house.upperBound)].map(\.card)
                grown.append(grown.entry(Cast.anna, Body.grant(group, role: 3), time: Self.time))
            }
            guard house.upperBound < count else { break }
            let removal = Body.remove(cards[house].map(\.user), epoch: epoch)
            grown.append(grown.entry(Cast.anna, removal, time: Self.time))
        }
        return Array(grown.entries.dropFirst())
    }

    private var cards: [(user: Bytes, card: Bytes)] {
        let cards = (0..<count).map { index -> (user: Bytes, card: Bytes) in
            let body = Person.body(
                handle: Self.handle, generation: 0, user: zeros(32), previous: zeros(32),
                signingKey: Self.keys.signing.publicKey, kemKey: Self.keys.kemKey, time: Self.time + UInt64(index))
            let card = body + Self.keys.signing.sign("tresor/v1/card-signature", body)
            return (hash("tresor/v1/user-id", card), card)
        }
        return cards.sorted { $0.user.lexicographicallyPrecedes($1.user) }
    }
}
