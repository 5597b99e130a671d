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
                component of INPUT. Every version that this home shows is replaced. What cannot be sent stays in your \
                home, and tresor sync sends it. --later needs no store. An INPUT above 64 KiB becomes an attachment: \
                others fetch it when they get the record.
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

    @Flag(help: "Accept an empty pipe.")
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
        let (workplace, unreachable) = try await open()
        let contents = delete ? [] : try contents(workplace)
        try refuseTwice(delete ? inputs : contents.map(\.name))
        let session = try await unlock(workplace, unreachable)
        let summary = try await find(session, workplace, unreachable)
        if let state = summary.state {
            try await workplace.verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
            try workplace.tresors.refuseOldKeys(in: state, session)
        }
        let records = session.records(in: summary.tresor)
        let title = workplace.tresors.title(of: summary)
        if !later, unreachable == nil { try await pull(records) }
        let changes =
            delete ? inputs.map { RecordChange.delete($0) } : try await hold(contents, records, workplace)
        try await change(changes, expected, records, title)
        guard !later else {
            workplace.output.say("\(Self.count(changes.count)) for \(title) in your home, not sent yet")
            return try report(changes, nil, summary.tresor, workplace)
        }
        if let unreachable { throw stays(unreachable, title) }
        let sent = try await send(records, title)
        let revision = sent.commits.last
        workplace.output.say(
            "\(Self.count(changes.count)) in \(title)" + (revision.map { ", revision \($0)" } ?? ""))
        try report(changes, revision, summary.tresor, workplace)
        await workplace.tresors.tell(session)
    }

    /// Opens the home, and the store if it can be reached.
    ///
    /// - Returns: also why the store cannot be reached.
    private func open() async throws -> (workplace: CommandContext, unreachable: CommandFailure?) {
        do {
            return (try await CommandContext.open(options), nil)
        } catch {
            let failure = CommandFailure(error)
            var isAway = later && failure.error == .notFound
            if case .library(.store) = failure.error { isAway = true }
            guard isAway else { throw failure }
            return (try CommandContext.local(options), failure)
        }
    }

    /// Opens the identity. Without the store no device does, for the store has its server share.
    private func unlock(_ workplace: CommandContext, _ unreachable: CommandFailure?) async throws -> Session {
        do {
            return try await workplace.unlock(
                to: "change \(DisplayText.name(tresor.tresor))", acceptingDevice: unreachable == nil)
        } catch {
            guard let unreachable, CommandFailure(error).error == .usage else { throw error }
            throw unreachable
        }
    }

    /// Finds the tresor. A change needs no store where the home knows the tresor.
    private func find(
        _ session: Session, _ workplace: CommandContext, _ unreachable: CommandFailure?
    ) async throws -> TresorSummary {
        let kept = try session.tresors.kept(named: tresor.tresor)
        if later || unreachable != nil, kept.count == 1 { return kept[0] }
        if let unreachable { throw unreachable }
        do {
            return try await workplace.tresors.find(tresor.tresor, for: session)
        } catch {
            guard case .library(.store) = CommandFailure(error).error, kept.count == 1 else { throw error }
            return kept[0]
        }
    }

    /// Fetches what others changed. Without the store, the change is made of what the home shows.
    private func pull(_ records: Records) async throws {
        do throws(TresorError) {
            _ = try await records.pull()
        } catch {
            guard case .store = error else { throw error }
        }
    }

    private func change(
        _ changes: [RecordChange], _ expected: UInt64??, _ records: Records, _ title: String
    ) async throws {
        var all: [String: UInt64?] = [:]
        if let expected { for change in changes { all[change.name] = .some(expected) } }
        do throws(TresorError) {
            try await records.change(changes, ifShown: all)
        } catch {
            let names = changes.map(\.name)
            throw await refusal(error, of: names, expected, records, title) ?? CommandFailure(error)
        }
    }

    /// Names the record that a refused change is about; `nil` where it is about none.
    private func refusal(
        _ error: TresorError, of names: [String], _ expected: UInt64??, _ records: Records, _ title: String
    ) async -> CommandFailure? {
        guard error == .notFound || error == .busy, let list = try? await records.list().records else { return nil }
        let hints = ["tresor records -t \(Shell.word(tresor.tresor))"]
        for name in names {
            let shown = list.first { $0.name == (try? Name(text: name))?.text }
            if error == .notFound, shown == nil {
                return CommandFailure(
                    .notFound, "there is no record \(DisplayText.quoted(name)) in \(title)", hints: hints)
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

    /// Sends the change. If that fails, the message says that the change stays.
    private func send(_ records: Records, _ title: String) async throws -> SyncReport {
        let held: CommandFailure
        do throws(TresorError) {
            let report = try await records.sync()
            guard let error = report.held else { return report }
            held = CommandFailure(sending: report, error)
        } catch {
            held = CommandFailure(error)
        }
        // The next sync finds out what became of it.
        Surroundings.current.obstacle.note(mayBeDone: false)
        throw stays(held, title)
    }

    private func stays(_ failure: CommandFailure, _ title: String) -> CommandFailure {
        CommandFailure(
            failure.error, "the change stays in your home, not sent to \(title): \(failure.message)",
            hints: ["tresor sync"])
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

    /// An INPUT, whole or its beginning.
    private struct Content {
        let name: String
        let type: String
        let input: InputFile
        let start: [UInt8]

        /// Whether it becomes an attachment, of which the beginning was read.
        var isLarge: Bool { start.count > PutCommand.smallByteCount }
    }

    /// Up to here a content is a part of the commit.
    private static let smallByteCount = 65_536

    private func contents(_ workplace: CommandContext) throws -> [Content] {
        let contents = try (inputs.isEmpty ? [nil] : inputs.map { Optional($0) }).map { path in
            if let path, path != "-" { try workplace.invocation.refuseSealing(path) }
            let input = try InputFile(path, standardInput: workplace.invocation.standardInput)
            let start = try input.start(Self.smallByteCount + 1)
            try input.refuseNothing(start, allowed: allowEmpty)
            guard let name = name ?? input.lastComponent else {
                throw CommandFailure.usage("standard input has no name", hints: ["tresor … --as NAME"])
            }
            let isJSON = name.hasSuffix(".json")
            let content = Content(
                name: name, type: type ?? (isJSON ? "application/json" : "application/octet-stream"), input: input,
                start: start)
            if !content.isLarge, try input.hasGrown() { workplace.output.say(input.growth(after: start.count)) }
            return content
        }
        do throws(TresorError) {
            try Records.checkHeld(contents.filter(\.isLarge).map { UInt64($0.input.byteCount ?? 0) })
        } catch {
            throw CommandFailure(of: error, "the INPUTs are too large for one commit", hints: [])
        }
        return contents
    }

    /// Takes the large ones into the home.
    private func hold(
        _ contents: [Content], _ records: Records, _ workplace: CommandContext
    ) async throws -> [RecordChange] {
        var (changes, held): ([RecordChange], [HeldContent]) = ([], [])
        do {
            for content in contents {
                guard content.isLarge else {
                    changes.append(.put(content.name, content.start, type: content.type))
                    continue
                }
                let new = try await hold(content, besides: held, records, workplace)
                held.append(new)
                changes.append(.put(content.name, new, type: content.type))
            }
        } catch {
            await records.release(held)
            throw error
        }
        return changes
    }

    private func hold(
        _ content: Content, besides held: [HeldContent], _ records: Records, _ workplace: CommandContext
    ) async throws -> HeldContent {
        let progress = workplace.invocation.progress("encrypting")
        defer { progress.finish() }
        let (note, input) = (FailureNote(), content.input)
        var source = InputContent(input, startingWith: content.start, note, progress)
        let new: HeldContent
        do throws(TresorError) {
            new = try await records.hold(&source, besides: held)
        } catch {
            throw note.words(for: CommandError(error), or: CommandFailure(error, file: input.path))
        }
        if source.hasGrown { workplace.output.say(input.growth(after: source.count)) }
        return new
    }

    private func report(
        _ changes: [RecordChange], _ revision: UInt64?, _ id: TresorID, _ workplace: CommandContext
    ) throws {
        guard options.json else { return }
        var object: JSONObject = [
            "type": "put", "tresor": .string(id.description),
            "records": .array(changes.map { .string($0.name) }),
        ]
        if let revision { object["revision"] = .unsigned(revision) }
        try workplace.output.object(object)
    }
}
