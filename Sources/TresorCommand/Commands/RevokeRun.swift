// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Runs `revoke` once the identity is open: judges every tresor, asks once, then changes one after the other.
struct RevokeRun {
    let command: RevokeCommand
    let session: Session
    let context: CommandContext

    /// The change in one tresor, as planned before the question.
    private struct Step {
        let summary: TresorSummary
        let title: String
        /// The updates of this home that come with the change.
        let due: Due
        let act: Act
        let effect: Effect
        /// Whether this person has left already.
        var hasLeft = false

        var state: LogState { due.state }
    }

    func perform() async throws {
        let summaries = try await command.tresor.summaries(in: context, for: session)
        var tresors = SeveralTresors(count: summaries.count)
        var steps: [Step] = []
        for (text, summary) in zip(command.tresor.tresors, summaries) {
            steps.append(
                try await tresors.judge(context.tresors.title(of: summary)) { try await step(summary, text) })
        }
        let open = steps.filter { !$0.effect.isNothing }
        for step in steps {
            sayAlready(step)
            if !step.effect.isNothing, command.dryRun || !command.consent.yes || !command.options.quiet {
                explain(step, isOne: open.count == 1)
            }
        }
        if !open.isEmpty, !command.dryRun { try context.confirm(question(open), yes: command.consent.yes) }
        for step in steps {
            let (effect, state) = try await tresors.change(step.title) { try await change(step) }
            say(effect, step, state)
            try report(effect, state)
        }
    }

    private func step(_ summary: TresorSummary, _ text: String) async throws -> Step {
        let title = context.tresors.title(of: summary)
        let due = try await context.tresors.due(in: summary, session, dryRun: command.dryRun || command.me)
        let state = due.state
        if !command.me { try await context.verifier.verifyFounder(of: state, for: session, accept: false, hint: "") }
        if command.me, state.departure(of: session.identity.user) != nil {
            return Step(
                summary: summary, title: title, due: due, act: .leave, effect: Effect(), hasLeft: true)
        }
        var users: [UserID] = []
        for name in command.people where !command.me {
            try refuseApprover(name, in: state, title, text)
            users.append(try context.tresors.member(name, of: state, isToLose: true))
        }
        let act = command.me ? Act.leave : .revoke(Set(users).sorted())
        let effect = try await effect(of: act, in: state, title, text)
        return Step(summary: summary, title: title, due: due, act: act, effect: effect)
    }

    /// Refuses to take out somebody who approves: an owner names others.
    private func refuseApprover(_ name: String, in state: LogState, _ title: String, _ text: String) throws {
        guard !state.everybody.contains(where: { state.isIn($0) && TresorResolver.means(name, $0, in: state) }),
            let approver = state.approvers.first(where: { TresorResolver.means(name, $0, in: state) })
        else { return }
        let others = state.approvers.filter { $0 != approver }.compactMap { user in
            state.chain(of: user).map { Shell.word($0.handle, or: user) }
        }
        let rest = others.isEmpty ? "PERSON" : others.joined(separator: " ")
        throw CommandFailure(
            .notFound,
            "\(context.tresors.handle(of: approver, in: state)) approves shares of \(title), and is no member of it",
            hints: ["tresor rotate -t \(Shell.word(text)) --approver \(rest)"]
                + (others.isEmpty ? ["tresor rotate -t \(Shell.word(text)) --no-approver"] : []))
    }

    private func effect(of act: Act, in state: LogState, _ title: String, _ text: String) async throws -> Effect {
        do throws(TresorError) {
            return try session.tresors.effectBlocking(of: act, in: state)
        } catch {
            switch error {
            case .noAccess:
                let owner = context.tresors.handle(of: context.tresors.owner(of: state), in: state)
                throw CommandFailure(of: error, "only an owner can remove people from \(title) (owned by \(owner))")
            case .usage(.lastOwner) where command.me:
                throw CommandFailure(
                    of: error, "the last owner cannot leave \(title): make somebody else an owner first, or delete it",
                    hints: [
                        "tresor share -t \(Shell.word(text)) PERSON --role owner",
                        "tresor delete -t \(Shell.word(text))",
                    ])
            case .usage(.yourself):
                throw CommandFailure(
                    of: error, "to leave \(title) yourself, use --me",
                    hints: ["tresor revoke -t \(Shell.word(text)) --me"])
            case .usage(.founder):
                throw CommandFailure(
                    of: error, "the creator of \(title) cannot be removed; to leave it yourself, use --me")
            default: throw CommandFailure(error)
            }
        }
    }

    private func change(_ step: Step) async throws -> (effect: Effect, state: LogState) {
        guard !step.effect.isNothing, !command.dryRun else { return (step.effect, step.state) }
        return try await Interrupts.atomically {
            let effect = try await session.tresors.settle(step.due, before: step.act, shown: step.effect)
            await context.tresors.tell(session)
            return try await session.tresors.perform(step.act, on: step.summary.tresor, expecting: effect)
        }
    }

    private func sayAlready(_ step: Step) {
        if step.hasLeft { context.output.say("you have left \(step.title) already") }
        for user in step.effect.already {
            let date = step.state.departure(of: user).map { " (since \(Timestamp(seconds: $0.time).date))" } ?? ""
            context.output.say("\(context.tresors.handle(of: user, in: step.state)) is no longer a member\(date)")
        }
    }

    /// - Parameter isOne: whether there is one tresor to change, which then needs no name.
    private func explain(_ step: Step, isOne: Bool) {
        let (output, title) = (context.output, step.title)
        let would = command.dryRun ? "would" : "will"
        guard !command.me else {
            output.explain(
                "you \(would) no longer be able to read \(title); you keep what you opened or copied")
            if step.state.members[session.user]?.role != .owner, session.client.archive.isCopied(step.summary.tresor) {
                let owner = context.tresors.handle(of: context.tresors.owner(of: step.state), in: step.state)
                output.explain(
                    "\(title) came to this store by an export: send \(owner) one afterwards, before anybody writes, or ask "
                        + "\(owner) to remove you instead")
            }
            return
        }
        if !command.consent.yes { context.tresors.explain(step.due, title) }
        let prefix = isOne ? "" : "\(title): "
        for user in step.effect.dismissed {
            let name = context.tresors.handle(of: user, in: step.state)
            output.explain("\(prefix)\(name) \(would) not be able to read anything written from now on")
            output.explain("\(prefix)\(name) keeps what was already opened or copied; that cannot be undone")
        }
        if command.consent.yes || command.dryRun || !isOne { output.explain("\(prefix)\(remaining(step))") }
    }

    private func remaining(_ step: Step) -> String {
        // Those whose last day has passed are removed before.
        let count =
            step.effect.remaining
            - step.due.ended.count { step.state.members[$0] != nil && !step.effect.dismissed.contains($0) }
        let stay = count == 1 ? "1 person stays" : "\(count) people stay"
        return "\(stay); files sealed before keep key \(step.state.epoch) (tresor reseal FILE… changes that)."
    }

    private func question(_ open: [Step]) -> String {
        if command.me { return open.count == 1 ? "leave?" : "leave \(open.count) tresors?" }
        return open.count == 1 ? remaining(open[0]) : "change \(open.count) tresors?"
    }

    private func say(_ effect: Effect, _ step: Step, _ state: LogState) {
        guard !effect.isNothing, !command.dryRun else { return }
        if command.me {
            let next = session.client.archive.isCopied(step.summary.tresor) ? "an owner" : "its next writer"
            context.output.say("you have left \(step.title); \(next) changes the key")
        } else {
            let names = effect.dismissed.map { context.tresors.handle(of: $0, in: state) }.joined(separator: ", ")
            let verb = effect.dismissed.count == 1 ? "was" : "were"
            let key = effect.epoch ?? state.epoch
            context.output.say("\(names) \(verb) removed; \(step.title) now uses key \(key)")
        }
    }

    private func report(_ effect: Effect, _ state: LogState) throws {
        guard command.options.json else { return }
        let key = command.dryRun ? state.epoch : effect.epoch ?? state.epoch
        try context.output.object([
            "type": "change", "change": command.me ? "leave" : "revoke", "tresor": .string(state.tresor.description),
            "removed": .array(effect.dismissed.map { .string($0.description) }),
            "already": .array(effect.already.map { .string($0.description) }),
            "key": .unsigned(key), "dry_run": .bool(command.dryRun),
        ])
    }
}
