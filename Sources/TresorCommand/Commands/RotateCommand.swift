// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct RotateCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "rotate", group: .tresors, abstract: "Change the key of a tresor, or all your keys.",
            usage: """
                tresor rotate -t T [--approver PERSON… | --no-approver] [-n] [--yes]
                tresor rotate --identity [--kit FILE | --no-kit] [--argon2id MIB,PASSES] [--yes]
                """,
            discussion: """
                --identity makes new keys for you, signed with the old ones. All your tresors get new keys, trusted \
                devices and the old kit become invalid, and others must compare your new safety number. A log-in by \
                password gets the new keys. If it is interrupted, run it again. --approver names the people who approve \
                from now on, in place of earlier ones; people who wait go on waiting.
                """,
            classes: [.identity, .write], further: [.noAccess, .waiting],
            examples: ["tresor rotate -t interventions", "tresor rotate --identity --kit kit.txt"])
    }

    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp("A tresor: its name, OWNER/NAME, or an id of at least 6 characters.", valueName: "T"))
    var tresor: String?

    @Flag(help: "Make new keys for yourself.")
    var identity = false

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("A person who approves from now on; their safety number is compared.", valueName: "PERSON"))
    var approver: [String] = []

    @Flag(help: "Nobody approves from now on.")
    var noApprover = false

    @OptionGroup var kit: KitOptions

    @Option(help: ArgumentHelp("The cost of one password guess.", valueName: "MIB,PASSES"))
    var argon2id: Argon2idArgument?

    @OptionGroup var trial: DryRunOption
    @OptionGroup var consent: ConsentOption
    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard identity != (tresor != nil) else { throw CommandFailure.usage("rotate takes -t T or --identity") }
        guard approver.isEmpty || !noApprover else {
            throw CommandFailure.usage("only one of --approver and --no-approver can be given")
        }
        guard tresor != nil || (approver.isEmpty && !noApprover) else {
            throw CommandFailure.usage("--approver and --no-approver go with -t")
        }
        // New keys want the password, which is asked for once.
        let context = try await CommandContext.open(options, identifying: !identity)
        if let tresor { return try await rotate(tresor, context) }
        try await IdentityRotation(
            kit: kit, cost: try argon2id?.cost(), dryRun: trial.dryRun, yes: consent.yes, context: context
        ).perform()
    }

    private func rotate(_ name: String, _ context: CommandContext) async throws {
        guard kit.kit == nil, !kit.noKit, argon2id == nil else {
            throw CommandFailure.usage("--kit, --no-kit and --argon2id go with --identity")
        }
        let session = try await context.unlock(to: "sign a change to \(DisplayText.name(name))")
        let summary = try await context.tresors.find(name, for: session)
        let title = context.tresors.title(of: summary)
        let due = try await context.tresors.due(in: summary, session, dryRun: trial.dryRun)
        let state = due.state
        try await context.verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        let effect: Effect
        do throws(TresorError) {
            effect = try session.tresors.effectBlocking(of: .rotate, in: state)
        } catch {
            guard error == .noAccess else { throw CommandFailure(error) }
            if let failure = context.tresors.copyRefusal(of: state.tresor, session) { throw failure }
            let owner = context.tresors.handle(of: context.tresors.owner(of: state), in: state)
            throw CommandFailure(
                of: error, "only an owner can change the key of \(title)",
                hints: ["ask \(owner) to run: tresor rotate -t \(Shell.word(name))"])
        }
        let approvers = try await approvers(in: state, title, session, context)
        let count = state.members.count { !due.ended.contains($0.key) }
        let people = count == 1 ? "1 person stays" : "\(count) people stay"
        if trial.dryRun {
            context.output.say("\(title) would use key \(state.epoch + 1); \(people)")
            return try report(state, key: state.epoch, context)
        }
        if !consent.yes { context.tresors.explain(due, title) }
        let next = state.epoch + (due.ended.isEmpty ? 1 : 2)
        try context.confirm("\(title) gets key \(next); \(people).", yes: consent.yes)
        let act = approvers.map(Act.setApprovers) ?? .rotate
        let done = try await ServiceApprovers.perform(act, on: summary.tresor, name, session, context) {
            let settled = try await session.tresors.settle(due, before: .rotate, shown: effect)
            await context.tresors.tell(session)
            guard approvers != nil else {
                return try await session.tresors.perform(act, on: summary.tresor, expecting: settled)
            }
            _ = try await session.tresors.perform(act, on: summary.tresor)
            // The act may have been performed before, and the rotation not.
            return try await session.tresors.perform(.rotate, on: summary.tresor)
        }
        if let approvers {
            let names = approvers.map { DisplayText.name($0.handle.bytes) }.joined(separator: ", ")
            context.output.say(approvers.isEmpty ? "nobody approves from now on" : "\(names) approves from now on")
            let word = Shell.word(name)
            await ServiceApprovers.sayAbsent(approvers, of: word, session, context)
            ServiceApprovers.sayStranded(Array(done.state.waiting.keys), in: done.state, of: word, context)
        }
        let key = done.effect.epoch ?? done.state.epoch
        context.output.say("\(title) now uses key \(key)")
        try report(done.state, key: key, context)
    }

    /// The people who approve from now on; `nil` if they stay.
    private func approvers(
        in state: LogState, _ title: String, _ session: Session, _ context: CommandContext
    ) async throws -> [CardChain]? {
        guard noApprover || !approver.isEmpty else { return nil }
        let chains = try await context.people.approvers(approver, context.verifier)
        do throws(TresorError) {
            _ = try session.tresors.effectBlocking(of: .setApprovers(chains), in: state)
        } catch {
            guard error == .noAccess else { throw CommandFailure(error) }
            throw CommandFailure(of: error, "only an owner can name the approvers of \(title)")
        }
        return chains
    }

    private func report(_ state: LogState, key: UInt64, _ context: CommandContext) throws {
        guard options.json else { return }
        try context.output.object([
            "type": "change", "change": "rotate", "tresor": .string(state.tresor.description),
            "key": .unsigned(key),
            "dry_run": .bool(trial.dryRun),
        ])
    }
}
