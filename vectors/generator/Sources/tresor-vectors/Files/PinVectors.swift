// SPDX-License-Identifier: Apache-2.0

/// The trust that pins and identity of a home give (SPEC §7.5).
struct PinVectors: TestWriter {
    let file: VectorFile

    private func home(_ person: Person) -> Bytes { ActStage.identityFile(person) }

    private static func pin(_ person: Person, replaced: Bool = false, time: UInt64 = 1_767_300_000) -> PinWriter {
        PinWriter(person, replaced: replaced, time: time)
    }

    private static func pins(_ pins: PinWriter...) -> Bytes { PinWriter.object(pins) }

    /// People who trust themselves, and the findings of an old copy of a home.
    func addOwnChain() {
        group("trust")
        let gwen = Cast.gwenRenewed
        let base = valid(
            "one's own chain", in: ["pins": Self.pins(), "identity file": home(gwen), "chain": gwen.chain],
            out: ["trust": ascii("me")])
        valid(
            "one's own chain as it was before", ["EdgeCase"],
            in: ["pins": Self.pins(), "identity file": home(gwen), "chain": Cast.gwen.chain],
            out: ["trust": ascii("me")])
        invalid(
            "a longer chain than one's own", "GenerationForked", "forked", base: base,
            in: ["identity file": home(Cast.gwen)])
        invalid(
            "another card of one's own generation", "GenerationForked", "forked", base: base,
            in: ["chain": Cast.gwen.renewed("gwen again", time: 1_767_400_001).chain])
        invalid(
            "a pinned person renewed, and the pin was replaced", "ChangedPerson", "unverified",
            in: ["pins": Self.pins(Self.pin(Cast.gwen, replaced: true)), "chain": gwen.chain])
        invalid(
            "an older chain than the pin that was replaced", "ChangedPerson", "unverified",
            in: ["pins": Self.pins(Self.pin(gwen, replaced: true)), "chain": Cast.gwen.chain])
        let known = valid(
            "somebody whom another home of the newest own card compared",
            in: [
                "pins": Self.pins(.known(Cast.fred, by: gwen)), "identity file": home(gwen), "chain": Cast.fred.chain,
            ], out: ["trust": ascii("verified")])
        invalid(
            "somebody whom a former own card said to be compared", "StaleGeneration", "unverified", base: known,
            in: ["pins": Self.pins(.known(Cast.fred, by: Cast.gwen))])
    }

    func addFounderTrust() {
        group("founderTrust")
        func founded(_ founder: Person, _ tag: String) -> Log {
            Log.begun(Draw(file: "identity", id: 0), founder: founder, tag: tag)
        }
        let (early, late) = (founded(Cast.gwen, " early"), founded(Cast.gwenRenewed, " late"))
        let other = founded(Cast.gwen.renewed("gwen again", time: 1_767_400_001), " other")
        func input(_ log: Log, me: Person = Cast.fred, _ pins: Bytes = PinWriter.object([])) -> Values {
            (["tresor": log.tresor, "identity file": home(me), "pins": pins] as Values).with("log", log.entries)
        }
        func trust(_ comment: String, _ flag: String, _ word: String, _ input: Values) -> Int {
            valid(comment, [flag], in: input, out: ["trust": ascii(word)])
        }
        let mine = trust("one's own tresor", "Normal", "me", input(late, me: Cast.gwenRenewed))
        _ = trust(
            "one's own, from before a renewal, without a mark", "StaleGeneration", "unverified",
            input(early, me: Cast.gwenRenewed))
        var retold = founded(Cast.gwen, " retold")
        retold.append(Cast.gwenRenewed, Body.renew(Cast.gwenRenewed.newest.card), generation: 0)
        _ = trust(
            "one's own, made before a renewal, that knows the newest card", "StaleGeneration", "unverified",
            input(retold, me: Cast.gwenRenewed))
        _ = trust(
            "one's own, with a generation that this home does not have", "StaleGeneration", "renewed",
            input(late, me: Cast.gwen))
        invalid(
            "one's own, with another card of a generation", "GenerationForked", "forked", base: mine,
            in: ["identity file": home(Cast.gwen.renewed("gwen again", time: 1_767_400_001))])
        let pinned = trust("a pinned founder", "Normal", "verified", input(late, Self.pins(Self.pin(Cast.gwenRenewed))))
        _ = trust("who has renewed", "StaleGeneration", "renewed", input(late, Self.pins(Self.pin(Cast.gwen))))
        _ = trust(
            "the log shows an older generation than was compared", "StaleGeneration", "unverified",
            input(early, Self.pins(Self.pin(Cast.gwenRenewed))))
        for pinned in [Cast.gwen, Cast.gwenRenewed] {
            _ = trust(
                "made before a renewal, with the newest card in the log, which has signed nothing", "StaleGeneration",
                "unverified", input(retold, Self.pins(Self.pin(pinned))))
        }
        var proved = retold
        proved.append(Cast.gwenRenewed, Body.grant([Cast.bert.chain], role: 3), generation: 1)
        _ = trust(
            "made before a renewal, and the newest keys have signed since", "Normal", "verified",
            input(proved, Self.pins(Self.pin(Cast.gwenRenewed))))
        _ = trust(
            "the same, and the number before was compared", "StaleGeneration", "renewed",
            input(proved, Self.pins(Self.pin(Cast.gwen))))
        _ = trust(
            "nobody was compared", "ChangedPerson", "unverified", input(late))
        _ = trust(
            "somebody else is pinned under the handle", "ChangedPerson", "changed",
            input(late, Self.pins(Self.pin(Person("impostor", handle: ascii("gwen"))))))
        invalid(
            "another card of a generation that was compared", "GenerationForked", "forked", base: pinned,
            in: Values([("tresor", .bytes(other.tresor)), ("log", .list(other.entries))]))
    }

    func addPinning() {
        group("pin")
        let impostor = Person("impostor", handle: ascii("gwen"))
        let now: UInt64 = 1_767_500_000
        func input(_ pins: Bytes, _ person: Person, replacing: Bool = false) -> Values {
            ["pins": pins, "chain": person.chain, "replacing": [replacing ? 1 : 0], "now": u64(now)]
        }
        func give(_ comment: String, _ flag: String, _ input: Values, _ pins: Bytes) -> Int {
            valid(comment, [flag], in: input, out: ["pins": pins])
        }
        let first = give(
            "the first pin", "Normal", input(Self.pins(), Cast.gwen), Self.pins(Self.pin(Cast.gwen, time: now)))
        let renewed = give(
            "a longer chain, in the place of the shorter", "Normal",
            input(Self.pins(Self.pin(Cast.gwen), Self.pin(Cast.fred)), Cast.gwenRenewed),
            Self.pins(Self.pin(Cast.gwenRenewed, time: now), Self.pin(Cast.fred)))
        let replaced = give(
            "another person under the handle, who takes its place", "ChangedPerson",
            input(Self.pins(Self.pin(Cast.gwen)), impostor, replacing: true),
            Self.pins(Self.pin(Cast.gwen, replaced: true, time: now), Self.pin(impostor, time: now)))
        _ = give(
            "the person before again", "EdgeCase",
            input(Self.pins(Self.pin(Cast.gwen, replaced: true), Self.pin(impostor)), Cast.gwen, replacing: true),
            Self.pins(Self.pin(Cast.gwen, time: now), Self.pin(impostor, replaced: true, time: now)))
        invalid(
            "another person under the handle, not replacing", "ChangedPerson", "unverified", base: replaced,
            in: ["replacing": [0]])
        invalid(
            "an older chain than is pinned", "GenerationForked", "forked", base: first,
            in: ["pins": Self.pins(Self.pin(Cast.gwenRenewed))])
        _ = give(
            "an older chain than that of a pin that was replaced", "EdgeCase",
            input(
                Self.pins(Self.pin(Cast.gwenRenewed, replaced: true), Self.pin(impostor)), Cast.gwen, replacing: true),
            Self.pins(Self.pin(Cast.gwen, time: now), Self.pin(impostor, replaced: true, time: now)))
        _ = give(
            "somebody whose pin a clock dated ahead", "EdgeCase",
            input(Self.pins(Self.pin(Cast.gwen, time: now + 5)), Cast.gwen),
            Self.pins(Self.pin(Cast.gwen, time: now + 6)))
        invalid(
            "another card of a pinned generation", "GenerationForked", "forked", base: renewed,
            in: ["pins": Self.pins(Self.pin(Cast.gwen.renewed("gwen again", time: 1_767_400_001)))])
        let both = Self.pins(Self.pin(Cast.gwen), Self.pin(impostor))
        _ = give(
            "beside another person, who keeps the handle", "ChangedPerson",
            input(Self.pins(Self.pin(Cast.gwen)), impostor).with("beside", [1]),
            Self.pins(Self.pin(Cast.gwen), Self.pin(impostor, time: now)))
        _ = give(
            "a longer chain of one of two people under the handle", "EdgeCase", input(both, Cast.gwenRenewed),
            Self.pins(Self.pin(Cast.gwenRenewed, time: now), Self.pin(impostor)))
        _ = give(
            "one of two people under the handle, who takes it from nobody", "EdgeCase",
            input(both, impostor, replacing: true),
            Self.pins(Self.pin(Cast.gwen), Self.pin(impostor, time: now)))
    }

    func addGivingUp() {
        group("giveUp")
        let impostor = Person("impostor", handle: ascii("gwen"))
        let pins = Self.pins(Self.pin(Cast.gwen), Self.pin(impostor), Self.pin(Cast.fred))
        let base = valid(
            "one of two people under a handle", ["ChangedPerson"],
            in: ["pins": pins, "user": impostor.user, "now": u64(1_767_400_000)],
            out: [
                "pins": Self.pins(
                    Self.pin(Cast.gwen), Self.pin(impostor, replaced: true, time: 1_767_400_000), Self.pin(Cast.fred))
            ])
        valid(
            "under a clock that is behind", ["ChangedPerson"],
            in: ["pins": pins, "user": impostor.user, "now": u64(1_767_200_000)],
            out: [
                "pins": Self.pins(
                    Self.pin(Cast.gwen), Self.pin(impostor, replaced: true, time: 1_767_300_001), Self.pin(Cast.fred))
            ])
        invalid(
            "somebody without a pin", "ChangedPerson", "not_found", base: base,
            in: ["pins": Self.pins(Self.pin(Cast.gwen))])
        valid(
            "a person who was given up before", ["EdgeCase"],
            in: [
                "pins": Self.pins(Self.pin(impostor, replaced: true)), "user": impostor.user, "now": u64(1_767_400_000),
            ],
            out: ["pins": Self.pins(Self.pin(impostor, replaced: true, time: 1_767_400_000))])
    }

    func addLastGeneration() {
        group("readChain")
        var person = Person("last")
        for generation in 1...255 { person = person.renewed("last", time: 1_767_225_600 + UInt64(generation)) }
        let base = IdentityVectors(file: file).addChain("256 generations, the last of which is 255", "EdgeCase", person)
        let after = person.renewed("last", time: 1_767_300_000)
        invalid("generation 256", "Oversize", "altered", base: base, in: ["chain": after.chain])
    }
}
