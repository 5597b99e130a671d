// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

struct DeleteCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "delete", group: .tresors, abstract: "Delete a tresor for everybody.",
            usage: "tresor delete -t T [--yes NAME]",
            discussion: """
                The store loses the log, the wrapped keys and the records, and nothing brings them back. Members keep \
                what they opened or copied; sealed files no longer open. The tresor's creator may do this, or any owner \
                once the creator has left. If the store has nothing of T any more, only this home forgets it.
                """,
            classes: [.identity, .write], examples: ["tresor delete -t interventions"])
    }

    @OptionGroup var tresor: TresorOption

    @Option(help: ArgumentHelp("Do not ask; NAME is the tresor's name.", valueName: "NAME"))
    var yes: String?

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "delete \(DisplayText.name(tresor.tresor))")
        let summary = try await context.tresors.find(tresor.tresor, for: session, isReadable: false)
        let title = context.tresors.title(of: summary)
        let deletion = Deletion(session: session)
        let plan = try await plan(deletion, summary, title, context)
        // A damaged outbox is deleted too.
        let unsent = (try? await session.records(in: summary.tresor).unsent()) ?? []
        explain(plan, unsent, title, context)
        try confirm(try summary.name ?? Name(typed: title), title, context)
        try await Interrupts.atomically { try await deletion.perform(plan) }
        // Otherwise the other devices would be told of its log for ever. The tresor is gone whether or not this is noted.
        if plan.isThere { try? await OwnTresorSync.forget(summary.tresor, session) }
        context.output.say(plan.isThere ? "\(title) was deleted" : "this home no longer knows \(title)")
        guard options.json else { return }
        try context.output.object([
            "type": "change", "change": "delete", "tresor": .string(summary.tresor.description),
            "key": .unsigned(plan.state.epoch), "dry_run": .bool(false),
        ])
    }

    private func plan(
        _ deletion: Deletion, _ summary: TresorSummary, _ title: String, _ context: CommandContext
    ) async throws -> Deletion.Plan {
        do throws(TresorError) {
            return try await deletion.plan(summary.tresor)
        } catch {
            guard error == .noAccess, let state = summary.state else {
                throw context.tresors.logFailure(error, summary.tresor)
            }
            let owner = context.tresors.handle(of: context.tresors.owner(of: state), in: state)
            let word = Shell.word(tresor.tresor)
            throw CommandFailure(
                of: error, "only \(owner) can delete \(title)",
                hints: ["to leave it: tresor revoke -t \(word) --me", "ask \(owner) to run: tresor delete -t \(word)"])
        }
    }

    /// - Parameter unsent: the records with changes that the store does not have.
    private func explain(
        _ plan: Deletion.Plan, _ unsent: [String], _ title: String, _ context: CommandContext
    ) {
        if !unsent.isEmpty {
            let count = unsent.count == 1 ? "1 record" : "\(unsent.count) records"
            context.output.explain("changes of \(count) were never sent, and are lost")
        }
        guard plan.isThere else {
            context.output.explain("this store has nothing of \(title); only this home forgets it")
            return
        }
        let count = plan.state.members.count
        context.output.explain("\(title) will be gone for \(count == 1 ? "you" : "all \(count) people in it")")
        context.output.explain("files sealed for it no longer open; this cannot be undone")
    }

    /// Asks for the name, which a wrong T or a habit does not type.
    private func confirm(_ name: Name, _ title: String, _ context: CommandContext) throws {
        if let yes {
            guard (try? Name(typed: yes)) == name else {
                throw CommandFailure.usage("--yes takes the name of the tresor, which is \(title)")
            }
            return
        }
        let terminal = try context.invocation.person(
            or: .usage("this needs the name of the tresor", hints: ["tresor … --yes NAME"]))
        guard try terminal.name("type its name to delete it: ") == name else {
            throw CommandFailure(.failed(.other), "nothing was changed")
        }
    }
}
