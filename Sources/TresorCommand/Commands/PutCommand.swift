// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

struct PutCommand: InputsCommand {
    static var page: CommandPage {
        CommandPage(
            name: "put", group: .data, abstract: "Put records into a tresor, or delete them.",
            usage: """
                tresor put -t T [--as NAME] [--type TEXT] [--if REV|none] [--later] [--allow-empty] [INPUT…]
                tresor put -t T --delete [--if REV] [--later] NAME…
                """,
            discussion: """
                All INPUTs are one commit: it happens wholly or not at all. A record's name is --as, or the last \
                component of INPUT. A change replaces every version that this home had seen before, by get, records, \
                sync or an earlier put, also where sync --watch brought it; put names those of other people. What others \
                changed unseen stays beside it, and put names it. With --if REV, \
                what others changed is fetched first, and REV counts as seen. A content of up to 64 KiB that is there \
                already makes no revision. A larger INPUT becomes an attachment: others fetch it when they get the \
                record. What cannot be sent stays in your home, and tresor sync sends it. --later needs no store.
                """,
            classes: [.identity, .write], further: [.noAccess, .waiting],
            examples: [
                "tresor put -t interventions plan.json",
                "tresor put -t interventions --delete plan.json",
            ])
    }

    @OptionGroup var tresor: TresorOption

    @Option(name: .customLong("as"), help: ArgumentHelp("The record's name, for one INPUT.", valueName: "NAME"))
    var name: String?

    @Option(help: ArgumentHelp("The content type.", valueName: "TEXT"))
    var type: String?

    @Option(
        name: .customLong("if"), help: ArgumentHelp("Refuse unless this revision is shown, or none.", valueName: "REV"))
    var shown: String?

    @Flag(help: "Delete the records named.")
    var delete = false

    @Flag(help: "Keep the change in your home; tresor sync sends it.")
    var later = false

    @Flag(help: "Accept an INPUT without content.")
    var allowEmpty = false

    @Argument(help: ArgumentHelp("Files; standard input if none or -.", valueName: "INPUT"), completion: .file())
    var inputs: [String] = []

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard !delete || (name == nil && type == nil && !allowEmpty && !inputs.isEmpty) else {
            throw CommandFailure.usage("--delete takes the names of records, and none of --as, --type, --allow-empty")
        }
        guard name == nil || inputs.count <= 1 else { throw CommandFailure.usage("--as names one INPUT") }
        let expected = try expectation()
        var reach = try await StoreReach.open(options) { $0.isOfTheStore }
        let contents = delete ? [] : try PutContent.read(inputs, self, reach.context)
        try refuseTwice(delete ? inputs : contents.map(\.name))
        var session = try await reach.unlock(to: "change \(DisplayText.name(tresor.tresor))")
        let (summary, before) = try await reach.find(tresor.tresor, for: &session, isNeeded: !later)
        try await check(summary, session, reach)
        var records = session.records(in: summary.tresor)
        // The person has not seen what comes from now on: it stays beside the change.
        let seen = try await HomeRecords(of: records).seen(at: before)
        if expected != nil, !later { records = try await reach.pull(records, for: &session).records }
        let title = reach.context.tresors.title(of: summary)
        let planned = delete ? inputs.map { RecordChange.delete($0) } : contents.map(\.planned)
        try await check(planned, expected, records, title)
        if !allowEmpty { try await PutContent.refuseEmptied(contents, of: records, title) }
        let changes = delete ? planned : try await hold(contents, records, reach.context)
        let made = try await change(changes, expected, seen, records, title)
        var outcome = PutOutcome(made, of: changes)
        let (count, unchanged) = (Self.count(made.count), outcome.unchanged.count)
        outcome.replaced = try await replaced(by: made, seen, records)
        let words = try words(summary, session, reach.context)
        let output = reach.context.output
        // A change that was made just now is unsent.
        let isUnsent = try await made.isEmpty ? !records.unsent().isEmpty : true
        if unchanged > 0 {
            let absence = reach.absence.map { ", as this home saw it last: \($0.message)" } ?? ""
            output.say("\(Self.count(unchanged)) unchanged in \(title)\(absence)")
        }
        if later {
            if !made.isEmpty { output.say("\(count) for \(title) in your home, not sent yet") }
            tellReplaced(outcome, words, output)
        } else if isUnsent {
            let sent: SyncReport
            do {
                if let absence = reach.absence { throw stays(absence, title) }
                sent = try await send(made, records, of: summary, session, reach.context)
            } catch {
                // The change is made in this home, and is sent as it is.
                tellReplaced(outcome, words, output)
                throw error
            }
            if !made.isEmpty {
                // Other changes may have gone behind this one.
                outcome.revision = try made.compactMap { try sent.revisions[Name(text: $0.name)] }.max()
                output.say("\(count) in \(title)" + (outcome.revision.map { ", revision \($0)" } ?? ""))
                tellReplaced(outcome, words, output)
                outcome.others = try await others(beside: made, sent.commits, records)
                tellOthers(outcome, words, output)
            }
        }
        if options.json { try output.object(outcome.object(in: summary.tresor)) }
        await reach.context.tresors.tell(session)
    }

    /// The outcome of the changes.
    private struct PutOutcome {
        let made: [RecordChange]
        /// The names of the records that have this content already.
        let unchanged: [String]
        var revision: UInt64?
        /// The versions that stand beside what was sent, by the places of their records in `made`.
        var others: [(place: Int, versions: [RecordVersion])] = []
        /// The versions of other people that the change replaces, by the same places.
        var replaced: [(place: Int, versions: [RecordVersion])] = []

        init(_ made: [RecordChange], of changes: [RecordChange]) {
            self.made = made
            let names = Set(made.map { Array($0.name.utf8) })
            unchanged = changes.map(\.name).filter { !names.contains(Array($0.utf8)) }
        }

        func object(in tresor: TresorID) -> JSONObject {
            func objects(_ versions: [(place: Int, versions: [RecordVersion])]) -> JSON {
                .array(versions.flatMap { place, all in all.map { Self.object($0, of: made[place].name) } })
            }
            var object: JSONObject = [
                "type": "put", "tresor": .string(tresor.description),
                "records": .array(made.map { .string($0.name) }),
                "unchanged": .array(unchanged.map { .string($0) }), "beside": objects(others),
                "replaced": objects(replaced),
            ]
            if let revision { object["revision"] = .unsigned(revision) }
            return object
        }

        private static func object(_ version: RecordVersion, of name: String) -> JSON {
            var object: JSONObject = [
                "name": .string(name), "date": .time(version.time), "author": .string(version.author.description),
                "deleted": .bool(version.isDeletion),
            ]
            if let revision = version.revision { object["revision"] = .unsigned(revision) }
            return .object(object)
        }
    }

    /// Refuses a person who may not write here. What a removed one has of the records goes at once.
    private func check(_ summary: TresorSummary, _ session: Session, _ reach: StoreReach) async throws {
        guard let state = summary.state else { return }
        let context = reach.context
        if let failure = await context.oldKeys(in: state, session) { throw failure }
        try await context.verifyOwner(of: state, for: session)
        context.tresors.tellClock(behind: state, context.tresors.title(of: summary))
        guard let failure = context.tresors.refusal(of: summary, in: state, session, writing: true) else { return }
        if state.members[session.user] == nil, reach.absence == nil, !later {
            _ = try? await session.records(in: summary.tresor).pull()
        }
        throw failure
    }

    /// Refuses what no content could mend, before any is encrypted.
    private func check(
        _ planned: [RecordChange], _ expected: UInt64??, _ records: Records, _ title: String
    ) async throws {
        do throws(TresorError) {
            try await records.attachments.check(planned, ifShown: Self.all(planned, expected))
        } catch {
            throw await refusal(error, of: planned.map(\.name), expected, records, title) ?? CommandFailure(error)
        }
    }

    /// The revision that --if demands, of each record.
    private static func all(_ changes: [RecordChange], _ expected: UInt64??) -> [String: UInt64?] {
        var all: [String: UInt64?] = [:]
        if let expected { for change in changes { all[change.name] = .some(expected) } }
        return all
    }

    /// Makes the changes that change something.
    private func change(
        _ changes: [RecordChange], _ expected: UInt64??, _ seen: SeenRecords, _ records: Records, _ title: String
    ) async throws -> [RecordChange] {
        let all = Self.all(changes, expected)
        do throws(TresorError) {
            let made = try await HomeRecords(of: records).effective(changes, seen: seen, ifShown: all)
            if !made.isEmpty { try await records.change(made, ifShown: all, seen: seen) }
            return made
        } catch {
            let names = changes.map(\.name)
            throw await refusal(error, of: names, expected, records, title) ?? CommandFailure(error)
        }
    }

    /// The versions that stand beside what was sent. A deletion beside a deletion leaves nothing that is shown.
    private func others(
        beside made: [RecordChange], _ commits: [UInt64], _ records: Records
    ) async throws -> [(place: Int, versions: [RecordVersion])] {
        // Another program of this home was faster, and sent them.
        guard !commits.isEmpty else { return [] }
        let all = try await HomeRecords(of: records).versions(of: made.map(\.name))
        return all.enumerated().compactMap { place, versions in
            let others = versions.filter { version in
                version.revision.map { !commits.contains($0) } ?? false
            }
            return others.contains { !delete || !$0.isDeletion } ? (place: place, versions: others) : nil
        }
    }

    /// The versions of other people that a change replaces, sent or not: they may not be what the person meant to end.
    private func replaced(
        by made: [RecordChange], _ seen: SeenRecords, _ records: Records
    ) async throws -> [(place: Int, versions: [RecordVersion])] {
        let (home, names) = (HomeRecords(of: records), made.map(\.name))
        let all = try await home.ofOthers(names, in: seen)
        guard all.contains(where: { !$0.isEmpty }) else { return [] }
        let beside = try await home.versions(of: names)
        return zip(all, beside).enumerated().compactMap { place, versions in
            let stay = Set(versions.1.map(\.revision))
            let gone = versions.0.filter { !stay.contains($0.revision) }
            return gone.isEmpty ? nil : (place: place, versions: gone)
        }
    }

    private func words(
        _ summary: TresorSummary, _ session: Session, _ context: CommandContext
    ) throws -> VersionWords {
        let state = try session.client.archive.verifiedState(of: summary.tresor)
        return VersionWords(tresors: context.tresors, state: state, user: session.user)
    }

    private func tellReplaced(_ outcome: PutOutcome, _ words: VersionWords, _ output: Output) {
        for (place, versions) in outcome.replaced {
            let name = DisplayText.quoted(outcome.made[place].name)
            output.say(words.words(of: name, isDeleted: delete, inPlaceOf: versions))
        }
    }

    private func tellOthers(_ outcome: PutOutcome, _ words: VersionWords, _ output: Output) {
        for (place, versions) in outcome.others {
            let name = outcome.made[place].name
            output.say(words.words(of: DisplayText.quoted(name), isDeleted: delete, besides: versions))
            output.hint(
                "tresor records -t \(Shell.word(tresor.tresor)) --versions -- \(Shell.word(name))")
        }
    }

    /// Names the record that a refused change is about; `nil` where it is about none.
    private func refusal(
        _ error: TresorError, of names: [String], _ expected: UInt64??, _ records: Records, _ title: String
    ) async -> CommandFailure? {
        if error == .usage(.tooManyContents) { return tooMany(error) }
        guard error == .notFound || error == .busy, let list = try? await records.list().records else { return nil }
        let hints = ["tresor records -t \(Shell.word(tresor.tresor))"]
        for name in names {
            let shown = list.first { $0.name == (try? Name(text: name))?.text }
            if error == .notFound, shown == nil {
                return CommandFailure(
                    .notFound, "this home has seen no record \(DisplayText.quoted(name)) in \(title)", hints: hints)
            }
            guard error == .busy, let expected, shown?.state == .unsent || shown?.revision != expected else { continue }
            let present =
                shown.map { $0.revision.map { "revision \($0)" } ?? "a change that is not sent" } ?? "no revision"
            let wanted = expected.map { "revision \($0)" } ?? "none"
            return CommandFailure(
                .busy, "\(DisplayText.quoted(name)) shows \(present), and --if asks for \(wanted)", hints: hints)
        }
        return nil
    }

    /// The failure where as many contents wait to be sent as there may be.
    private func tooMany(_ error: TresorError) -> CommandFailure {
        CommandFailure(
            of: error, "\(TresorError.Misuse.tooManyContents.rawValue)",
            hints: ["tresor sync -t \(Shell.word(tresor.tresor))"])
    }

    /// Sends the change. If that fails, the message says that the change stays. One that was sent, unlike others for which
    /// there is no room, has not failed.
    private func send(
        _ made: [RecordChange], _ records: Records, of summary: TresorSummary, _ session: Session,
        _ context: CommandContext
    ) async throws -> SyncReport {
        let (tresors, output) = (context.tresors, context.output)
        let title = tresors.title(of: summary)
        var synced: SyncReport?
        let held: TresorError
        do throws(TresorError) {
            let report = try await records.sync(again: false)
            guard let error = report.held else { return report }
            (synced, held) = (report, error)
        } catch {
            held = error
        }
        // The next sync finds out what became of it.
        Surroundings.current.obstacle.note(mayBeDone: false)
        if held == .noAccess, let failure = tresors.copyRefusal(of: summary.tresor, session) {
            throw stays(failure, title, behind: failure.hints)
        }
        guard let synced else {
            if case .failed = held { throw UnnotedChange.unknown(held, sentTo: title) }
            throw stays(CommandFailure(held), title)
        }
        let names = try made.map { change throws(TresorError) in try Name(text: change.name) }
        if held == .failed(.notNoted) {
            throw UnnotedChange.failure(synced.outbox, of: made.isEmpty ? nil : names, sentTo: title)
        }
        if held == .store(.full) {
            let failure = await context.noRoom(in: summary, session)
            let unsent = Set(try synced.unsent.map { text throws(TresorError) in try Name(text: text) })
            guard !made.isEmpty, unsent.isDisjoint(with: names) else {
                throw stays(failure, title, behind: failure.hints)
            }
            output.say("\(Self.count(unsent.count)) not sent to \(title): \(failure.message)")
            for hint in failure.hints { output.hint(hint) }
            return synced
        }
        let failure = CommandFailure(sending: synced, held, rotation: tresors.rotation(of: summary, for: session))
        throw stays(failure, title, behind: synced.isFrozen || held == .failed(.clock) ? failure.hints : [])
    }

    private func stays(_ failure: CommandFailure, _ title: String, behind hints: [String] = []) -> CommandFailure {
        // A store that is not there is out of reach now.
        CommandFailure(
            failure.error == .notFound ? .store(.unreachable) : failure.error,
            "the change stays in your home, not sent to \(title): \(failure.message)",
            hints: hints + ["tresor sync"])
    }

    private func refuseTwice(_ texts: [String]) throws {
        var names: Set<Name> = []
        for text in texts {
            guard let name = try? Name(text: text), !names.insert(name).inserted else { continue }
            throw CommandFailure.usage("the record \(DisplayText.quoted(text)) is given twice")
        }
    }

    private static func count(_ number: Int) -> String { number == 1 ? "1 record" : "\(number) records" }

    /// The revision that `--if` demands: `nil` without it, and an inner `nil` for `none`.
    private func expectation() throws -> UInt64?? {
        guard let shown else { return nil }
        if shown == "none" { return .some(nil) }
        guard let revision = UInt64(shown) else { throw CommandFailure.usage("--if takes a revision, or none") }
        return .some(revision)
    }

    /// Takes the large ones into the home.
    private func hold(
        _ contents: [PutContent], _ records: Records, _ context: CommandContext
    ) async throws -> [RecordChange] {
        var (changes, held): ([RecordChange], [HeldContent]) = ([], [])
        do {
            for content in contents {
                guard content.isLarge else {
                    changes.append(content.planned)
                    continue
                }
                let new = try await hold(content, besides: held, records, context)
                held.append(new)
                changes.append(.put(content.name, new, type: content.type))
            }
        } catch {
            await records.attachments.release(held)
            throw error
        }
        return changes
    }

    private func hold(
        _ content: PutContent, besides held: [HeldContent], _ records: Records, _ context: CommandContext
    ) async throws -> HeldContent {
        let progress = context.invocation.progress("encrypting")
        defer { progress.finish() }
        let (note, (input, start)) = (FailureNote(), try content.opened())
        var source = InputContent(input, startingWith: start, note, progress)
        let new: HeldContent
        do throws(TresorError) {
            new = try await records.attachments.hold(&source, besides: held)
        } catch {
            if error == .usage(.tooManyContents) { throw tooMany(error) }
            throw note.words(for: CommandError(error), or: CommandFailure(error, file: input.path))
        }
        if source.hasGrown { context.output.say(input.growth(after: source.count)) }
        return new
    }
}
