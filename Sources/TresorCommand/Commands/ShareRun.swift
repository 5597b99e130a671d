// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Runs `share` once the identity is open: judges every tresor, compares safety numbers, then changes one after the
/// other.
struct ShareRun {
    let command: ShareCommand
    /// The people in the order of the command line.
    let people: [Candidate]
    let session: Session
    let context: CommandContext

    /// The change in one tresor, as planned before the question.
    private struct Step {
        let summary: TresorSummary
        /// The tresor as it was typed.
        let text: String
        let title: String
        /// The updates of this home that come with the change.
        let due: Due
        let terms: Terms
        /// `nil` when everyone already has the access they would get.
        let act: Act?
        let effect: Effect
        /// The people whose access stays the same.
        let already: [UserID]

        var state: LogState { due.state }
    }

    func perform() async throws {
        let summaries = try await command.tresor.summaries(in: context, for: session)
        var tresors = SeveralTresors(count: summaries.count)
        for (text, summary) in zip(command.tresor.tresors, summaries) {
            try await tresors.judge(context.tresors.title(of: summary)) { try await checkOwner(summary, text) }
        }
        try checkAnswers()
        var steps: [Step] = []
        for (text, summary) in zip(command.tresor.tresors, summaries) {
            steps.append(
                try await tresors.judge(context.tresors.title(of: summary)) { try await step(summary, text) })
        }
        let (proved, unproved) = try provePeople()
        for step in steps where !command.dryRun {
            try await tresors.judge(step.title) { try await checkUnchanged(step) }
        }
        for step in steps {
            let (effect, state) = try await tresors.change(step.title) { try await self.change(step) }
            await context.tresors.tell(session)
            try report(effect, step, state, proved, unproved)
            await tellWaiting(step, state)
            if let seconds = command.wait, !command.dryRun {
                try await waitForApproval(of: people.map(\.chain.user), step, seconds: seconds)
            }
        }
    }

    private func checkOwner(_ summary: TresorSummary, _ text: String) async throws {
        guard let state = summary.state else { return }
        let title = context.tresors.title(of: summary)
        guard !summary.isOwn else {
            throw CommandFailure.usage(
                "\(title) is what your devices tell each other: nobody else can be in it", hints: ["tresor list"])
        }
        if state.waiting[session.identity.user] != nil {
            throw CommandFailure(.waiting, "nobody has approved you in \(title) yet")
        }
        guard state.members[session.identity.user]?.role == .owner else {
            let owner = context.tresors.handle(of: context.tresors.owner(of: state), in: state)
            throw CommandFailure(
                .noAccess, "only an owner can add people to \(title) (owned by \(owner))",
                hints: ["ask \(owner) to run: \(shareLine(text))"])
        }
        try await context.verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        guard let end = command.until?.end.seconds, !command.dryRun else { return }
        try context.tresors.confirmLastDay(end, in: state, title)
    }

    private func shareLine(_ text: String) -> String {
        let names = people.map { Shell.word($0.chain.handle, or: $0.chain.user) }.joined(separator: " ")
        return "tresor share -t \(Shell.word(text)) \(names)"
    }

    /// Makes the refusals that need no question, before anything is written.
    private func checkAnswers() throws {
        for person in people where command.acceptUnverified {
            if case .renewed = person.trust { throw PersonResolver.renewed(person.chain) }
        }
        let needsPerson = people.contains { person in
            !person.trust.isVerified && !command.acceptUnverified && !command.dryRun
                && command.number == nil && command.card == nil
        }
        for (name, person) in zip(command.people, people) where needsPerson && !person.trust.isVerified {
            _ = try context.invocation.person(or: refusal(name))
        }
    }

    private func refusal(_ name: String) -> CommandFailure {
        let verify = "tresor verify \(Shell.word(name)) --number \"DIGITS\""
        return CommandFailure(
            .unverified, "\(DisplayText.name(name)) is not verified, and nobody can be asked",
            hints: people.count == 1 ? ["tresor … --number \"DIGITS\"", verify] : [verify])
    }

    /// Judges one tresor; dates that have passed are removals by then.
    private func step(_ summary: TresorSummary, _ text: String) async throws -> Step {
        let chains = people.map(\.chain)
        var due = try await context.tresors.due(in: summary, session, dryRun: command.dryRun)
        if !due.ended.isEmpty { due = Due(try await context.tresors.settle(summary, session)) }
        let state = due.state
        try checkHistory(in: state, text)
        let affected = chains.filter { chain in
            (state.members[chain.user] ?? state.waiting[chain.user]).map { Terms($0) != wanted(for: chain, in: state) }
                ?? true
        }
        let terms = wanted(for: affected.first ?? chains[0], in: state)
        let already = chains.map(\.user).filter { user in !affected.contains { $0.user == user } }.sorted()
        var (act, effect): (Act?, Effect) = (nil, Effect())
        if !affected.isEmpty {
            let share = Act.share(
                with: affected, role: terms.role, fromNow: command.fromNow, notAfter: terms.notAfter)
            effect = try await self.effect(of: share, in: state, text)
            act = share
        }
        return Step(
            summary: summary, text: text, title: context.tresors.title(of: summary), due: due, terms: terms,
            act: act, effect: effect, already: already)
    }

    /// Refuses to change which earlier keys a member has, and names that member.
    private func checkHistory(in state: LogState, _ text: String) throws {
        for (name, person) in zip(command.people, people) {
            guard let member = state.members[person.chain.user] ?? state.waiting[person.chain.user],
                (member.history != .all) != command.fromNow
            else { continue }
            let reach =
                command.fromNow
                ? "reads the whole history already" : "is a member from a later key on, without the history"
            throw CommandFailure(
                .usage, "\(DisplayText.name(name)) \(reach)",
                hints: ["tresor revoke -t \(Shell.word(text)) \(Shell.word(name))"])
        }
    }

    /// The terms for a person. A member keeps the role and the date that the command line does not name.
    private func wanted(for chain: CardChain, in state: LogState) -> Terms {
        let member = state.members[chain.user] ?? state.waiting[chain.user]
        return Terms(
            role: command.role?.role ?? member?.role ?? .reader,
            notAfter: command.until?.end.seconds ?? member?.notAfter)
    }

    private func effect(of act: Act, in state: LogState, _ text: String) async throws -> Effect {
        do throws(TresorError) {
            return try session.tresors.effectBlocking(of: act, in: state)
        } catch {
            switch error {
            case .usage(.oneChangeAtATime):
                throw CommandFailure(
                    of: error, "existing members can be changed only one at a time",
                    hints: command.people.prefix(3).map {
                        "tresor share -t \(Shell.word(text)) \(Shell.word($0))"
                    })
            case .usage(.stillWaiting):
                throw CommandFailure(
                    of: error, "a person who waits keeps the terms that were asked for",
                    hints: command.people.prefix(3).map {
                        "tresor revoke -t \(Shell.word(text)) \(Shell.word($0))"
                    })
            case .usage(.founder), .usage(.ownerWithoutHistory), .usage(.lastOwner):
                throw CommandFailure(
                    of: error,
                    "\(nameOfRefused(error, in: state)) cannot have that role: "
                        + "the creator of a tresor stays its owner, and an owner reads everything")
            default: throw CommandFailure(error)
            }
        }
    }

    /// The name of the person because of whom the library refuses a role.
    private func nameOfRefused(_ error: TresorError, in state: LogState) -> String {
        let index = people.firstIndex { person in
            let user = person.chain.user
            switch error {
            case .usage(.founder): return user == state.founder
            case .usage(.ownerWithoutHistory): return state.members[user].map { $0.history != .all } ?? false
            default: return false
            }
        }
        return DisplayText.name(command.people[index ?? 0])
    }

    /// Compares the safety numbers of all unverified people, once for all tresors. They stay verified even if a change
    /// fails.
    ///
    /// - Returns: the people whose number was compared now, for the program that reads; and those whose number was not
    ///   compared: in a dry run, or because they were accepted unverified.
    private func provePeople() throws -> (proved: [JSON], unproved: [Candidate]) {
        var proved: [JSON] = []
        for (name, person) in zip(command.people, people) {
            let proof = PersonVerifier.Proof(
                number: command.number, card: command.card, accept: command.acceptUnverified || command.dryRun,
                asksNobody: command.yes || command.dryRun, refusal: refusal(name))
            let earlier = try context.verifier.earlierNumber(person)
            guard try context.verifier.proves(person, by: proof) else { continue }
            var object: JSONObject = [
                "user": .string(person.chain.user.description), "number": .string(try person.chain.number().grouped),
            ]
            if let earlier { object["earlier_number"] = .string(earlier.grouped) }
            proved.append(.object(object))
            if !command.dryRun { try context.verifier.pin(person, by: proof) }
        }
        guard command.number == nil, command.card == nil else { return (proved, []) }
        return (proved, people.filter { !$0.trust.isVerified })
    }

    /// Checks again that people who were to keep their access have not lost it during the question.
    private func checkUnchanged(_ step: Step) async throws {
        guard !step.already.isEmpty else { return }
        let state = try await context.tresors.state(of: step.summary.tresor)
        for user in step.already
        where Self.terms(of: user, in: state) != Self.terms(of: user, in: step.state) {
            throw CommandFailure(TresorError.busy)
        }
    }

    private static func terms(of user: UserID, in state: LogState) -> Terms? {
        (state.members[user] ?? state.waiting[user]).map { Terms($0) }
    }

    /// Waits until nobody of these people waits.
    ///
    /// - Throws: 13 when an approver refused somebody, 17 when the time is over.
    private func waitForApproval(of users: [UserID], _ step: Step, seconds: Int) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            let state = try await context.tresors.state(of: step.summary.tresor)
            let gone = users.filter { !state.isIn($0) }
            guard gone.isEmpty else {
                throw CommandFailure(
                    .noAccess, "\(names(gone).joined(separator: ", ")): an approver of \(step.title) refused")
            }
            let waiting = users.filter { state.waiting[$0] != nil }
            if waiting.isEmpty {
                return context.output.say("\(names(users).joined(separator: ", ")) can open \(step.title) now")
            }
            guard ContinuousClock.now < end else {
                throw CommandFailure(
                    .waiting, "\(names(waiting).joined(separator: ", ")) still waits for approval in \(step.title)",
                    hints: ["tresor members -t \(Shell.word(step.summary.tresor.description))"])
            }
            try await Task.sleep(for: .milliseconds(500))
            Surroundings.current.turns.end()
        }
    }

    private func change(_ step: Step) async throws -> (effect: Effect, state: LogState) {
        var effect = step.effect
        var state = step.state
        if let act = step.act, !command.dryRun {
            let tresor = step.summary.tresor
            (effect, state) = try await ServiceApprovers.perform(act, on: tresor, step.text, session, context) {
                let effect = try await session.tresors.settle(step.due, before: act, shown: step.effect)
                await context.tresors.tell(session)
                return try await session.tresors.perform(
                    act, on: tresor, expecting: effect, acceptingUnverified: command.acceptUnverified)
            }
        }
        effect.already = step.already
        return (effect, state)
    }

    private func report(
        _ effect: Effect, _ step: Step, _ state: LogState, _ proved: [JSON], _ unproved: [Candidate]
    ) throws {
        let (title, terms, output) = (step.title, step.terms, context.output)
        let key = effect.epoch ?? state.epoch
        let would = command.dryRun ? "would be able to" : "can"
        let verb = terms.role == .reader ? "read" : terms.role == .writer ? "read and write" : "read, write and manage"
        for name in names(effect.admitted) {
            let reach = command.fromNow ? "from key \(key) on" : "its history included"
            guard !effect.waits else {
                output.say(
                    "\(name) \(command.dryRun ? "would wait" : "waits") for approval; then they can \(verb) \(title), \(reach)"
                )
                continue
            }
            output.say("\(name) \(would) \(verb) \(title), \(reach)")
        }
        for name in names(effect.changed) {
            output.say("\(name) \(command.dryRun ? "would be" : "is now") \(terms.role) of \(title)")
        }
        for name in names(effect.already.filter { state.waiting[$0] != nil }) {
            output.say("\(name) already waits for approval in \(title)")
        }
        for user in effect.already where state.waiting[user] == nil {
            let role = state.members[user]?.role
            let deed = role == .owner ? "owns" : role == .writer ? "reads and writes" : "reads"
            for name in names([user]) { output.say("\(name) already \(deed) \(title)") }
        }
        if let notAfter = terms.notAfter, !effect.isNothing {
            let date = Timestamp(seconds: notAfter).date
            output.say("the first act of an owner after \(date) removes them; the date alone does not revoke their key")
        }
        if command.dryRun, !command.acceptUnverified {
            for name in names(unproved.map(\.chain.user)) {
                output.say("\(name) is not verified: their safety number is compared before anything is changed")
            }
        }
        guard command.options.json else { return }
        var object: JSONObject = [
            "type": "change", "change": "share", "tresor": .string(state.tresor.description),
            "admitted": ids(effect.admitted), "changed": ids(effect.changed), "already": ids(effect.already),
            "role": .string(terms.role.description),
            "key": .unsigned(command.dryRun ? state.epoch : key),
            "dry_run": .bool(command.dryRun),
        ]
        if effect.waits { object["waiting"] = true }
        if let notAfter = terms.notAfter { object["until"] = .time(notAfter) }
        // Nothing else shows a reader of JSON what a card was pinned with (SPEC §7.5).
        if !proved.isEmpty { object["compared"] = .array(proved) }
        if !unproved.isEmpty { object["unverified"] = ids(unproved.map(\.chain.user)) }
        try output.object(object)
    }

    /// Says of people who wait if nobody may ever add them.
    private func tellWaiting(_ step: Step, _ state: LogState) async {
        let waiting = people.map(\.chain.user).filter { state.waiting[$0] != nil }
        guard !waiting.isEmpty || step.effect.waits else { return }
        let approvers = state.approvers.compactMap { state.chain(of: $0) }
        let word = Shell.word(step.text)
        await ServiceApprovers.sayAbsent(approvers, of: word, session, context)
        ServiceApprovers.sayStranded(waiting, in: state, of: word, context)
    }

    private func names(_ users: [UserID]) -> [String] {
        people.map(\.chain).filter { users.contains($0.user) }.map(context.name(of:))
    }

    private func ids(_ users: [UserID]) -> JSON { .array(users.map { .string($0.description) }) }
}
