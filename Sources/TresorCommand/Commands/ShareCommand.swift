// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct ShareCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "share", group: .tresors, abstract: "Let people into a tresor.",
            usage: """
                tresor share -t T PERSON… [--role reader|writer|owner] [--from-now] [--until DATE]
                         [--number DIGITS | --card FILE | --accept-unverified] [-n]
                """,
            discussion: """
                Shows the number of everybody who is not verified: compare it by telephone. All PERSONs are let in, or none. --until is \
                a reminder, which check and every act of the owner enforce with a removal; by itself it takes no key back.
                """,
            classes: [.identity, .write], further: [.noAccess],
            examples: ["tresor share -t interventions dr-house", "tresor share -t interventions dr-house --from-now -n"])
    }

    @OptionGroup var tresor: TresorOption

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var people: [String]

    @Option(help: ArgumentHelp("What they may do: reader (if left out), writer or owner.", valueName: "ROLE"))
    var role: RoleArgument = .reader

    @Flag(help: "They read nothing from before now; the key changes.")
    var fromNow = false

    @Option(help: ArgumentHelp("Remind me to take it back after DATE.", valueName: "DATE"))
    var until: DateArgument?

    @Option(help: ArgumentHelp("The 30 digits that the one PERSON read out.", valueName: "DIGITS"))
    var number: String?

    @Option(help: ArgumentHelp("The card of the one PERSON, brought by hand.", valueName: "FILE"))
    var card: String?

    @Flag(help: "Let them in although nobody compared their number.")
    var acceptUnverified = false

    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Say who would gain access, and change nothing.")
    var dryRun = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        try checkArguments()
        let workplace = try await Workplace.open(options)
        if let until, until.end.seconds < workplace.now { throw CommandFailure.usage("--until has passed already") }
        let session = try await workplace.unlock(to: "sign a change to \(Shown.name(tresor.tresor))")
        let summary = try await workplace.tresor(tresor.tresor, for: session)
        try await checkOwner(summary, session, workplace)
        let chains = try await chains(workplace)
        let act = Act.share(
            with: chains, role: role.role, fromNow: fromNow, notAfter: until.map(\.end.seconds))
        let state = dryRun ? try await workplace.state(of: summary.tresor) : try await session.settle(summary.tresor)
        let effect = try await effect(of: act, in: state, session)
        let after = dryRun ? state : try await perform(act, effect, on: summary.tresor, session)
        try report(effect, summary, after, workplace)
    }

    private func checkArguments() throws(CommandFailure) {
        let answers = [number != nil, card != nil, acceptUnverified].filter { $0 }.count
        guard answers <= 1 else { throw .usage("only one of --number, --card and --accept-unverified can be given") }
        guard people.count == 1 || (number == nil && card == nil) else {
            throw .usage("--number and --card answer for one PERSON")
        }
        guard !(fromNow && role == .owner) else { throw .usage("an owner reads everything; leave out --from-now") }
    }

    private func checkOwner(_ summary: TresorSummary, _ session: Session, _ workplace: Workplace) async throws {
        guard let state = summary.state else { return }
        let title = workplace.title(of: summary)
        guard state.members[session.identity.user]?.role == .owner else {
            let owner = workplace.handle(of: state.founder, in: state)
            throw CommandFailure(.noAccess, "only an owner lets people into \(title), which is of \(owner)")
        }
        try await workplace.verifyFounder(of: state, accept: false, hint: "")
    }

    /// Each card is read once: what is compared here is what is wrapped to.
    private func chains(_ workplace: Workplace) async throws -> [CardChain] {
        var chains: [CardChain] = []
        for name in people {
            let person = try await workplace.person(name)
            guard person.trust != .me else { throw CommandFailure.usage("you are in already") }
            let word = Shell.word(name)
            let refusal = CommandFailure(
                .unverified, "\(Shown.name(name)) is not verified, and nobody can be asked",
                hints: ["tresor share … \(word) --number \"DIGITS\"", "tresor verify \(word)"])
            let proof = Workplace.Proof(number: number, card: card, accept: acceptUnverified || dryRun, refusal: refusal)
            let chain = try workplace.verified(person, by: proof)
            guard !chains.contains(where: { $0.user == chain.user }) else {
                throw CommandFailure.usage("\(Shown.name(name)) is named twice")
            }
            chains.append(chain)
        }
        return chains
    }

    private func effect(of act: Act, in state: State, _ session: Session) async throws -> Effect {
        do throws(TresorError) {
            return try await session.effect(of: act, in: state)
        } catch {
            guard error == .usage else { throw CommandFailure(error) }
            throw CommandFailure(
                .usage, "one of them is in with another history, or several roles would change at once",
                hints: ["tresor revoke -t \(Shell.word(tresor.tresor)) PERSON", "tresor share … ONE-PERSON"])
        }
    }

    private func perform(
        _ act: Act, _ effect: Effect, on tresor: TresorID, _ session: Session
    ) async throws -> State {
        try await Interrupts.atomically {
            try await session.perform(
                act, on: tresor, expecting: effect, acceptingUnverified: acceptUnverified
            ).state
        }
    }

    private func report(
        _ effect: Effect, _ summary: TresorSummary, _ state: State, _ workplace: Workplace
    ) throws {
        let title = workplace.title(of: summary)
        let would = dryRun ? "would be able to" : "can"
        let verb = role == .reader ? "read" : role == .writer ? "read and write" : "read, write and manage"
        for name in names(effect.admitted, state, workplace) {
            let reach = fromNow ? "from key \(effect.epoch ?? state.epoch) on" : "its history included"
            workplace.output.say("\(name) \(would) \(verb) \(title), \(reach)")
        }
        for name in names(effect.changed, state, workplace) {
            workplace.output.say("\(name) \(dryRun ? "would be" : "is") \(role.role) of \(title) now")
        }
        for name in names(effect.already, state, workplace) { workplace.output.say("\(name) already reads \(title)") }
        if let until, !effect.isNothing {
            workplace.output.say("a removal follows \(until.end.date) with my next act; the date alone takes no key back")
        }
        guard options.json else { return }
        var object: JSONObject = [
            "type": "change", "change": "share", "tresor": .string(state.tresor.description),
            "admitted": ids(effect.admitted), "changed": ids(effect.changed), "already": ids(effect.already),
            "role": .string(role.rawValue), "key": .unsigned(state.epoch), "dry_run": .bool(dryRun),
        ]
        if let until { object["until"] = .time(until.end.seconds) }
        try workplace.output.object(object)
    }

    private func names(_ users: [UserID], _ state: State, _ workplace: Workplace) -> [String] {
        users.map { user in
            state.chain(of: user).map { Shown.name($0.handle.bytes) } ?? people.first.map { Shown.name($0) } ?? ""
        }
    }

    private func ids(_ users: [UserID]) -> JSON { .array(users.map { .string($0.description) }) }
}

enum RoleArgument: String, CaseIterable, ExpressibleByArgument, Sendable {
    case reader, writer, owner

    var role: Role {
        switch self {
        case .reader: .reader
        case .writer: .writer
        case .owner: .owner
        }
    }
}
