// SPDX-License-Identifier: Apache-2.0

extension VectorFile {
    /// The limit of members, which no file could hold: the cards are made from one seed and differ in their times.
    func addCrowd() {
        group("foldCrowd")
        let log = Log.begun(draw(), founder: Cast.anna)
        let crowd = Cast.bert
        let time: UInt64 = 1_767_225_600
        var cards = (0..<9_999).map { index -> (user: Bytes, card: Bytes) in
            let body = Person.body(
                handle: ascii("crowd"), generation: 0, user: zeros(32), previous: zeros(32),
                signingKey: crowd.newest.signing.publicKey, kemKey: crowd.newest.kemKey, time: time + UInt64(index))
            let card = body + crowd.sign("tresor/v1/card-signature", body)
            return (hash("tresor/v1/user-id", card), card)
        }
        cards.sort { $0.user.lexicographicallyPrecedes($1.user) }
        var grown = log
        for start in stride(from: 0, to: cards.count, by: 700) {
            let group = cards[start..<min(start + 700, cards.count)].map(\.card)
            grown.append(grown.entry(Cast.anna, Body.grant(group, role: 3), time: time))
        }
        let input: Values = [
            "tresor": log.tresor, "genesis": log.entries[0], "author": Cast.anna.user,
            "founder": Cast.anna.newest.signing.seed,
            "crowd": crowd.newest.signing.seed, "kem_key": crowd.newest.kemKey, "handle": ascii("crowd"),
            "time": u64(time),
            "people in a grant": u64(700), "count": u64(9_999),
        ]
        let base = valid(
            "10 000 members", ["EdgeCase"], in: input,
            out: ["head": u64(grown.sequence - 1) + grown.head, "members": u64(10_000)])
        invalid("10 001 members", "Oversize", "altered", base: base, rule: 22, in: ["count": u64(10_000)])
    }
}
