// SPDX-License-Identifier: Apache-2.0

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The effect of an act at one state: steps 3 to 6 of perform (SPEC §9.7).
struct ActVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "act", section: "9.7",
            purpose: "acts: who may do them, what they mean, what is refused, and what an owner's client does before")
        let vectors = Self(file: file)
        file.group("act")
        let stage = ActStage()
        vectors.addShares(stage)
        vectors.addRevocations(stage)
        vectors.addOtherActs(stage)
        vectors.addActors(stage)
        SupersededVectors(file: file).addSuperseded(stage)
        ExpiryVectors(file: file).addExpiry(stage)
        return file
    }

    @discardableResult private func mean(
        _ comment: String, _ flag: String, _ stage: ActStage, by person: Person, _ act: Values,
        _ effect: ActEffect
    ) -> Int {
        valid(comment, [flag], in: stage.input(person, act), out: effect.values)
    }

    private func refuse(_ comment: String, _ flag: String, _ error: String, base: Int, _ input: Values) {
        invalid(comment, flag, error, base: base, in: input)
    }

    private func addShares(_ stage: ActStage) {
        let (count, anna) = (stage.memberCount, Cast.anna)
        let base = mean(
            "a reader is added", "Normal", stage, by: anna, ActStage.share([Cast.gwen], role: 3),
            ActEffect(admitted: [Cast.gwen], remaining: count + 1))
        mean(
            "two from now on: an epoch begins", "Normal", stage, by: anna,
            ActStage.share([Cast.gwen, Cast.house], role: 2, fromNow: true),
            ActEffect(admitted: [Cast.gwen, Cast.house], remaining: count + 2, epoch: 4))
        mean(
            "one is in already with this role", "EdgeCase", stage, by: anna,
            ActStage.share([Cast.cleo, Cast.gwen], role: 3),
            ActEffect(admitted: [Cast.gwen], already: [Cast.cleo], remaining: count + 1))
        let change = mean(
            "a reader becomes a writer", "Normal", stage, by: anna, ActStage.share([Cast.cleo], role: 2),
            ActEffect(changed: [Cast.cleo], remaining: count))
        mean(
            "it is so already: nothing is done", "EdgeCase", stage, by: anna, ActStage.share([Cast.cleo], role: 3),
            ActEffect(already: [Cast.cleo], remaining: count))
        mean(
            "a date for somebody who is in", "Normal", stage, by: anna,
            ActStage.share([Cast.cleo], role: 3).with("not after", u64(stage.now)),
            ActEffect(changed: [Cast.cleo], remaining: count))
        func refuse(_ comment: String, _ flag: String, _ input: Values, base: Int) {
            self.refuse(comment, flag, "usage", base: base, input)
        }
        func people(_ people: [Person]) -> Values { Values([]).with("people", people.map(\.chain)) }
        refuse("nobody is named", "UnknownMember", people([]), base: base)
        refuse("a person twice", "DuplicateMember", people([Cast.gwen, Cast.gwen]), base: base)
        refuse("a change together with an admission", "DuplicateMember", people([Cast.cleo, Cast.gwen]), base: change)
        refuse("two changes", "DuplicateMember", people([Cast.cleo, Cast.dora]), base: change)
        refuse("another history for who is in", "WrongRole", ["from now": [1]], base: change)
        refuse("full history for who is in from now on", "WrongRole", people([Cast.fred]), base: change)
        refuse("a change of the founder", "FounderRemoved", people([Cast.anna]), base: change)
        refuse("a not-after of 0", "NotAfter", ["not after": u64(0)], base: base)
        refuse("a not-after beyond the last time", "NotAfter", ["not after": u64(253_402_300_800)], base: base)
        let owner = mean(
            "an owner is added", "Normal", stage, by: anna, ActStage.share([Cast.gwen], role: 1),
            ActEffect(admitted: [Cast.gwen], remaining: count + 1))
        refuse("an owner from now on", "WrongRole", ["from now": [1]], base: owner)
    }

    private func addRevocations(_ stage: ActStage) {
        let count = stage.memberCount
        func users(_ people: [Person]) -> Values { Values([]).with("users", people.map(\.user)) }
        let base = mean(
            "two are removed", "Normal", stage, by: Cast.dora, ActStage.revoke([Cast.bert, Cast.cleo]),
            ActEffect(dismissed: [Cast.bert, Cast.cleo], remaining: count - 2, epoch: 4))
        mean(
            "an already removed member", "EdgeCase", stage, by: Cast.dora, ActStage.revoke([Cast.emil]),
            ActEffect(already: [Cast.emil], remaining: count))
        func refuse(_ comment: String, _ flag: String, _ error: String, _ people: [Person]) {
            self.refuse(comment, flag, error, base: base, users(people))
        }
        refuse("the founder", "FounderRemoved", "usage", [Cast.anna])
        refuse("oneself", "FounderRemoved", "usage", [Cast.dora])
        refuse("nobody", "UnknownMember", "usage", [])
        refuse("a person twice", "DuplicateMember", "usage", [Cast.bert, Cast.bert])
        refuse("somebody who never was in", "UnknownMember", "not_found", [Cast.gwen])
        var log = stage.log
        log.grant([Cast.gwen], role: 1, notAfter: log.time + 30 * Log.day)
        log.append(Cast.anna, Body.leave)
        log.rotate(by: Cast.dora)
        let without = stage.with(log)
        let last = mean(
            "an owner with a not-after removes a reader", "Normal", without, by: Cast.gwen,
            ActStage.revoke([Cast.cleo]),
            ActEffect(dismissed: [Cast.cleo], remaining: without.memberCount - 1, epoch: 5))
        self.refuse(
            "an owner with a not-after removes the last lasting owner", "FounderRemoved", "usage", base: last,
            users([Cast.dora]))
    }

    private func addOtherActs(_ stage: ActStage) {
        let count = stage.memberCount
        mean(
            "a reader leaves", "Normal", stage, by: Cast.cleo, ["act": ascii("leave")],
            ActEffect(dismissed: [Cast.cleo], remaining: count - 1))
        var alone = Log.begun(draw(), founder: Cast.anna)
        alone.grant([Cast.house], role: 3)
        let staying = stage.with(alone)
        let renaming = mean(
            "the only owner renames", "Normal", staying, by: Cast.anna,
            ["act": ascii("rename"), "name": ascii("plan")],
            ActEffect(remaining: 2, renames: true))
        refuse("an empty name", "Truncated", "usage", base: renaming, ["name": []])
        refuse("the only owner leaves", "FounderRemoved", "usage", base: renaming, ["act": ascii("leave")])
        mean(
            "an owner begins an epoch", "Normal", stage, by: Cast.dora, ["act": ascii("rotate")],
            ActEffect(remaining: count, epoch: 4))
        var marked = stage.log
        marked.append(Cast.cleo, Body.leave)
        let after = stage.with(marked)
        mean(
            "a writer begins an epoch, when *rekey pending*", "EdgeCase", after, by: Cast.bert,
            ["act": ascii("rotate")], ActEffect(remaining: count - 1, epoch: 4))
        let bert = Cast.bert.renewed("bert", time: 1_767_500_000)
        mean(
            "the next generation of one's own", "Normal", stage, by: bert, ["act": ascii("renew")],
            ActEffect(remaining: count, generation: 1))
        mean(
            "a generation that the log has already", "EdgeCase", stage, by: Cast.bert, ["act": ascii("renew")],
            ActEffect(remaining: count))
    }

    private func addActors(_ stage: ActStage) {
        let rotate: Values = ["act": ascii("rotate")]
        func refuse(_ comment: String, _ flag: String, _ error: String, _ stage: ActStage, _ person: Person) {
            invalid(comment, flag, error, in: stage.input(person, rotate))
        }
        refuse("a writer begins an epoch that nobody waits for", "NotOwner", "no_access", stage, Cast.bert)
        refuse("a reader begins an epoch", "NotOwner", "no_access", stage, Cast.cleo)
        refuse("a removed member", "RemovedAuthor", "no_access", stage, Cast.emilRenewed)
        refuse("somebody who never was in", "UnknownMember", "no_access", stage, Cast.gwen)
        refuse(
            "a generation that the log does not have yet", "StaleGeneration", "no_access", stage,
            Cast.dora.renewed("dora", time: 1_767_500_000))
        var dated = stage.log
        dated.append(Cast.anna, Body.role(Cast.dora.user, 1, notAfter: stage.now - 1))
        let ended = stage.with(dated)
        refuse("an owner whose date has passed", "NotAfter", "no_access", ended, Cast.dora)
        valid(
            "whose date has passed may leave", ["EdgeCase"], in: ended.input(Cast.dora, ["act": ascii("leave")]),
            out: ActEffect(dismissed: [Cast.dora], remaining: ended.memberCount - 1).values)
        for act in ["share", "revoke", "rename"] {
            let values =
                act == "share"
                ? ActStage.share([Cast.gwen], role: 3)
                : act == "revoke" ? ActStage.revoke([Cast.cleo]) : ["act": ascii("rename"), "name": ascii("x")]
            invalid("\(act), by a writer", "NotOwner", "no_access", in: stage.input(Cast.bert, values))
        }
        invalid(
            "whose founder nobody compared", "ChangedPerson", "unverified",
            in: stage.input(Cast.dora, rotate, pins: []))
        invalid(
            "whose founder is another person under a pinned handle", "ChangedPerson", "unverified",
            in: stage.input(Cast.dora, rotate, pins: [Person("impostor", handle: ascii("anna"))]))
    }
}

/// A log, and homes whose owners act on it.
struct ActStage {
    var log = Cast.fullLog()

    var now: UInt64 { log.time }
    var memberCount: Int {
        must(try Fold.state(of: log.entries, tresor: TresorID(required(Hash256(log.tresor))))).members.count
    }

    func with(_ log: Log) -> ActStage {
        var stage = self
        stage.log = log
        return stage
    }

    func input(
        _ person: Person, _ act: Values, pins: [Person] = [Cast.anna], replaced: [Person] = []
    ) -> Values {
        let pinned =
            pins.filter { $0.user != person.user }.map { PinWriter($0) }
            + replaced.map { PinWriter($0, replaced: true) }
        let home: Values = [
            "tresor": log.tresor, "chain": person.chain, "S": person.newest.seed, "now": u64(now),
            "identity file": Self.identityFile(person), "pins": PinWriter.object(pinned),
        ]
        return Values(
            home.with("log", log.entries).with("previous", person.previous).pairs.filter { pair in
                !act.pairs.contains { $0.0 == pair.0 }
            } + act.pairs)
    }

    static func identityFile(_ person: Person) -> Bytes {
        let draw = Draw(file: "act", id: 0)
        var writer = IdentityFileWriter(person, draw)
        writer.slots = [writer.kitSlot(draw("K", 32))]
        return writer.bytes
    }

    static func share(_ people: [Person], role: UInt8, fromNow: Bool = false) -> Values {
        (["act": ascii("share"), "role": [role], "from now": [fromNow ? 1 : 0]] as Values).with(
            "people", people.map(\.chain))
    }

    static func revoke(_ people: [Person]) -> Values {
        (["act": ascii("revoke")] as Values).with("users", people.map(\.user))
    }
}

/// The effect of an act.
struct ActEffect {
    var admitted: [Person] = []
    var changed: [Person] = []
    var dismissed: [Person] = []
    var already: [Person] = []
    let remaining: Int
    var epoch: UInt64 = 0
    var renames = false
    var generation = 0

    var values: Values {
        func users(_ people: [Person]) -> [Bytes] {
            people.map(\.user).sorted { $0.lexicographicallyPrecedes($1) }
        }
        let values: Values = [
            "remaining": u64(UInt64(remaining)), "epoch": u64(epoch), "renames": [renames ? 1 : 0],
            "generation": u32(generation),
        ]
        return values.with("admitted", users(admitted)).with("changed", users(changed))
            .with("dismissed", users(dismissed)).with("already", users(already))
    }
}
