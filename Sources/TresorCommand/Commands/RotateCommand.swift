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
        let workplace = try await CommandContext.open(options, identifying: !identity)
        if let tresor { return try await rotate(tresor, workplace) }
        try await IdentityRotation(
            kit: kit, cost: try argon2id?.cost(), dryRun: trial.dryRun, yes: consent.yes, workplace: workplace
        ).perform()
    }

    private func rotate(_ name: String, _ workplace: CommandContext) async throws {
        guard kit.kit == nil, !kit.noKit, argon2id == nil else {
            throw CommandFailure.usage("--kit, --no-kit and --argon2id go with --identity")
        }
        let session = try await workplace.unlock(to: "sign a change to \(DisplayText.name(name))")
        let summary = try await workplace.tresors.find(name, for: session)
        let title = workplace.tresors.title(of: summary)
        let due = try await workplace.tresors.due(in: summary, session, dryRun: trial.dryRun)
        let state = due.state
        try await workplace.verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        let effect: Effect
        do throws(TresorError) {
            effect = try session.tresors.effectBlocking(of: .rotate, in: state)
        } catch {
            guard error == .noAccess else { throw CommandFailure(error) }
            if let failure = workplace.tresors.copyRefusal(of: state.tresor, session) { throw failure }
            let owner = workplace.tresors.handle(of: workplace.tresors.owner(of: state), in: state)
            throw CommandFailure(
                of: error, "only an owner can change the key of \(title)",
                hints: ["ask \(owner) to run: tresor rotate -t \(Shell.word(name))"])
        }
        let approvers = try await approvers(in: state, title, session, workplace)
        let count = state.members.count { !due.ended.contains($0.key) }
        let people = count == 1 ? "1 person stays" : "\(count) people stay"
        if trial.dryRun {
            workplace.output.say("\(title) would use key \(state.epoch + 1); \(people)")
            return try report(state, key: state.epoch, workplace)
        }
        if !consent.yes { workplace.tresors.explain(due, title) }
        let next = state.epoch + (due.ended.isEmpty ? 1 : 2)
        try workplace.confirm("\(title) gets key \(next); \(people).", yes: consent.yes)
        let act = approvers.map(Act.setApprovers) ?? .rotate
        let done = try await ServiceApprovers.perform(act, on: summary.tresor, name, session, workplace) {
            let settled = try await session.tresors.settle(due, before: .rotate, shown: effect)
            await workplace.tresors.tell(session)
            guard approvers != nil else {
                return try await session.tresors.perform(act, on: summary.tresor, expecting: settled)
            }
            _ = try await session.tresors.perform(act, on: summary.tresor)
            // The act may have been performed before, and the rotation not.
            return try await session.tresors.perform(.rotate, on: summary.tresor)
        }
        if let approvers {
            let names = approvers.map { DisplayText.name($0.handle.bytes) }.joined(separator: ", ")
            workplace.output.say(approvers.isEmpty ? "nobody approves from now on" : "\(names) approves from now on")
            let word = Shell.word(name)
            await ServiceApprovers.sayAbsent(approvers, of: word, session, workplace)
            ServiceApprovers.sayStranded(Array(done.state.waiting.keys), in: done.state, of: word, workplace)
        }
        let key = done.effect.epoch ?? done.state.epoch
        workplace.output.say("\(title) now uses key \(key)")
        try report(done.state, key: key, workplace)
    }

    /// The people who approve from now on; `nil` if they stay.
    private func approvers(
        in state: LogState, _ title: String, _ session: Session, _ workplace: CommandContext
    ) async throws -> [CardChain]? {
        guard noApprover || !approver.isEmpty else { return nil }
        let chains = try await workplace.people.approvers(approver, workplace.verifier)
        do throws(TresorError) {
            _ = try session.tresors.effectBlocking(of: .setApprovers(chains), in: state)
        } catch {
            guard error == .noAccess else { throw CommandFailure(error) }
            throw CommandFailure(of: error, "only an owner can name the approvers of \(title)")
        }
        return chains
    }

    private func report(_ state: LogState, key: UInt64, _ workplace: CommandContext) throws {
        guard options.json else { return }
        try workplace.output.object([
            "type": "change", "change": "rotate", "tresor": .string(state.tresor.description),
            "key": .unsigned(key),
            "dry_run": .bool(trial.dryRun),
        ])
    }
}
