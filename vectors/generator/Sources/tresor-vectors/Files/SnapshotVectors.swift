// SPDX-License-Identifier: Apache-2.0

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Snapshots of a log, SPEC §9.10.
struct SnapshotVectors: LogTestWriter {
    let file: VectorFile

    func addSnapshots() {
        let log = Self.eventful(draw())
        let me = Cast.gwenRenewed
        group("makeSnapshot")
        for (comment, log) in [
            ("a genesis", Log.begun(draw(), founder: Cast.anna)), ("the full log", Cast.fullLog()),
            ("a role, a date, somebody who left and came back, a mark set and cleared", log),
        ] {
            valid(
                comment, in: Self.keeping(log, me), mid: ["state key": SnapshotWriter.key(me)],
                out: ["snapshot": Self.kept(log, me)])
        }
        group("openSnapshot")
        valid(
            "the full log", in: Self.opening(Cast.fullLog(), me, Self.kept(Cast.fullLog(), me)),
            mid: ["state key": SnapshotWriter.key(me)], out: Self.opened(Cast.fullLog()))
        addSnapshotFaults(log, me)
    }

    /// A log of seven entries with every event that a snapshot distinguishes.
    private static func eventful(_ draw: Draw) -> Log {
        var log = Log.begun(draw, founder: Cast.anna)
        log.grant([Cast.bert], role: 2)
        log.grantFromNow([Cast.cleo], role: 3)
        log.append(Cast.anna, Body.role(Cast.bert.user, 3, notAfter: 1_900_000_000))
        log.append(Cast.bert, Body.leave)
        log.grant([Cast.bert], role: 1)
        log.rotate()
        return log
    }

    /// The same state, written from the specification.
    private static func writer(_ log: Log) -> SnapshotWriter {
        func time(_ sequence: UInt64) -> UInt64 { 1_767_312_000 + sequence * Log.day }
        func change(_ sequence: UInt64, _ author: Person, _ kind: UInt8, _ role: UInt8, _ notAfter: UInt64 = 0)
            -> SnapshotWriter.Change
        {
            SnapshotWriter.Change(
                sequence: sequence, time: time(sequence), author: author.user, kind: kind, role: role,
                notAfter: notAfter)
        }
        let (anna, bert, cleo) = (Cast.anna, Cast.bert, Cast.cleo)
        let people: [(Person, SnapshotWriter.Record)] = [
            (
                anna,
                SnapshotWriter.Record(
                    chain: anna.chain, generations: [(0, time(0), 0)], changes: [change(0, anna, 1, 1)],
                    lastTime: time(6))
            ),
            (
                bert,
                SnapshotWriter.Record(
                    chain: bert.chain, generations: [(1, time(1), 0), (5, time(5), 0)],
                    changes: [
                        change(1, anna, 1, 2), change(3, anna, 2, 3, 1_900_000_000), change(4, bert, 4, 0),
                        change(5, anna, 1, 1),
                    ], lastTime: time(4))
            ),
            (
                cleo,
                SnapshotWriter.Record(
                    chain: cleo.chain, generations: [(2, time(2), 0)], changes: [change(2, anna, 1, 3)], history: 2)
            ),
        ]
        return SnapshotWriter(
            root: log.root, headTime: time(6), ownerTime: time(6),
            hashes: log.entries.map { hash("tresor/v1/entry-hash", $0) },
            epochs: zip(log.epochs, [0, 2, 6]).map { ($0.statement, $1) },
            name: log.name("interventions", epoch: log.epochs[1], sequence: 2).bytes, nameSequence: 2, marks: [4, 6],
            people: people.sorted { $0.0.user.lexicographicallyPrecedes($1.0.user) }.map(\.1))
    }

    /// An entry that is dated before an earlier one of its author: the last time is the latest, not that of the newest
    /// entry.
    func addLastTimes() {
        group("makeSnapshot")
        let me = Cast.gwenRenewed
        var log = Log.begun(draw(), founder: Cast.anna)
        log.grant([Cast.bert], role: 2)
        let (start, end) = (UInt64(1_767_312_000), 1_767_312_000 + Log.day)
        log.append(log.entry(Cast.anna, Body.role(Cast.bert.user, 3), time: start))
        let changes = [(UInt64(1), end, UInt8(1), UInt8(2)), (2, start, 2, 3)].map { sequence, time, kind, role in
            SnapshotWriter.Change(sequence: sequence, time: time, author: Cast.anna.user, kind: kind, role: role)
        }
        let people = [
            (
                Cast.anna,
                SnapshotWriter.Record(
                    chain: Cast.anna.chain, generations: [(0, start, 0)],
                    changes: [.init(sequence: 0, time: start, author: Cast.anna.user, kind: 1, role: 1)], lastTime: end)
            ),
            (
                Cast.bert,
                SnapshotWriter.Record(
                    chain: Cast.bert.chain, generations: [(1, end, 0)], changes: changes)
            ),
        ]
        let writer = SnapshotWriter(
            root: log.root, headTime: start, ownerTime: start,
            hashes: log.entries.map { hash("tresor/v1/entry-hash", $0) }, epochs: [(log.epochs[0].statement, 0)],
            name: log.name("interventions", epoch: log.epochs[0], sequence: 0).bytes, nameSequence: 0, marks: [],
            people: people.sorted { $0.0.user.lexicographicallyPrecedes($1.0.user) }.map(\.1))
        valid(
            "an entry dated before an earlier one of its author", ["EdgeCase"], in: Self.keeping(log, me),
            mid: ["state key": SnapshotWriter.key(me)], out: ["snapshot": writer.bytes(of: me)])
    }

    /// The floor and its checkpoint stand in a snapshot; a void checkpoint leaves no trace.
    func addCheckpoints() {
        let me = Cast.gwenRenewed
        var log = Log.begun(draw(), founder: Cast.anna)
        let blob = draw()("blob", 32) + u64(674)
        for upto in [0, 1, 1] as [UInt64] {
            log.append(Cast.anna, Body.commit([blob], epoch: 1))
            log.append(Cast.anna, Body.checkpoint([blob], upto: upto, epoch: 1))
        }
        let time = { (sequence: UInt64) in 1_767_312_000 + sequence * Log.day }
        let record = SnapshotWriter.Record(
            chain: Cast.anna.chain, generations: [(0, time(0), 0)],
            changes: [.init(sequence: 0, time: time(0), author: Cast.anna.user, kind: 1, role: 1)], lastTime: time(6))
        let writer = SnapshotWriter(
            root: log.root, headTime: time(6), ownerTime: time(6), floor: 1, checkpoint: 4,
            hashes: log.entries.map { hash("tresor/v1/entry-hash", $0) }, epochs: [(log.epochs[0].statement, 0)],
            name: log.name("interventions", epoch: log.epochs[0], sequence: 0).bytes, nameSequence: 0, marks: [],
            people: [record])
        group("makeSnapshot")
        valid(
            "a checkpoint between two void ones", in: Self.keeping(log, me), mid: ["state key": SnapshotWriter.key(me)],
            out: ["snapshot": writer.bytes(of: me)])
        group("openSnapshot")
        valid(
            "a checkpoint", in: Self.opening(log, me, writer.bytes(of: me)),
            mid: ["state key": SnapshotWriter.key(me)], out: Self.opened(log))
        var later = writer
        later.additive = u16(65_535)
        valid(
            "by a program that knew more additive bodies", ["EdgeCase"],
            in: Self.opening(log, me, later.bytes(of: me)), mid: ["state key": SnapshotWriter.key(me)],
            out: Self.opened(log))
    }

    /// People who wait, who waited, and who were refused; and an approver who is one no more.
    func addWaiting() {
        let me = Cast.gwenRenewed
        let stage = ApprovalStage(draw())
        group("makeSnapshot")
        valid(
            "people who wait, were approved and were refused", in: Self.keeping(stage.full, me),
            mid: ["state key": SnapshotWriter.key(me)], out: ["snapshot": Self.kept(stage.full, me)])
        group("openSnapshot")
        let kept = Self.kept(stage.full, me)
        let base = valid(
            "people who wait, were approved and were refused", in: Self.opening(stage.full, me, kept),
            mid: ["state key": SnapshotWriter.key(me)], out: Self.opened(stage.full))
        let body = Bytes(kept.dropLast(32))
        let place = 8 + 2 + 2 + 97 + 8 + 8 + 4 + 16
        func refuse(_ comment: String, _ flag: String, _ body: Bytes) {
            invalid(
                comment, flag, "altered", base: base, in: ["snapshot": SnapshotWriter.tagged(body, me)])
        }
        refuse("17 approvers, for which bytes are there", "NonCanonical", body.replacing(at: place, with: u16(17)))
        refuse("more approvers than there are bytes", "LengthOverflow", body.replacing(at: place, with: [255, 255]))
        refuse(
            "an approver of whom the log has no card", "NonCanonical", body.flipped(at: place + 2))
        refuse(
            "an approver who is a member", "NonCanonical", body.replacing(at: place + 2, with: Cast.anna.user))
        refuse(
            "approvers of an entry that is not there", "NonCanonical",
            body.replacing(at: place + 2 + 32, with: u64(stage.full.sequence)))
    }

    private static func identity(_ person: Person) -> Values {
        (["chain": person.chain, "S": person.newest.seed] as Values).with("previous", person.previous)
    }

    private static func keeping(_ log: Log, _ person: Person) -> Values {
        identity(person).with("tresor", log.tresor).with("log", log.entries)
    }

    private static func opening(_ log: Log, _ person: Person, _ kept: Bytes) -> Values {
        identity(person).with("tresor", log.tresor).with("snapshot", kept)
    }

    /// By the shipped code.
    private static func kept(_ log: Log, _ person: Person) -> Bytes {
        let state = must(try Fold.state(of: log.entries, tresor: TresorID(try required(Hash256(log.tresor)))))
        let identity = must(
            try Identity(
                chain: CardChain(person.chain), seed: SecretKey(SecretBytes(copying: person.newest.seed.span)),
                previous: person.previous))
        return must(try Snapshots(identity).bytes(of: state))
    }

    private static func opened(_ log: Log) -> Values {
        var before = Log(log.draw, founder: log.founder)
        for entry in log.entries.dropLast() { before.append(entry) }
        return state(before, log.entries[log.entries.count - 1])
    }

    private func addSnapshotFaults(_ log: Log, _ me: Person) {
        let good = Self.writer(log)
        precondition(good.bytes(of: me) == Self.kept(log, me), "the snapshot differs from the specification")
        let base = valid(
            "everything that can happen to a person", in: Self.opening(log, me, good.bytes(of: me)),
            mid: ["state key": SnapshotWriter.key(me)], out: Self.opened(log))
        func refuse(_ comment: String, _ flag: String, _ kept: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["snapshot": kept])
        }
        func tagged(_ comment: String, _ flag: String, _ body: Bytes, error: String = "altered") {
            refuse(comment, flag, SnapshotWriter.tagged(body, me), error: error)
        }
        func changed(
            _ comment: String, _ flag: String = "NonCanonical", error: String = "altered",
            _ change: @escaping (inout SnapshotWriter) -> Void
        ) {
            var writer = good
            change(&writer)
            refuse(comment, flag, writer.bytes(of: me), error: error)
        }
        let body = good.untagged
        addSnapshotTagFaults(good, me, refuse)
        tagged("nothing under a tag", "Truncated", [])
        tagged("the last byte before the tag is missing", "Truncated", Bytes(body.dropLast()))
        tagged("a byte behind the last person", "TrailingData", body + [0])
        changed("version 2", "WrongVersion", error: "unsupported") { $0.preamble[8] = 2 }
        changed("suite 2", "WrongSuite", error: "unsupported") { $0.preamble[9] = 2 }
        changed("suite 2 in the root", "WrongSuite", error: "unsupported") { $0.root[0] = 2 }
        changed("the magic of a local log copy", "WrongMagic", error: "unsupported") {
            $0.preamble = join(ascii("tresorL1"), [1, 1])
        }
        changed("no magic of ours", "WrongMagic") { $0.preamble[0] = 0x54 }
        changed("the magic of an earlier snapshot", "WrongMagic", error: "unsupported") { $0.preamble[7] = 0x31 }
        changed("by a program that knew fewer additive bodies", "WrongVersion", error: "unsupported") {
            $0.additive = u16(128)
        }
        changed("a floor without a checkpoint") { $0.floor = 1 }
        changed("a checkpoint without a floor") { $0.checkpoint = 2 }
        changed("a checkpoint that stands for itself") { ($0.floor, $0.checkpoint) = (2, 2) }
        changed("a checkpoint of an entry that is not there") { ($0.floor, $0.checkpoint) = (2, 7) }
        changed("a time beyond the last", "Oversize") { $0.headTime = 253_402_300_800 }
        changed("a time of an owner's entry beyond the last", "Oversize") { $0.ownerTime = 253_402_300_800 }
        changed("a generation of the founder's that their chain does not have", "StaleGeneration") {
            $0.founderGeneration = 1
        }
        invalid(
            "of another tresor", "WrongContext", "altered", base: base,
            in: ["tresor": Cast.fullLog().tresor])
        addSnapshotListFaults(good, changed, tagged)
        addSnapshotPersonFaults(good, changed)
    }

    private func addSnapshotTagFaults(
        _ good: SnapshotWriter, _ me: Person, _ refuse: (String, String, Bytes, String) -> Void
    ) {
        let bytes = good.bytes(of: me)
        for (comment, place) in [
            ("a bit of the tag", bytes.count - 1),
            ("a bit of the first hash", 8 + 2 + 2 + 97 + 8 + 8 + 4 + 16 + 10 + 4),
            ("a bit of the root", 40),
            ("a bit of the last person", bytes.count - 33),
        ] {
            refuse(comment, "ModifiedTag", bytes.flipped(at: place), "altered")
        }
        refuse("the last byte is missing", "Truncated", Bytes(bytes.dropLast()), "altered")
        refuse("a byte behind the tag", "TrailingData", bytes + [0], "altered")
        refuse("31 bytes", "Truncated", Bytes(bytes.suffix(31)), "altered")
        refuse("no bytes", "Truncated", [], "altered")
        refuse("a tag by another identity", "WrongKey", good.bytes(of: Cast.fred), "altered")
        refuse("a tag by the generation before", "WrongKey", good.bytes(of: Cast.gwen), "altered")
        let body = good.untagged
        refuse(
            "a tag under the key of the identity file", "WrongKey",
            body + derive(derive(me.newest.seed, "tresor/v1/identity-file"), "tresor/v1/state-tag", body), "altered")
        refuse(
            "a tag under the label of the identity file", "WrongLabel",
            body + derive(SnapshotWriter.key(me), "tresor/v1/identity-tag", body), "altered")
    }

    private func addSnapshotListFaults(
        _ good: SnapshotWriter,
        _ changed: (String, String, String, @escaping (inout SnapshotWriter) -> Void) -> Void,
        _ tagged: (String, String, Bytes, String) -> Void
    ) {
        func change(_ comment: String, _ change: @escaping (inout SnapshotWriter) -> Void) {
            changed(comment, "NonCanonical", "altered", change)
        }
        change("no entries") { $0.hashes = [] }
        let start = good.preamble.count + good.additive.count + good.root.count + 16 + 4 + 16 + 10
        var body = good.untagged
        body.replaceSubrange(start..<(start + 4), with: [255, 255, 255, 255])
        tagged("more entries than there are bytes", "LengthOverflow", body, "altered")
        change("no epochs") { $0.epochs = [] }
        change("a first epoch that does not begin with the genesis") { $0.epochs[0].sequence = 1 }
        change("an epoch twice") { $0.epochs[1].statement = $0.epochs[0].statement }
        change("two epochs of one entry") { $0.epochs[1].sequence = 0 }
        change("an epoch of an entry that is not there") { $0.epochs[2].sequence = 7 }
        change("the second epoch alone") {
            $0.epochs.removeFirst(); $0.epochs[0].sequence = 0
        }
        change("a name of an entry that is not there") { $0.nameSequence = 7 }
        change("marks that fall") { $0.marks = [6, 4] }
        change("a mark twice") { $0.marks = [4, 4] }
        change("a mark at an entry that is not there") { $0.marks = [4, 7] }
        change("nobody") { $0.people = [] }
        change("people by falling user id") { $0.people.reverse() }
        change("a person twice") { $0.people.append($0.people[2]) }
        change("a state without its founder") { state in
            state.people.removeAll { $0.chain == Cast.anna.chain }
        }
    }

    private func addSnapshotPersonFaults(
        _ good: SnapshotWriter, _ changed: (String, String, String, @escaping (inout SnapshotWriter) -> Void) -> Void
    ) {
        func person(_ who: Person, _ comment: String, _ change: @escaping (inout SnapshotWriter.Record) -> Void) {
            changed(comment, "NonCanonical", "altered") { state in
                for index in state.people.indices where state.people[index].chain == who.chain {
                    change(&state.people[index])
                    break
                }
            }
        }
        let (bert, cleo) = (Cast.bert, Cast.cleo)
        person(bert, "a chain of no bytes") { $0.chain = [] }
        person(bert, "a chain whose signature does not hold") { $0.chain = $0.chain.flipped(at: $0.chain.count - 1) }
        person(bert, "no generation") { $0.generations = [] }
        person(bert, "a generation that the chain does not end with") { $0.generations[1].generation = 1 }
        person(bert, "generations that fall") { $0.generations[0].generation = 1 }
        person(bert, "generations out of order") { $0.generations[0].sequence = 5 }
        person(Cast.anna, "no change of the founder") { $0.changes = [] }
        person(bert, "changes out of order") { $0.changes[1].sequence = 1 }
        person(bert, "a change of an entry that is not there") { $0.changes[3].sequence = 7 }
        person(bert, "a change of kind 7") { $0.changes[3].kind = 7 }
        person(bert, "asked while a member") { $0.changes[1].kind = 5 }
        person(bert, "refused without having waited") {
            $0.changes[2].kind = 6
        }
        person(bert, "role 0 of who is admitted") { $0.changes[0].role = 0 }
        person(bert, "role 4") { $0.changes[3].role = 4 }
        person(bert, "a role of who left") { $0.changes[2].role = 3 }
        person(bert, "a date of who left") { $0.changes[2].notAfter = 1 }
        person(bert, "admitted twice") { $0.changes[1].kind = 1 }
        person(bert, "another role before being admitted") { $0.changes[0].kind = 2 }
        person(bert, "removed after having left") {
            $0.changes[3].kind = 3
            $0.changes[3].role = 0
        }
        person(bert, "a date beyond the last") { $0.changes[1].notAfter = 253_402_300_800 }
        person(cleo, "a history from epoch 1") { $0.history = 1 }
        person(cleo, "a history from an epoch that is not there") { $0.history = 4 }
        person(cleo, "a history of a removed member") {
            $0.changes.append($0.changes[0])
            $0.changes[1].sequence = 3
            $0.changes[1].kind = 3
            $0.changes[1].role = 0
        }
        person(cleo, "2 for whether somebody wrote") { $0.wrote = 2 }
        person(bert, "a last time beyond the last") { $0.lastTime = 253_402_300_800 }
    }
}
