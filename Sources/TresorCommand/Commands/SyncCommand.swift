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
            usage: "tresor sync [-t T]… [--drop]",
            discussion: """
                Prints for each tresor how many commits came and how many changes were sent. STATE is ok, incomplete \
                (the store lacks something), void (somebody wrote what nobody can read), unsent, or left. A removed \
                person's copies are deleted; --drop throws away what they had not sent.
                """,
            classes: [.identity, .write], further: [.noAccess, .waiting], examples: ["tresor sync"])
    }

    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp("A tresor; all of yours if left out.", valueName: "T"))
    var tresors: [String] = []

    @Flag(help: "Throw away unsent changes of tresors that you have left.")
    var drop = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let workplace = try await CommandContext.open(options)
        let session = try await workplace.unlock(to: "sync records")
        var summaries: [TresorSummary] = []
        if tresors.isEmpty {
            summaries = try await session.tresors.all(readingStrangers: false).filter {
                !$0.isApart && !$0.isElsewhere && $0.state?.waiting[session.user] == nil
            }
        } else {
            for text in tresors { summaries.append(try await workplace.tresors.find(text, for: session)) }
        }
        var table = Table("TRESOR", "IN", "OUT", "STATE")
        var errors: [CommandError] = []
        for summary in summaries {
            let title = workplace.tresors.title(of: summary)
            do throws(TresorError) {
                let records = session.records(in: summary.tresor)
                var report = try await records.sync()
                if drop, report.isGone { _ = try await records.dropUnsent() }
                if drop, report.isGone { report = try await records.sync() }
                if let error = Self.error(of: report) { errors.append(CommandError(error)) }
                table.add(title, String(report.receivedCount), String(report.sentCount), Self.state(of: report))
                if let held = report.held {
                    workplace.output.say(
                        "\(title): nothing was sent, and the changes stay in your home: \(CommandFailure(held).message)"
                    )
                }
                if options.json { try show(Self.object(report), workplace) }
            } catch {
                errors.append(CommandError(error))
                workplace.output.say("\(title): \(CommandFailure(error).message)")
            }
        }
        if !options.json { try workplace.output.table(table) }
        await workplace.tresors.tell(session)
        if let worst = Severity.worst(errors) { throw Exit(code: worst.exitCode) }
    }

    private func show(_ object: JSONObject, _ workplace: CommandContext) throws(TresorError) {
        do throws(CommandFailure) { try workplace.output.object(object) } catch { throw .failed(.inputOutput) }
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
