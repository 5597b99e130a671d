// SPDX-License-Identifier: Apache-2.0

/// Newer cards that a home has compared and the log does not know (SPEC §9.7).
struct SupersededVectors: TestWriter {
    let file: VectorFile

    func addSuperseded(_ stage: ActStage) {
        group("superseded")
        func add(
            _ comment: String, flag: String = "Normal", _ users: [Person], by person: Person = Cast.dora,
            in stage: ActStage = stage, pins: [Person], replaced: [Person] = []
        ) {
            let input = stage.input(person, [:], pins: pins, replaced: replaced)
            valid(
                comment, [flag], in: input.without("now"),
                out: Values([]).with("users", users.map(\.user).sorted { $0.lexicographicallyPrecedes($1) }))
        }
        let (anna, bert, cleo) = (Cast.anna, Cast.bert, Cast.cleo)
        add("the cards that the log has were compared", [], pins: [anna, bert, cleo])
        add("nobody was compared", [], pins: [])
        add("a member's newer card was compared", [bert], pins: [anna, ActStage.newer(bert), cleo])
        add(
            "of two members, by rising user id", [bert, cleo], pins: [anna, ActStage.newer(bert), ActStage.newer(cleo)])
        add("two generations newer", flag: "EdgeCase", [bert], pins: [anna, ActStage.newer(ActStage.newer(bert))])
        add("the founder's", [anna], pins: [ActStage.newer(anna)])
        add("a reader asks too", [bert], by: cleo, pins: [anna, ActStage.newer(bert)])
        add("the pin was replaced", flag: "EdgeCase", [], pins: [anna], replaced: [ActStage.newer(bert)])
        add("somebody who was removed", flag: "EdgeCase", [], pins: [anna, ActStage.newer(Cast.emilRenewed)])
        var renewed = stage.log
        renewed.append(ActStage.newer(bert), Body.renew(ActStage.newer(bert).newest.card), generation: 0)
        let after = stage.with(renewed)
        add("the log has the newer card by now", [], in: after, pins: [anna, ActStage.newer(bert)])
        add("an older card than the log has was compared", flag: "EdgeCase", [], in: after, pins: [anna, bert])
        let other = bert.renewed("bert again", time: ActStage.later).renewed("bert again", time: ActStage.later)
        add(
            "another card of a generation that the log has, and one behind it, were compared", flag: "EdgeCase", [],
            in: after, pins: [anna, other])
        var left = stage.log
        left.append(anna, Body.leave)
        add("the founder who left", flag: "EdgeCase", [anna], in: stage.with(left), pins: [ActStage.newer(anna)])
    }
}

/// The entries that end expired grants and renew cards before an act (SPEC §9.7).
struct ExpiryVectors: TestWriter {
    let file: VectorFile

    func addExpiry(_ stage: ActStage) {
        group("settle")
        addRenewals(stage)
        addEnds(stage)
        addClocks(stage)
        addExpiryActors(stage)
    }

    /// The entries that one home appends.
    @discardableResult private func settle(
        _ comment: String, flag: String = "Normal", _ stage: ActStage, by person: Person, _ home: Values = [:],
        pins: [Person] = [Cast.anna], cards: [Person.Generation] = [], removed: [Person] = []
    ) -> Int {
        let out = Values([]).with("cards", cards.map(\.card))
            .with("removed", removed.map(\.user).sorted { $0.lexicographicallyPrecedes($1) })
        return valid(comment, [flag], in: stage.input(person, home, pins: pins), out: out)
    }

    private func addRenewals(_ stage: ActStage) {
        let (anna, bert, cleo, dora) = (Cast.anna, Cast.bert, Cast.cleo, Cast.dora)
        let (newBert, newCleo, newAnna) = (ActStage.newer(bert), ActStage.newer(cleo), ActStage.newer(anna))
        settle("nothing is to be done", stage, by: dora)
        settle("a member's newer card", stage, by: dora, pins: [anna, newBert], cards: [newBert.newest])
        let sorted = [newBert, newCleo].sorted { $0.user.lexicographicallyPrecedes($1.user) }
        settle("of two members", stage, by: anna, pins: [newBert, newCleo], cards: sorted.map(\.newest))
        let twice = ActStage.newer(newBert)
        settle(
            "two cards of one member, in order", flag: "EdgeCase", stage, by: dora, pins: [anna, twice],
            cards: Array(twice.generations.dropFirst()))
        let head = stage.heads(at: 0)
        settle(
            "the founder's, in a tresor that was known before", flag: "EdgeCase", stage, by: dora, head,
            pins: [newAnna],
            cards: [newAnna.newest])
        settle("the founder's, in a tresor that was not", flag: "EdgeCase", stage, by: dora, pins: [newAnna])
        settle(
            "nobody else's either in that", flag: "EdgeCase", stage, by: dora, pins: [newAnna, newBert])
        var left = stage.log
        left.append(anna, Body.leave)
        let without = stage.with(left)
        settle(
            "a founder who left", flag: "EdgeCase", without, by: dora, without.heads(at: 5), pins: [newAnna],
            cards: [newAnna.newest])
        invalid(
            "the pinned head is not on the log", "HeadNotInLog", "forked",
            in: stage.input(dora, stage.heads(at: 1, hash: zeros(32))))
    }

    private func addEnds(_ stage: ActStage) {
        let (anna, bert, cleo, dora) = (Cast.anna, Cast.bert, Cast.cleo, Cast.dora)
        let ended = stage.ending([bert, cleo])
        settle("dates that have passed", ended, by: dora, removed: [bert, cleo])
        settle("by the founder", ended, by: anna, removed: [bert, cleo])
        settle(
            "the last second of a date", flag: "EdgeCase", ended, by: dora, ["now": u64(ActStage.end)])
        settle(
            "the second after it", flag: "EdgeCase", ended, by: dora, ["now": u64(ActStage.end + 1)],
            removed: [bert, cleo])
        let newBert = ActStage.newer(bert)
        settle(
            "a newer card of somebody whose date has passed", flag: "EdgeCase", ended, by: dora, pins: [anna, newBert],
            cards: [newBert.newest], removed: [bert, cleo])
        let newAnna = ActStage.newer(anna)
        settle(
            "the founder's newer card first, then the dates", flag: "EdgeCase", ended, by: dora, ended.heads(at: 3),
            pins: [newAnna], cards: [newAnna.newest], removed: [bert, cleo])
        let mine = stage.ending([bert, dora])
        settle("another owner's date", flag: "EdgeCase", mine, by: anna, removed: [bert, dora])
        invalid("one's own date has passed", "NotAfter", "no_access", in: mine.input(dora, [:]))
    }

    private func addClocks(_ stage: ActStage) {
        let (anna, bert, dora) = (Cast.anna, Cast.bert, Cast.dora)
        let ended = stage.ending([bert], long: true)
        let (first, last) = (ended.ownerTime - Log.day, ended.ownerTime + 400 * Log.day)
        settle("a clock of a day before", flag: "EdgeCase", ended, by: dora, ["now": u64(first)], removed: [bert])
        settle("a clock of 400 days after", flag: "EdgeCase", ended, by: dora, ["now": u64(last)], removed: [bert])
        for (comment, clock) in [("a second before that day", first - 1), ("a second after those days", last + 1)] {
            let base = settle(
                "\(comment): somebody said to go on", flag: "EdgeCase", ended, by: dora,
                ["now": u64(clock), "go on": [1]])
            invalid(comment, "NotAfter", "failed", base: base, in: ["go on": [0]])
        }
        let newBert = ActStage.newer(bert)
        let base = settle(
            "somebody said to go on: newer cards are renewed", flag: "EdgeCase", ended, by: dora,
            ["now": u64(last + 1), "go on": [1]], pins: [anna, newBert], cards: [newBert.newest])
        invalid("nobody did: not even cards", "NotAfter", "failed", base: base, in: ["go on": [0]])
        settle(
            "a clock far off where no date has passed", flag: "EdgeCase", stage, by: dora, ["now": u64(last + 1)],
            pins: [anna, newBert], cards: [newBert.newest])
    }

    private func addExpiryActors(_ stage: ActStage) {
        let (anna, bert, cleo, dora) = (Cast.anna, Cast.bert, Cast.cleo, Cast.dora)
        let ended = stage.ending([cleo])
        let pins = [anna, ActStage.newer(cleo)]
        for (comment, person) in [("a writer", bert), ("a reader from now on", Cast.fred), ("no member", Cast.gwen)] {
            settle("\(comment) appends nothing", flag: "EdgeCase", ended, by: person, pins: pins)
        }
        settle(
            "an owner whose newest card the log does not have", flag: "EdgeCase", ended, by: ActStage.newer(dora),
            pins: pins)
        settle(
            "an owner who has not compared the founder", flag: "EdgeCase", ended, by: dora, pins: [ActStage.newer(cleo)]
        )
        settle(
            "an owner who has compared another founder", flag: "EdgeCase", ended, by: dora,
            pins: [Person("impostor", handle: ascii("anna")), ActStage.newer(cleo)])
        var renewed = ended.log
        renewed.append(ActStage.newer(anna), Body.renew(ActStage.newer(anna).newest.card), generation: 0)
        settle(
            "an owner who has to compare the founder again", flag: "EdgeCase", ended.with(renewed), by: dora, pins: pins
        )
    }
}

extension ActStage {
    static let later: UInt64 = 1_767_500_000

    static func newer(_ person: Person) -> Person {
        person.renewed(String(decoding: person.handle, as: UTF8.self), time: later)
    }

    /// The last second of a date that `ending` gives, a day before the newest of two entries.
    static let end: UInt64 = 1_767_312_000 + 8 * Log.day

    /// The time of the newest entry of an owner without not-after.
    var ownerTime: UInt64 { log.time - Log.day }

    /// The same with dates for some.
    ///
    /// - Parameter isLong: whether the date is one that every clock has passed.
    func ending(_ people: [Person], long isLong: Bool = false) -> ActStage {
        var log = log
        for person in people {
            let role: UInt8 = person.user == Cast.dora.user ? 1 : person.user == Cast.bert.user ? 2 : 3
            log.append(Cast.anna, Body.role(person.user, role, notAfter: isLong ? 1 : Self.end))
        }
        return with(log)
    }

    /// A `PinnedHeads` object of the home.
    func heads(at sequence: Int, hash: Bytes? = nil) -> Values {
        let head = HeadRow.head(UInt64(sequence), hash ?? log.head(at: sequence).1)
        return ["heads": HeadRow.object([HeadRow(tresor: log.tresor, pinned: head)])]
    }
}

extension Values {
    func without(_ name: String) -> Values { Values(pairs.filter { $0.0 != name }) }
}
