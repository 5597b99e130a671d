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
            examples: [
                "tresor share -t interventions dr-house", "tresor share -t interventions dr-house --from-now -n",
            ])
    }

    @OptionGroup var tresor: TresorOption

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var people: [String]

    @Option(
        help: ArgumentHelp(
            "What they may do: reader, writer or owner; reader, or what they are, if left out.", valueName: "ROLE"))
    var role: RoleArgument?

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
        let state = try await workplace.settled(summary, session, dryRun: dryRun)
        try checkHistory(of: chains, in: state)
        let affected = chains.filter { chain in
            state.members[chain.user].map { Terms($0) != wanted(for: chain, in: state) } ?? true
        }
        let terms = wanted(for: affected.first ?? chains[0], in: state)
        var effect = Effect()
        var after = state
        if !affected.isEmpty {
            let act = Act.share(with: affected, role: terms.role, fromNow: fromNow, notAfter: terms.notAfter)
            effect = try await self.effect(of: act, in: state, session)
            if !dryRun { after = try await perform(act, effect, on: summary.tresor, session) }
        }
        await workplace.tell(session)
        effect.already = chains.map(\.user).filter { user in !affected.contains { $0.user == user } }.sorted()
        try report(effect, terms, workplace.title(of: summary), after, chains, workplace)
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
        try await workplace.verifyFounder(of: state, for: session, accept: false, hint: "")
    }

    /// Each card is read once: what is compared here is what is wrapped to. Nobody is pinned before everybody was compared.
    private func chains(_ workplace: Workplace) async throws -> [CardChain] {
        var found: [Candidate] = []
        for name in people {
            let person = try await workplace.person(name, card: card)
            guard person.trust != .me else { throw CommandFailure.usage("\(Shown.name(name)) is you, and in already") }
            guard !found.contains(where: { $0.chain.user == person.chain.user }) else {
                throw CommandFailure.usage("\(Shown.name(name)) is named twice")
            }
            found.append(person)
        }
        var compared: [CardChain] = []
        for (name, person) in zip(people, found) {
            let verify = "tresor verify \(Shell.word(name)) --number \"DIGITS\""
            let refusal = CommandFailure(
                .unverified, "\(Shown.name(name)) is not verified, and nobody can be asked",
                hints: people.count == 1 ? ["tresor … --number \"DIGITS\"", verify] : [verify])
            if acceptUnverified, case .renewed = person.trust { throw workplace.renewed(person.chain) }
            let proof = Workplace.Proof(
                number: number, card: card, accept: acceptUnverified || dryRun, refusal: refusal)
            if try workplace.proves(person, by: proof), !dryRun { compared.append(person.chain) }
        }
        for chain in compared { try workplace.pin(chain) }
        return found.map(\.chain)
    }

    /// Whoever is in cannot be given another reach into the past.
    private func checkHistory(of chains: [CardChain], in state: State) throws {
        for (name, chain) in zip(people, chains) {
            guard let member = state.members[chain.user], (member.history != .all) != fromNow else { continue }
            let reach = fromNow ? "reads the whole history already" : "is in from a later key on, without the history"
            let person = Shell.word(name)
            throw CommandFailure(
                .usage, "\(Shown.name(name)) \(reach)",
                hints: ["tresor revoke -t \(Shell.word(tresor.tresor)) \(person)", "tresor … "])
        }
    }

    /// What a person gets. Whoever is in keeps the role and the date that the command line does not name.
    private func wanted(for chain: CardChain, in state: State) -> Terms {
        let member = state.members[chain.user]
        return Terms(
            role: role?.role ?? member?.role ?? .reader, notAfter: until?.end.seconds ?? member?.notAfter)
    }

    private struct Terms: Hashable {
        let role: Role
        let notAfter: UInt64?

        init(role: Role, notAfter: UInt64?) {
            self.role = role
            self.notAfter = notAfter
        }

        init(_ member: Member) { self.init(role: member.role, notAfter: member.notAfter) }
    }

    private func effect(of act: Act, in state: State, _ session: Session) async throws -> Effect {
        do throws(TresorError) {
            return try await session.effect(of: act, in: state)
        } catch {
            guard error == .usage else { throw CommandFailure(error) }
            guard people.count == 1 else {
                throw CommandFailure.usage(
                    "people who are in already change one at a time",
                    hints: people.prefix(3).map { "tresor share -t \(Shell.word(tresor.tresor)) \(Shell.word($0))" })
            }
            throw CommandFailure.usage(
                "\(Shown.name(people[0])) cannot have that role: the person who made the tresor stays its owner, and an owner reads everything"
            )
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
        _ effect: Effect, _ terms: Terms, _ title: String, _ state: State, _ chains: [CardChain],
        _ workplace: Workplace
    ) throws {
        let would = dryRun ? "would be able to" : "can"
        let verb = terms.role == .reader ? "read" : terms.role == .writer ? "read and write" : "read, write and manage"
        for name in names(effect.admitted, chains) {
            let reach = fromNow ? "from key \(effect.epoch ?? state.epoch) on" : "its history included"
            workplace.output.say("\(name) \(would) \(verb) \(title), \(reach)")
        }
        for name in names(effect.changed, chains) {
            workplace.output.say("\(name) \(dryRun ? "would be" : "is") \(terms.role) of \(title) now")
        }
        for name in names(effect.already, chains) { workplace.output.say("\(name) already reads \(title)") }
        if let notAfter = terms.notAfter, !effect.isNothing {
            let date = Timestamp(seconds: notAfter).date
            workplace.output.say("after \(date) my next act removes them; the date alone takes no key back")
        }
        guard options.json else { return }
        var object: JSONObject = [
            "type": "change", "change": "share", "tresor": .string(state.tresor.description),
            "admitted": ids(effect.admitted), "changed": ids(effect.changed), "already": ids(effect.already),
            "role": .string(terms.role.description), "key": .unsigned(state.epoch), "dry_run": .bool(dryRun),
        ]
        if let notAfter = terms.notAfter { object["until"] = .time(notAfter) }
        try workplace.output.object(object)
    }

    private func names(_ users: [UserID], _ chains: [CardChain]) -> [String] {
        chains.filter { users.contains($0.user) }.map { Shown.name($0.handle.bytes) }
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
