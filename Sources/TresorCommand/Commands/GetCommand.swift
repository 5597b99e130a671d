// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

struct GetCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "get", group: .data, abstract: "Write the newest content of records.",
            usage: """
                tresor get -t T NAME [--rev REV] [--accept-incomplete] [-o FILE | -C DIR]
                tresor get -t T NAME… [--all] [--accept-incomplete] -C DIR [--force]
                """,
            discussion: """
                Fetches what others changed first, and sends nothing. The content goes to standard output, to FILE, or \
                to a file of its name in DIR, with _ in the place of /. FILE is replaced; a file in DIR only with --force, because \
                it may have been edited. --all writes \
                every version that no later one replaced, as NAME.rREV, and --rev one of them. While something that the \
                log names is missing in the store, nothing is shown as newest. Where the store cannot be reached, it \
                writes what this home saw last, says so, and succeeds. A content above 64 KiB is fetched each time, and \
                your home keeps none of it.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy, .waiting],
            examples: [
                "tresor get -t interventions plan.json", "tresor get -t interventions plan.json --all -C versions",
            ])
    }

    @OptionGroup var tresor: TresorOption

    @Option(help: ArgumentHelp("Write the version of this revision.", valueName: "REV"))
    var rev: UInt64?

    @Flag(help: "Write every version that no later one replaced.")
    var all = false

    @Flag(help: "Write what there is, although something is missing.")
    var acceptIncomplete = false

    @Option(
        name: .short, help: ArgumentHelp("Write to FILE.", valueName: "FILE"),
        completion: .file())
    var output: String?

    @Option(
        name: .customShort("C"), help: ArgumentHelp("Write files into DIR.", valueName: "DIR"),
        completion: .directory)
    var directory: String?

    @Flag(help: "Replace existing files in DIR.")
    var force = false

    @Argument(help: ArgumentHelp("The records.", valueName: "NAME"))
    var names: [String]

    @OptionGroup var options: GlobalOptions

    /// The parts that several records share while they are written.
    private struct Reading {
        let fetched: FetchedRecords
        let reporter: FileReporter

        var records: Records { fetched.records }
        var context: CommandContext { fetched.context }
        var title: String { fetched.title }
    }

    func perform() async throws {
        try check()
        let fetched = try await FetchedRecords.read(
            tresor.tresor, to: "read \(DisplayText.name(tresor.tresor))", options)
        fetched.tellAbsence()
        let context = fetched.context
        let reporter = await FileReporter(
            of: fetched.summary.tresor, in: fetched.state, as: fetched.session, context.tresors)
        let reading = Reading(fetched: fetched, reporter: reporter)
        guard names.count > 1 || all else { return try await write(names[0], reading) }
        var outcomes = Outcomes()
        for name in names {
            do {
                guard !all else {
                    try await writeAll(name, reading, &outcomes)
                    continue
                }
                try await write(name, reading)
                outcomes.succeeded()
            } catch {
                let failure = CommandFailure(error)
                guard failure.error != .interrupted else { throw failure }
                outcomes.failed(failure, report: context.output.report)
            }
        }
        try outcomes.finish()
    }

    /// Writes every version of a record that can be read, and names the others.
    private func writeAll(_ name: String, _ reading: Reading, _ outcomes: inout Outcomes) async throws {
        for version in try await versions(of: name, reading) {
            do {
                try await write(try await version.record(), reading)
                outcomes.succeeded()
            } catch {
                let failure = CommandFailure(error)
                guard failure.error != .interrupted else { throw failure }
                let which = version.revision.map { "revision \($0)" } ?? "the unsent change"
                outcomes.failed(
                    CommandFailure(
                        failure.error, "\(which) of \(DisplayText.quoted(name)): \(failure.message)",
                        hints: failure.hints, file: failure.file),
                    report: reading.context.output.report)
            }
        }
    }

    private func check() throws {
        guard rev == nil || names.count == 1 else { throw CommandFailure.usage("--rev takes one NAME") }
        guard !force || directory != nil else { throw CommandFailure.usage("--force goes with -C") }
        guard rev == nil || !all else { throw CommandFailure.usage("--rev and --all cannot both be given") }
        guard output == nil || directory == nil else { throw CommandFailure.usage("-o and -C cannot both be given") }
        guard output != "", directory != "" else { throw CommandFailure.usage("a file name cannot be empty") }
        guard directory != nil || !all && names.count == 1 else {
            throw CommandFailure.usage("several contents need a directory", hints: ["tresor … {-o} -C DIR"])
        }
        guard directory != nil || !options.json || output != nil else {
            throw CommandFailure.usage("--json needs -o FILE: the content goes to standard output")
        }
        if let directory { try OutputPlan.requireDirectory(directory) }
        guard Set(names.map(Self.fileName)).count == names.count else {
            throw CommandFailure.usage("two records would be written to one file")
        }
    }

    /// The name of a record as that of a file.
    private static func fileName(_ name: String) -> String {
        let plain = String(decoding: name.utf8.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
        return plain == "." || plain == ".." ? plain.replacing(".", with: "_") : plain
    }

    private static let toFile = ["tresor … -o FILE"]

    private func write(_ name: String, _ reading: Reading) async throws {
        try await write(try await find(name, reading), reading)
    }

    private func write(_ record: Record, _ reading: Reading) async throws {
        let path = directory.map { directory in
            let suffix = all ? record.revision.map { ".r\($0)" } ?? ".unsent" : ""
            return Paths.join(directory, Self.fileName(record.name) + suffix)
        }
        let byteCount: Int
        if let path = path ?? output, path != "-" {
            try reading.context.invocation.refuseReplacing(path)
            let file = OutputFile(path: path, access: .owner, replaces: force || directory == nil)
            try file.checkFirst()
            byteCount = try await write(record, to: file, reading)
            try file.commit()
        } else {
            let content = try await content(of: record, reading)
            try reading.context.output.refuseForTerminal(
                content.span, isForced: output == "-", hints: Self.toFile)
            try reading.context.output.data(content.span)
            byteCount = content.count
        }
        try report(record, byteCount, reading, file: path ?? output)
        if record.versionCount > 1, !all, rev == nil { try await tellVersions(of: record.name, reading) }
    }

    /// Writes a content into a file that has no name until everything is checked.
    private func write(_ record: Record, to file: OutputFile, _ reading: Reading) async throws -> Int {
        if let content = record.content {
            try file.write(content.span)
            return content.count
        }
        let progress = reading.context.invocation.progress("decrypting")
        defer { progress.finish() }
        let note = FailureNote()
        var sink = OutputSink(file, note, progress, total: record.mostByteCount)
        do throws(TresorError) {
            return try await reading.records.attachments.read(record, to: &sink)
        } catch {
            throw note.words(for: CommandError(error), or: failure(error, of: record, reading))
        }
    }

    /// The content, held in memory.
    private func content(of record: Record, _ reading: Reading) async throws -> [UInt8] {
        if let content = record.content { return content }
        guard record.mostByteCount <= SealedFileReader.standardOutputLimit else {
            throw CommandFailure.usage("the content is too large for standard output", hints: Self.toFile)
        }
        var sink = MemorySink()
        do throws(TresorError) {
            try await reading.records.attachments.read(record, to: &sink)
        } catch {
            throw failure(error, of: record, reading)
        }
        return sink.bytes
    }

    /// The failure to fetch a content that the log names.
    private func failure(_ error: TresorError, of record: Record, _ reading: Reading) -> CommandFailure {
        let name = DisplayText.quoted(record.name)
        return switch error {
        case .store(.withheld) where reading.fetched.absence != nil:
            CommandFailure(
                .store(.unreachable), "the content of \(name) lies in the store alone, which cannot be reached")
        case .store(.withheld):
            CommandFailure(
                of: error,
                "the store does not have the content of \(name): "
                    + (reading.context.service == nil
                        ? "an export that was made without --without-attachments brings it, and anyone who has it can put it again"
                        : "anyone who has it can put it again"))
        case .altered where record.revision == nil, .failed(.inputOutput) where record.revision == nil:
            CommandFailure(damaged: record.name, error)
        case .altered: CommandFailure(of: error, "the content of \(name) is not what the log calls for")
        default: CommandFailure(error)
        }
    }

    /// The version of a record to be written: the one that is shown, or that of --rev.
    private func find(_ name: String, _ reading: Reading) async throws -> Record {
        guard let rev else {
            do throws(TresorError) {
                return try await reading.records.find(name, acceptingIncomplete: acceptIncomplete)
            } catch {
                throw await refusal(error, of: name, reading) ?? CommandFailure(error)
            }
        }
        let versions = try await versions(of: name, reading)
        guard let wanted = versions.first(where: { $0.revision == rev }) else {
            throw CommandFailure(
                .notFound, "there is no version \(rev) of \(DisplayText.quoted(name)) that no later one replaced",
                hints: ["tresor records -t \(Shell.word(tresor.tresor)) --versions -- \(Shell.word(name))"])
        }
        return try await wanted.record()
    }

    /// The versions of a record that no later one replaced, each to be read by itself.
    private func versions(of name: String, _ reading: Reading) async throws -> [VersionReading] {
        do throws(TresorError) {
            _ = try await reading.records.find(name, acceptingIncomplete: acceptIncomplete)
        } catch {
            // The others may be read where the one that is shown cannot. Beside a deletion that is not sent yet, there may
            // be what it does not replace.
            if case .store(.withheld) = error, let failure = await refusal(error, of: name, reading) { throw failure }
        }
        let versions: [VersionReading]
        do throws(TresorError) {
            versions = try await reading.records.readings(of: name)
        } catch {
            throw await refusal(error, of: name, reading) ?? CommandFailure(error)
        }
        guard !versions.isEmpty else {
            throw await refusal(.notFound, of: name, reading) ?? CommandFailure(.notFound)
        }
        return versions
    }

    /// The failure to find a record; `nil` for an error that needs no other words.
    private func refusal(_ error: TresorError, of name: String, _ reading: Reading) async -> CommandFailure? {
        switch error {
        case .notFound:
            CommandFailure(
                .notFound, "there is no record \(DisplayText.quoted(name)) in \(reading.title)",
                hints: await near(name, reading) + ["tresor records -t \(Shell.word(tresor.tresor))"])
        case .store(.withheld) where !acceptIncomplete:
            CommandFailure(
                of: error,
                "\(reading.fetched.holder) does not have everything that the log of \(reading.title) names",
                hints: ["tresor … --accept-incomplete"])
        default: nil
        }
    }

    /// The suggestions for a mistyped name.
    private func near(_ name: String, _ reading: Reading) async -> [String] {
        let names = ((try? await reading.records.list())?.records ?? []).map(\.name)
        return Suggestion.near(name, among: names).map { "did you mean: \(HintCompletion.replacing(name, with: $0))" }
    }

    private func report(_ record: Record, _ byteCount: Int, _ reading: Reading, file: String?) throws {
        let (fetched, reporter, context) = (reading.fetched, reading.reporter, reading.context)
        let author = try reporter.words(of: record.author, record.status)
        let date = Timestamp(seconds: record.time).dateAndMinute
        let revision = record.revision.map { "revision \($0), \(fetched.proof)" } ?? "not sent yet"
        context.output.say("from \(author), \(date), \(reading.title), \(revision)")
        if let owner = record.vouchedBy, let state = reporter.state {
            let name = context.tresors.handle(of: owner, in: state)
            context.output.say("\(name) has sealed it again (tresor compact), and alone vouches for who wrote it")
        }
        if !fetched.report.isComplete {
            context.output.say(
                "\(fetched.holder) does not have everything that the log names: there may be a newer version")
        }
        guard options.json, let file else { return }
        var object: JSONObject = [
            "type": "record", "tresor": .string(fetched.summary.tresor.description), "name": .string(record.name),
            "date": .time(record.time), "author": .string(record.author.description),
            "size": .unsigned(UInt64(byteCount)), "content_type": .string(record.type),
            "state": .string(
                record.revision == nil ? "unsent" : record.versionCount > 1 ? "versions" : "ok"),
            "versions": .unsigned(UInt64(record.versionCount)), "file": .string(file),
        ]
        object.add(record.status)
        object.addProof(of: fetched)
        if let revision = record.revision { object["revision"] = .unsigned(revision) }
        if let owner = record.vouchedBy { object["vouched_by"] = .string(owner.description) }
        try context.output.object(object)
    }

    /// Names the versions of a record of which one is shown.
    private func tellVersions(of name: String, _ reading: Reading) async throws {
        let fetched = reading.fetched
        let versions = try await HomeRecords(of: reading.records).versions(of: [name]).first ?? []
        guard versions.count > 1 else { return }
        let words = VersionWords(tresors: fetched.context.tresors, state: fetched.state, user: fetched.session.user)
        fetched.context.output.say(words.words(versions))
        let (word, name) = (Shell.word(tresor.tresor), Shell.word(name))
        fetched.context.output.hint("tresor get -t \(word) --all -C DIR -- \(name)")
    }
}
