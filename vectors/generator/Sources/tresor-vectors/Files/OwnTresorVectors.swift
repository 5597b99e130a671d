// SPDX-License-Identifier: Apache-2.0

/// The statements of the own tresors of a person (SPEC §19.8), and the objects of a home that keep them.
struct OwnTresorVectors: TestWriter {
    private static let now: UInt64 = 1_767_600_000
    let file: VectorFile

    /// Pins that another device stated, and told heads, read and written again.
    func addObjects() {
        group("reencode")
        let (gwen, bert) = (Cast.gwen, Cast.bert)
        func pins(_ pins: PinWriter...) -> Bytes { PinWriter.object(pins) }
        let known = pins(.known(bert, by: gwen), PinWriter(Cast.anna))
        let pinned = valid(
            "a known pin beside a compared one", in: ["magic": ascii("tresorP2"), "object": known],
            out: ["object": known])
        func refuse(_ comment: String, _ change: (inout PinWriter) -> Void) {
            var pin = PinWriter.known(bert, by: gwen)
            change(&pin)
            invalid(comment, "NonCanonical", "altered", base: pinned, in: ["object": pins(pin)])
        }
        refuse("a pin of no occasion") { $0.how = 0 }
        refuse("a pin of an occasion that is none") { $0.how = 5 }
        refuse("a known pin by nobody") { $0.by = zeros(32) }
        refuse("a compared pin by somebody") { $0.how = PinWriter.How.number }
        let (tresor, hash) = (draw()("tresor", 32), draw()("hash", 32))
        let head = HeadRow.head(7, hash)
        for (comment, row) in [
            ("a pinned head", HeadRow(tresor: tresor, pinned: head)),
            ("a told head", HeadRow(tresor: tresor, told: head)),
            ("both", HeadRow(tresor: tresor, pinned: head, told: HeadRow.head(9, hash))),
        ] {
            let object = HeadRow.object([row])
            valid(comment, in: ["magic": ascii("tresorH2"), "object": object], out: ["object": object])
        }
        for kinds in [UInt8(0), 4] {
            invalid(
                "a row of the kind \(kinds)", "NonCanonical", "altered",
                in: ["magic": ascii("tresorH2"), "object": HeadRow.object([]) + tresor + [kinds] + head])
        }
    }

    private func input(_ pins: [PinWriter], _ said: [PinWriter]) -> Values {
        (["chain": Cast.fred.chain, "pins": PinWriter.object(pins), "now": u64(Self.now)] as Values)
            .with("users", said.map(\.person.user)).with("contents", said.map(\.bytes))
    }

    func addTakeKnown() {
        group("takeKnown")
        let (me, gwen, renewed) = (Cast.fred, Cast.gwen, Cast.gwenRenewed)
        let impostor = Person("impostor", handle: ascii("gwen"))
        let (early, late): (UInt64, UInt64) = (1_767_300_000, 1_767_400_000)
        func known(_ person: Person, replaced: Bool = false, time: UInt64 = 1_767_300_000) -> PinWriter {
            .known(person, by: me, replaced: replaced, time: time)
        }
        func take(
            _ comment: String, _ flag: String, _ pins: [PinWriter], _ said: [PinWriter], to result: [PinWriter],
            conflicts: [Person] = [], ended: [Person] = [], news: [Person] = []
        ) {
            valid(
                comment, [flag], in: input(pins, said),
                out: (["pins": PinWriter.object(result)] as Values).with("conflicts", conflicts.map(\.user))
                    .with("ended", ended.map(\.user)).with("news", news.map(\.user)))
        }
        take("nothing is said", "EdgeCase", [PinWriter(gwen)], [], to: [PinWriter(gwen)], news: [gwen])
        take("somebody whom this home does not know", "Normal", [], [PinWriter(gwen)], to: [known(gwen)])
        take("oneself", "EdgeCase", [], [PinWriter(me)], to: [])
        take("the same as here", "Normal", [PinWriter(gwen)], [PinWriter(gwen, time: late)], to: [PinWriter(gwen)])
        take(
            "newer keys than were compared here", "StaleGeneration", [PinWriter(gwen)], [PinWriter(renewed)],
            to: [PinWriter(gwen)])
        take(
            "newer keys than another home compared", "Normal", [known(gwen)], [PinWriter(renewed)],
            to: [known(renewed)])
        take(
            "older keys than were compared here", "StaleGeneration", [PinWriter(renewed)],
            [PinWriter(gwen, time: late)],
            to: [PinWriter(renewed)], news: [renewed])
        take(
            "somebody who took the place of a known person", "ChangedPerson", [known(gwen)],
            [PinWriter(gwen, replaced: true), PinWriter(impostor, time: late)],
            to: [known(gwen, replaced: true), known(impostor, time: late)])
        take(
            "somebody under the handle of a compared person", "ChangedPerson", [PinWriter(gwen)], [PinWriter(impostor)],
            to: [PinWriter(gwen)], conflicts: [impostor], news: [gwen])
        take(
            "that somebody took the place of a compared person", "ChangedPerson", [PinWriter(gwen, time: early)],
            [PinWriter(gwen, replaced: true, time: late)], to: [PinWriter(gwen, time: early)], conflicts: [gwen])
        take(
            "that somebody took the place of a person who was compared again later", "EdgeCase",
            [PinWriter(gwen, time: late)], [PinWriter(gwen, replaced: true, time: early)],
            to: [PinWriter(gwen, time: late)], news: [gwen])
        let given = [PinWriter(gwen, replaced: true, time: late), PinWriter(impostor, time: late)]
        take(
            "that a person was compared, in whose place there is somebody later", "ChangedPerson", given,
            [PinWriter(gwen, time: early)], to: given, news: [gwen, impostor])
        let other = gwen.renewed("gwen again", time: 1_767_400_001)
        let latest: UInt64 = 1_767_500_000
        take(
            "another card of a generation that was compared later", "GenerationForked",
            [PinWriter(renewed, time: latest)], [PinWriter(other, time: late)],
            to: [PinWriter(renewed, time: latest)], news: [renewed])
        take(
            "another card of a generation that was given up", "GenerationForked",
            [PinWriter(renewed, replaced: true, time: late)], [PinWriter(other, time: early)],
            to: [PinWriter(renewed, replaced: true, time: late)], news: [gwen])
        take(
            "another card of a generation that another home compared", "GenerationForked", [known(renewed)],
            [PinWriter(other, time: late)], to: [known(other, time: late)])
        take(
            "two cards of one generation, one of which was compared later", "GenerationForked",
            [PinWriter(renewed, time: latest)], [PinWriter(renewed), PinWriter(other, time: late)],
            to: [PinWriter(renewed, time: latest)], news: [renewed])
        take(
            "another card of a generation that was compared", "GenerationForked", [PinWriter(renewed)],
            [PinWriter(other, time: late)], to: [PinWriter(renewed)], conflicts: [gwen])
        take(
            "two cards of one generation", "GenerationForked", [], [PinWriter(renewed), PinWriter(other, time: late)],
            to: [], conflicts: [gwen])
        take(
            "the newer of two statements", "EdgeCase", [],
            [PinWriter(gwen, replaced: true), PinWriter(gwen, time: late)],
            to: [known(gwen, time: late)])
        take(
            "newer keys than were given up later here", "ChangedPerson", [PinWriter(gwen, replaced: true, time: late)],
            [PinWriter(renewed, time: early)], to: [PinWriter(gwen, replaced: true, time: late)], news: [gwen])
        take(
            "newer keys than another home gave up later", "ChangedPerson", [known(gwen, replaced: true, time: late)],
            [PinWriter(renewed, time: early)], to: [known(gwen, replaced: true, time: late)], news: [gwen])
        take(
            "a giving-up and an earlier comparison of newer keys", "ChangedPerson", [known(gwen)],
            [PinWriter(renewed, time: early), PinWriter(gwen, replaced: true, time: late)],
            to: [known(gwen, replaced: true, time: late)])
        take(
            "a giving-up of other keys than were compared here before", "ChangedPerson",
            [PinWriter(other, time: early)],
            [PinWriter(renewed, replaced: true, time: late)], to: [PinWriter(other, time: early)], conflicts: [gwen])
        let ahead = Self.now + 100_000
        take(
            "a giving-up that a clock dated ahead", "EdgeCase", [PinWriter(gwen)],
            [PinWriter(gwen, replaced: true, time: ahead)], to: [PinWriter(gwen, time: ahead)], conflicts: [gwen])
        take(
            "a comparison that a clock dated ahead", "EdgeCase", [PinWriter(gwen, replaced: true)],
            [PinWriter(gwen, time: ahead)], to: [PinWriter(gwen, replaced: true, time: ahead - 1)], conflicts: [gwen])
        let former = PinWriter.known(gwen, by: Cast.anna)
        take("what a former card said, and nothing else does", "StaleGeneration", [former], [], to: [], ended: [gwen])
        take(
            "what a former card said, and the newest does too", "EdgeCase", [former], [PinWriter(gwen)],
            to: [known(gwen)])
        func refuse(_ comment: String, _ flag: String, _ user: Bytes, _ content: Bytes) {
            invalid(
                comment, flag, "altered",
                in: (["chain": me.chain, "pins": PinWriter.object([]), "now": u64(Self.now)] as Values)
                    .with("users", [user]).with("contents", [content]))
        }
        refuse("a pin of somebody else than the name says", "SwappedRecord", Cast.bert.user, PinWriter(gwen).bytes)
        refuse("a byte behind the pin", "TrailingData", gwen.user, PinWriter(gwen).bytes + [0])
        refuse("a byte is missing", "Truncated", gwen.user, Bytes(PinWriter(gwen).bytes.dropLast()))
    }

    func addTakeHeads() {
        group("takeHeads")
        let tresor = draw()("tresor", 32)
        func head(_ sequence: UInt64) -> Bytes {
            HeadRow.head(sequence, Draw(file: "identity", id: 0)("head \(sequence)", 32))
        }
        func take(_ comment: String, _ flag: String, _ row: HeadRow?, _ said: [UInt64], to result: HeadRow?) {
            valid(
                comment, [flag],
                in: (["heads": HeadRow.object([row].compactMap(\.self))] as Values)
                    .with("tresors", said.map { _ in tresor }).with("contents", said.map(head)),
                out: ["heads": HeadRow.object([result].compactMap(\.self))])
        }
        func row(pinned: UInt64? = nil, told: UInt64? = nil) -> HeadRow {
            HeadRow(tresor: tresor, pinned: pinned.map(head), told: told.map(head))
        }
        take("of a tresor that this home has not read", "Normal", nil, [3, 5], to: row(told: 5))
        take("above the pinned head", "Normal", row(pinned: 4), [5], to: row(pinned: 4, told: 5))
        take("not above the pinned head", "EdgeCase", row(pinned: 5), [5, 4], to: row(pinned: 5))
        take("above the told head", "Normal", row(pinned: 1, told: 5), [5, 6], to: row(pinned: 1, told: 6))
        take("what is said no more", "StaleGeneration", row(pinned: 1, told: 5), [], to: row(pinned: 1))
        take("what is said no more of a tresor without a pinned head", "EdgeCase", row(told: 5), [], to: nil)
        invalid(
            "a byte behind the head", "TrailingData", "altered",
            in: (["heads": HeadRow.object([])] as Values).with("tresors", [tresor]).with("contents", [head(1) + [0]]))
    }
}
