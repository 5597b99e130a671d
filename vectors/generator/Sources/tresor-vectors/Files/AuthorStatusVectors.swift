// SPDX-License-Identifier: Apache-2.0

/// The status of an author (SPEC §10.6).
struct AuthorStatusVectors: TestWriter {
    let file: VectorFile

    func addAuthorStatus() {
        group("standing")
        let log = Self.changes(draw())
        func add(_ comment: String, _ person: Person, generation: Int, head: UInt64, _ standing: Values) {
            let input: Values = [
                "tresor": log.tresor, "user": person.user, "generation": u32(generation), "sequence": u64(head),
            ]
            valid(comment, in: input.with("log", log.entries), out: standing)
        }
        func former(_ reason: String, _ sequence: UInt64) -> Values {
            [
                "standing": ascii("former"), "reason": ascii(reason),
                "time": u64(1_767_312_000 + sequence * Log.day),
            ]
        }
        let current: Values = ["standing": ascii("current")]
        add(
            "the same writer, at a head before the removal", Cast.emil, generation: 1, head: 7, former("removed", 9))
        add(
            "the same writer, at the head before the return", Cast.emil, generation: 1, head: 9, former("removed", 9))
        add("the founder", Cast.anna, generation: 0, head: 18, current)
        add("a reader who became a writer", Cast.house, generation: 0, head: 15, current)
        add("a writer who was removed and is back", Cast.emil, generation: 1, head: 10, current)
        add("a new generation that came with a grant", Cast.gwen, generation: 1, head: 13, current)
        add("a writer who became a reader", Cast.bert, generation: 0, head: 2, former("role changed", 3))
        add("a writer who was removed", Cast.cleo, generation: 0, head: 2, former("removed", 4))
        add("a writer who left", Cast.dora, generation: 0, head: 2, former("left", 5))
        add(
            "a writer who was removed and is back as a reader", Cast.fred, generation: 0, head: 16,
            former("role changed", 18))
        add(
            "the generation before a renewal, before a removal too", Cast.emil, generation: 0, head: 2,
            former("removed", 9))
        add(
            "the generation before a renewal, and before a grant that repeats the new one", Cast.emil, generation: 0,
            head: 10, former("key renewed", 7))
        add(
            "the generation before one that came with a grant, before a removal", Cast.gwen, generation: 0, head: 11,
            former("removed", 12))
        add(
            "the generation before one that came with a grant", Cast.gwen, generation: 0, head: 13,
            former("key renewed", 13))
        addComparedAuthors(log)
    }

    /// The home has compared a newer generation of the author than signed, whether the log knows it or not.
    private func addComparedAuthors(_ log: Log) {
        let (first, second) = (UInt64(1_767_500_000), UInt64(1_767_600_000))
        func newer(_ person: Person) -> Person { person.renewed("\(hexText(person.user))", time: first) }
        func newest(_ person: Person) -> Person { newer(person).renewed("\(hexText(person.user))", time: second) }
        func add(
            _ comment: String, _ flag: String, _ person: Person, generation: Int, head: UInt64, _ home: Values,
            _ standing: Values
        ) {
            let input: Values = [
                "tresor": log.tresor, "user": person.user, "generation": u32(generation), "sequence": u64(head),
            ]
            valid(comment, [flag], in: Values(input.with("log", log.entries).pairs + home.pairs), out: standing)
        }
        func former(_ reason: String, _ time: UInt64) -> Values {
            ["standing": ascii("former"), "reason": ascii(reason), "time": u64(time)]
        }
        func pin(_ person: Person, isReplaced: Bool = false) -> Values {
            ["pins": PinWriter.object([PinWriter(person, replaced: isReplaced, time: second)])]
        }
        let current: Values = ["standing": ascii("current")]
        let house = Cast.house
        add("the compared generation is the one named", "Normal", house, generation: 0, head: 15, pin(house), current)
        add(
            "a newer generation was compared than the log knows: the time of its card", "Normal", house, generation: 0,
            head: 15, pin(newer(house)), former("key renewed", first))
        add(
            "two generations newer: the time of the card behind the one named", "EdgeCase", house, generation: 0,
            head: 15, pin(newest(house)), former("key renewed", first))
        add(
            "the pin with the newer generation was replaced", "EdgeCase", house, generation: 0, head: 15,
            pin(newer(house), isReplaced: true), current)
        add(
            "an older generation was compared than the log's, which is the one named", "EdgeCase", Cast.gwenRenewed,
            generation: 1, head: 13, pin(Cast.gwen), current)
        add(
            "the log knows the newer generation too: the time of its entry", "EdgeCase", Cast.emil, generation: 0,
            head: 10, pin(Cast.emilRenewed), former("key renewed", 1_767_312_000 + 7 * Log.day))
        add(
            "who was removed before comes first", "EdgeCase", Cast.cleo, generation: 0, head: 2, pin(newer(Cast.cleo)),
            former("removed", 1_767_312_000 + 4 * Log.day))
        func home(_ person: Person) -> Values {
            let none: Values = ["pins": PinWriter.object([])]
            return none.with("identity file", ActStage.identityFile(person))
        }
        add(
            "oneself, with a newer generation than the log knows", "EdgeCase", house, generation: 0, head: 15,
            home(newer(house)), former("key renewed", first))
        add("oneself", "Normal", house, generation: 0, head: 15, home(house), current)
        add("the home has compared somebody else", "Normal", house, generation: 0, head: 15, pin(Cast.anna), current)
    }

    private static func changes(_ draw: Draw) -> Log {
        var log = Log.begun(draw, founder: Cast.anna)
        log.grant([Cast.bert, Cast.cleo, Cast.dora], role: 2)
        log.grant([Cast.emil], role: 2)
        log.append(Cast.anna, Body.role(Cast.bert.user, 3))
        log.remove([Cast.cleo])
        log.append(Cast.dora, Body.leave)
        log.rotate()
        log.append(Cast.emil, Body.renew(Cast.emilRenewed.newest.card), generation: 0)
        log.rotate()
        log.remove([Cast.emilRenewed])
        log.grant([Cast.emilRenewed], role: 2)
        log.grant([Cast.gwen], role: 2)
        log.remove([Cast.gwen])
        log.grant([Cast.gwenRenewed], role: 2)
        log.grant([Cast.house], role: 3)
        log.append(Cast.anna, Body.role(Cast.house.user, 2))
        log.grant([Cast.fred], role: 2)
        log.remove([Cast.fred])
        log.grant([Cast.fred], role: 3)
        return log
    }
}
