// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

struct SyncCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "sync", group: .data, abstract: "Send changes of records, and fetch those of others.",
            usage: "tresor sync [-t T]… [--watch] [--drop [--yes]]",
            discussion: """
                Prints for each tresor how many commits came and how many changes were sent. STATE is ok, incomplete \
                (the store lacks something), void (somebody wrote what nobody can read), unsent, or left. A removed \
                person's copies are deleted; --drop throws away what they had not sent. --watch goes on until it is \
                interrupted, with a line for each tresor in which something changed.
                """,
            classes: [.identity, .write], further: [.noAccess, .waiting], examples: ["tresor sync"])
    }

    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp("A tresor; all of yours if left out.", valueName: "T"))
    var tresors: [String] = []

    @Flag(help: "Go on, and sync again whenever something changed.")
    var watch = false

    @Flag(help: "Throw away unsent changes of tresors that you have left.")
    var drop = false

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var options: GlobalOptions

    /// One line of the table.
    private struct Row: Equatable {
        let title: String
        var received = 0
        var sent = 0
        let state: String
        /// Whether it stands in the table; what failed is said instead.
        var isShown = true

        var cells: [String] { [title, String(received), String(sent), state] }
    }

    func perform() async throws {
        let workplace = try await CommandContext.open(options)
        let session = try await workplace.unlock(to: "sync records")
        guard !watch else { return try await goOn(session, workplace) }
        var table = Table("TRESOR", "IN", "OUT", "STATE")
        var errors: [CommandError] = []
        for summary in try await summaries(session, workplace) {
            let row = try await sync(summary, session, workplace, &errors)
            if row.isShown { table.add(row.cells) }
        }
        if !options.json { try workplace.output.table(table) }
        await workplace.tresors.tell(session)
        if let worst = Severity.worst(errors) { throw Exit(code: worst.exitCode) }
    }

    private func summaries(_ session: Session, _ workplace: CommandContext) async throws -> [TresorSummary] {
        var summaries: [TresorSummary] = []
        for text in tresors { summaries.append(try await workplace.tresors.find(text, for: session)) }
        guard tresors.isEmpty else { return summaries }
        return try await session.tresors.all(readingStrangers: false).filter {
            !$0.isApart && !$0.isElsewhere && $0.state?.waiting[session.user] == nil
        }
    }

    /// Syncs again whenever the store has news, until the task is cancelled. A store that fails is asked again.
    private func goOn(_ session: Session, _ workplace: CommandContext) async throws {
        var news = NewsWatch(client: session.client, interval: Surroundings.current.watchInterval)
        var states: [TresorID: String] = [:]
        var failure: String?
        while let part = await news.next() {
            do {
                var errors: [CommandError] = []
                for summary in try await summaries(session, workplace)
                where part.isWhole || part.tresors.contains(summary.tresor) {
                    let row = try await sync(summary, session, workplace, &errors, knowing: states)
                    let isNew = states.updateValue(row.state, forKey: summary.tresor) != row.state
                    guard row.isShown, !options.json, isNew || row.received + row.sent > 0 else { continue }
                    try workplace.output.line(row.cells.joined(separator: "  "))
                }
                failure = nil
            } catch let error as TresorError where error != .cancelled {
                let words = CommandFailure(error).message
                if words != failure { workplace.output.say(words) }
                failure = words
            }
            await workplace.tresors.tell(session)
        }
        try Cancellation.check()
    }

    /// Syncs one tresor. What fails is said.
    ///
    /// - Parameter known: the states that were told; without news nothing is told again.
    private func sync(
        _ summary: TresorSummary, _ session: Session, _ workplace: CommandContext, _ errors: inout [CommandError],
        knowing known: [TresorID: String] = [:]
    ) async throws -> Row {
        let title = workplace.tresors.title(of: summary)
        do {
            let records = session.records(in: summary.tresor)
            var report = try await records.sync()
            if drop, report.isGone, !report.unsent.isEmpty {
                let count = report.unsent.count == 1 ? "1 unsent change" : "\(report.unsent.count) unsent changes"
                try workplace.confirm("throw away \(count) of \(title)?", yes: yes)
                _ = try await records.dropUnsent()
                report = try await records.sync()
            }
            if let error = Self.error(of: report) { errors.append(CommandError(error)) }
            let state = Self.state(of: report)
            let isNew = report.receivedCount + report.sentCount > 0 || known[summary.tresor] != state
            if isNew, let held = report.held {
                workplace.output.say(
                    "\(title): nothing was sent, and the changes stay in your home: \(CommandFailure(held).message)")
            }
            if isNew, options.json { try workplace.output.object(Self.object(report)) }
            return Row(title: title, received: report.receivedCount, sent: report.sentCount, state: state)
        } catch let error as TresorError {
            if error == .cancelled { throw error }
            errors.append(CommandError(error))
            let words = CommandFailure(error).message
            if known[summary.tresor] != words { workplace.output.say("\(title): \(words)") }
            return Row(title: title, state: words, isShown: false)
        }
    }

    private static func state(of report: SyncReport) -> String {
        if report.isGone { return report.unsent.isEmpty ? "left" : "left, \(report.unsent.count) unsent" }
        if !report.missing.isEmpty { return "incomplete" }
        if !report.unsent.isEmpty { return "unsent" }
        return report.void.isEmpty ? "ok" : "void"
    }

    /// The error that a report stands for; `nil` for one in order.
    private static func error(of report: SyncReport) -> TresorError? {
        if let held = report.held { return held }
        if let missing = report.missing.min(by: { $0.key < $1.key }) {
            if case .store = missing.value { return missing.value }
            return .store(.withheld)
        }
        if !report.void.isEmpty { return .altered }
        return report.isGone && !report.unsent.isEmpty ? .noAccess : nil
    }

    private static func object(_ report: SyncReport) -> JSONObject {
        [
            "type": "synced", "tresor": .string(report.tresor.description),
            "in": .unsigned(UInt64(report.receivedCount)), "out": .unsigned(UInt64(report.sentCount)),
            "unsent": .array(report.unsent.map { .string($0) }),
            "void": .array(report.void.map { .unsigned($0) }),
            "missing": .array(report.missing.keys.sorted().map { .unsigned($0) }), "head": .unsigned(report.head),
            "state": .string(state(of: report).split(separator: ",").first.map { String($0) } ?? ""),
        ]
    }
}
