// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

struct CompactCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "compact", group: .data,
            abstract: "Seal the records of a tresor again, and delete what they replaced.",
            usage: "tresor compact -t T [-n] [--yes]",
            discussion: """
                Sends what is unsent first. Keeps every version that no later one replaced, under the current key, and \
                asks the store to delete everything else: a new device then reads little, and earlier keys open nothing \
                of it. Nobody gets a replaced version back from the store. A new device takes your word for who wrote \
                what. Says how much is kept and how much the store deletes, and asks. A person added with --from-now \
                goes on reading what they could. If it is interrupted, run it again.
                """,
            classes: [.identity, .write], further: [.waiting], examples: ["tresor compact -t interventions --yes"])
    }

    @OptionGroup var tresor: TresorOption

    @OptionGroup var trial: DryRunOption
    @OptionGroup var consent: ConsentOption
    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "compact \(DisplayText.name(tresor.tresor))")
        let summary = try await context.tresors.find(tresor.tresor, for: session)
        if let state = summary.state {
            try await context.verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        }
        let title = context.tresors.title(of: summary)
        let records = session.records(in: summary.tresor)
        let plan: CompactionPlan
        let unsent: [String]
        do throws(TresorError) {
            plan = try await records.compactionPlan()
            unsent = try await records.unsent()
        } catch {
            guard error == .noAccess, let state = summary.state, state.members[session.user] != nil else { throw error }
            let owner = context.tresors.handle(of: context.tresors.owner(of: state), in: state)
            throw CommandFailure(
                of: error, "only an owner can compact \(title)",
                hints: ["ask \(owner) to run: tresor compact -t \(Shell.word(tresor.tresor))"])
        }
        if trial.dryRun { return try report(plan.report, title, summary.state, context) }
        if !plan.isEmpty || !unsent.isEmpty {
            try confirm(plan.report, unsent, title, context)
        }
        let done: CompactReport
        do throws(TresorError) {
            done = try await records.compact(by: plan)
        } catch {
            guard error == .store(.full) else { throw error }
            throw await context.noRoom(in: summary, session, isCompaction: true)
        }
        await context.tresors.tell(session)
        try report(done, title, try session.client.archive.verifiedState(of: summary.tresor), context)
        try await sendRest(of: records, summary, session, context)
    }

    /// Sends what there was no room for before. The compaction is done, and said to be. So a store that takes nothing now
    /// is no failure; a log that is forked, for example, is one.
    private func sendRest(
        of records: Records, _ summary: TresorSummary, _ session: Session, _ context: CommandContext
    ) async throws {
        var unsent = try await records.unsent()
        guard !unsent.isEmpty else { return }
        let held: TresorError
        do throws(TresorError) {
            let report = try await records.sync()
            guard let error = report.held else { return }
            (unsent, held) = (report.unsent, error)
        } catch {
            held = error
        }
        // The next sync finds out what became of it.
        Surroundings.current.obstacle.note(mayBeDone: false)
        let failure = await context.failure(held, of: summary, session)
        switch held {
        case .store, .busy, .noAccess: break
        default: throw failure
        }
        context.output.say("\(count(unsent.count, "record")) not sent: \(failure.message)")
        let hints = failure.hints.isEmpty ? ["tresor sync -t \(Shell.word(tresor.tresor))"] : failure.hints
        for hint in hints { context.output.hint(hint) }
    }

    /// Shows a person what goes, and asks.
    ///
    /// - Parameter unsent: the records that are sent before, and are not in the report.
    private func confirm(
        _ report: CompactReport, _ unsent: [String], _ title: String, _ context: CommandContext
    ) throws {
        if !consent.yes {
            if !unsent.isEmpty {
                context.output.say("sends \(count(unsent.count, "record")) first, not counted here")
            }
            if report.volumeCount > 0 {
                context.output.say("keeps \(kept(report, title)): \(count(report.recordCount, "record"))")
            }
        }
        let loss = report.deletedCount > 0 ? "the store deletes \(lost(report)); " : ""
        try context.confirm(
            "\(loss)nobody gets back from the store what later versions replaced in \(title).", yes: consent.yes)
    }

    private func kept(_ report: CompactReport, _ title: String) -> String {
        "\(count(report.keptCount, "version")) of \(title) in \(count(report.volumeCount, "volume"))"
    }

    private func lost(_ report: CompactReport) -> String {
        "\(count(report.deletedCount, "object")) with \(report.deletedByteCount) bytes"
    }

    /// Says what was done, or would be.
    private func report(
        _ report: CompactReport, _ title: String, _ state: LogState?, _ context: CommandContext
    ) throws {
        let kept = self.kept(report, title)
        if let checkpoint = report.checkpoint {
            context.output.say("kept \(kept), at entry \(checkpoint)")
        } else if report.volumeCount > 0 {
            context.output.say("would keep \(kept)")
        } else if report.deletedCount == 0 {
            context.output.say("nothing to gain in \(title)")
        } else {
            context.output.say("an earlier compact of \(title) was not finished")
        }
        if report.deletedCount > 0 {
            let deed = trial.dryRun ? "would be" : "was"
            context.output.say("the store \(deed) asked to delete \(lost(report))")
        }
        if !report.waitingFor.isEmpty {
            let names = report.waitingFor.map { user in
                state.map { context.tresors.handle(of: user, in: $0) } ?? ShortID.text(of: user)
            }
            let people = names.joined(separator: ", ")
            context.output.say(
                "what came after entry \(report.upto) stays as it is for \(people), added with --from-now; "
                    + "to end that, revoke \(people); sharing again without it would also show what came before")
        }
        guard options.json else { return }
        var object: JSONObject = [
            "type": "compacted", "tresor": .string(report.tresor.description), "upto": .unsigned(report.upto),
            "records": .unsigned(UInt64(report.recordCount)), "kept": .unsigned(UInt64(report.keptCount)),
            "volumes": .unsigned(UInt64(report.volumeCount)),
            "deleted": .unsigned(UInt64(report.deletedCount)), "deleted_bytes": .unsigned(report.deletedByteCount),
            "held_by": .array(report.waitingFor.map { .string($0.description) }), "dry_run": .bool(trial.dryRun),
        ]
        if let checkpoint = report.checkpoint { object["checkpoint"] = .unsigned(checkpoint) }
        try context.output.object(object)
    }

    private func count(_ number: Int, _ noun: String) -> String { number == 1 ? "1 \(noun)" : "\(number) \(noun)s" }
}
