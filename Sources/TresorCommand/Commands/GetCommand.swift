// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

struct GetCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "get", group: .data, abstract: "Write the newest content of a record.",
            usage: "tresor get -t T NAME [--accept-incomplete] [-o FILE]",
            discussion: """
                Fetches what others changed first, and sends nothing. The content goes to standard output, or to FILE, \
                which is replaced. While something that the log names is missing in the store, nothing is shown as \
                newest.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy, .waiting],
            examples: ["tresor get -t interventions plan.json"])
    }

    @OptionGroup var tresor: TresorOption

    @Flag(help: "Write what there is, although something is missing.")
    var acceptIncomplete = false

    @Option(
        name: .short, help: ArgumentHelp("Write to FILE.", valueName: "FILE"),
        completion: .file())
    var output: String?

    @Argument(help: ArgumentHelp("The record.", valueName: "NAME"))
    var name: String

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard !options.json || output != nil else {
            throw CommandFailure.usage("--json needs -o FILE: the content goes to standard output")
        }
        let workplace = try await CommandContext.open(options)
        let session = try await workplace.unlock(to: "read \(DisplayText.name(tresor.tresor))")
        let summary = try await workplace.tresors.find(tresor.tresor, for: session)
        if let state = summary.state {
            try await workplace.verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        }
        let records = session.records(in: summary.tresor)
        let pulled = try await records.pull()
        let record = try await read(records, workplace.tresors.title(of: summary))
        guard let content = record.content else {
            throw CommandFailure(.unsupported, "its content is an attachment, which this release does not fetch")
        }
        if let output, output != "-" {
            let file = OutputFile(path: output, access: .owner)
            try file.check()
            try file.write(content.span)
            try file.commit()
        } else {
            try workplace.output.refuseForTerminal(
                content.span, isForced: output == "-", hints: ["tresor … -o FILE"])
            try workplace.output.data(content.span)
        }
        let state = try session.client.archive.verifiedState(of: summary.tresor) ?? summary.state
        let reporter = await FileReporter(of: summary.tresor, in: state, as: session, workplace.tresors)
        try report(record, pulled, summary, reporter, workplace)
    }

    private func read(_ records: Records, _ title: String) async throws -> Record {
        do throws(TresorError) {
            return try await records.get(name, acceptingIncomplete: acceptIncomplete)
        } catch {
            if error == .notFound {
                throw CommandFailure(
                    .notFound, "there is no record \(DisplayText.quoted(name)) in \(title)",
                    hints: ["tresor records -t \(Shell.word(tresor.tresor))"])
            }
            guard error == .store(.withheld) else { throw error }
            throw CommandFailure(
                of: error, "the store does not have everything that the log of \(title) names",
                hints: ["tresor … --accept-incomplete"])
        }
    }

    private func report(
        _ record: Record, _ pulled: SyncReport, _ summary: TresorSummary, _ reporter: FileReporter,
        _ workplace: CommandContext
    ) throws {
        let author = try reporter.words(of: record.author, record.status)
        let date = Timestamp(seconds: record.time).dateAndMinute
        let proof = pulled.isComplete ? "newest at head \(pulled.head)" : "not proved to be the newest"
        let revision = record.revision.map { "revision \($0), \(proof)" } ?? "not sent yet"
        let title = workplace.tresors.title(of: summary)
        workplace.output.say("from \(author), \(date), \(title), \(revision)")
        if !pulled.isComplete {
            workplace.output.say("the store does not have everything that the log names: there may be a newer version")
        }
        if record.versionCount > 1 {
            let handle = reporter.state.map { workplace.tresors.handle(of: record.author, in: $0) } ?? "somebody"
            workplace.output.say("\(record.versionCount) versions, shown is \(handle)'s")
        }
        guard options.json, let output else { return }
        var object: JSONObject = [
            "type": "record", "tresor": .string(summary.tresor.description), "name": .string(record.name),
            "date": .time(record.time), "author": .string(record.author.description),
            "size": .unsigned(UInt64(record.content?.count ?? 0)), "content_type": .string(record.type),
            "state": .string(
                record.revision == nil ? "unsent" : record.versionCount > 1 ? "versions" : "ok"),
            "versions": .unsigned(UInt64(record.versionCount)), "file": .string(output),
        ]
        object.add(record.status)
        object.addProof(of: pulled)
        if let revision = record.revision { object["revision"] = .unsigned(revision) }
        try workplace.output.object(object)
    }
}

extension JSONObject {
    /// Adds the head at which a record is the newest, or that this is not proved.
    mutating func addProof(of pulled: SyncReport) {
        if pulled.isComplete { self["newest_at"] = .unsigned(pulled.head) } else { self["incomplete"] = true }
    }
}
