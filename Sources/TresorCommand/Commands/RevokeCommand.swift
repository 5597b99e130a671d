// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct RevokeCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "revoke", group: .tresors, abstract: "Put people out of a tresor and change its key, or leave it.",
            usage: """
                tresor revoke -t T PERSON… [-n] [--yes]
                tresor revoke -t T --me [-n] [--yes]
                """,
            discussion:
                "What somebody has opened or copied stays with them; nothing written from now on is theirs to read.",
            classes: [.identity, .write], further: [.noAccess],
            examples: ["tresor revoke -t interventions dr-house", "tresor revoke -t interventions --me"])
    }

    @OptionGroup var tresor: TresorOption

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var people: [String] = []

    @Flag(help: "Leave.")
    var me = false

    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Say who would lose access, and change nothing.")
    var dryRun = false

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard me != !people.isEmpty else { throw CommandFailure.usage("name the people to put out, or --me") }
        let workplace = try await Workplace.open(options)
        let session = try await workplace.unlock(to: "sign a change to \(Shown.name(tresor.tresor))")
        let summary = try await workplace.tresor(tresor.tresor, for: session)
        let title = workplace.title(of: summary)
        let state = try await workplace.settled(summary, session, dryRun: dryRun || me)
        if !me { try await workplace.verifyFounder(of: state, for: session, accept: false, hint: "") }
        if me, state.departure(of: session.identity.user) != nil {
            workplace.output.say("you are out of \(title) already")
            return try report(Effect(), state, workplace)
        }
        var users: [UserID] = []
        for name in people where !me { users.append(try workplace.member(name, of: state)) }
        let act = me ? Act.leave : .revoke(Array(Set(users)).sorted())
        let effect = try await effect(of: act, in: state, session, title)
        for user in effect.already { sayAlready(user, state, workplace) }
        guard !effect.isNothing, !dryRun else {
            if dryRun { explain(effect, state, title, workplace) }
            return try report(effect, state, workplace)
        }
        if !yes || !options.quiet { explain(effect, state, title, workplace) }
        try workplace.confirm(question(effect, state), yes: yes)
        let after = try await Interrupts.atomically {
            try await session.perform(act, on: summary.tresor, expecting: effect).state
        }
        say(effect, after, title, workplace)
        try report(effect, after, workplace)
    }

    private func effect(
        of act: Act, in state: State, _ session: Session, _ title: String
    ) async throws -> Effect {
        do throws(TresorError) {
            return try await session.effect(of: act, in: state)
        } catch {
            switch error {
            case .noAccess: throw CommandFailure(error, "only an owner puts people out of \(title)")
            case .usage where me: throw CommandFailure(error, "the last owner cannot leave \(title)")
            case .usage where act == .revoke([session.identity.user]):
                throw CommandFailure(
                    error, "you leave \(title) by another option",
                    hints: ["tresor revoke -t \(Shell.word(tresor.tresor)) --me"])
            case .usage:
                throw CommandFailure(error, "the person who made \(title) is put out by nobody, and you by --me")
            default: throw CommandFailure(error)
            }
        }
    }

    private func sayAlready(_ user: UserID, _ state: State, _ workplace: Workplace) {
        let date = state.departure(of: user).map { " since \(Timestamp(seconds: $0.time).date)" } ?? ""
        workplace.output.say("\(workplace.handle(of: user, in: state)) is out already\(date)")
    }

    private func explain(_ effect: Effect, _ state: State, _ title: String, _ workplace: Workplace) {
        guard !me else {
            workplace.output.explain(
                "you will read nothing of \(title) any more; what you opened or copied stays with you")
            return
        }
        for user in effect.dismissed {
            let name = workplace.handle(of: user, in: state)
            workplace.output.explain("\(name) will read nothing written from now on")
            workplace.output.explain("\(name) keeps what was already opened or copied; that cannot be undone")
        }
        if yes || dryRun { workplace.output.explain(question(effect, state)) }
    }

    private func question(_ effect: Effect, _ state: State) -> String {
        guard !me else { return "leave?" }
        let stay = effect.remaining == 1 ? "1 person stays" : "\(effect.remaining) people stay"
        return "\(stay); files sealed before keep key \(state.epoch) (tresor reseal FILE… changes that)."
    }

    private func say(_ effect: Effect, _ state: State, _ title: String, _ workplace: Workplace) {
        if me {
            workplace.output.say("you are out of \(title); its next writer changes the key")
        } else {
            let names = effect.dismissed.map { workplace.handle(of: $0, in: state) }.joined(separator: ", ")
            let verb = effect.dismissed.count == 1 ? "is" : "are"
            workplace.output.say("\(names) \(verb) out; \(title) now uses key \(state.epoch)")
        }
    }

    private func report(_ effect: Effect, _ state: State, _ workplace: Workplace) throws {
        guard options.json else { return }
        try workplace.output.object([
            "type": "change", "change": me ? "leave" : "revoke", "tresor": .string(state.tresor.description),
            "removed": .array(effect.dismissed.map { .string($0.description) }),
            "already": .array(effect.already.map { .string($0.description) }), "key": .unsigned(state.epoch),
            "dry_run": .bool(dryRun),
        ])
    }
}
