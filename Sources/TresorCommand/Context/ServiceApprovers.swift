// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The people whom a service demands as approvers of each share.
enum ServiceApprovers {
    /// Performs an act, and says why if the service refuses it for want of approvers.
    ///
    /// - Parameter text: the tresor as it was typed.
    static func perform<Answer>(
        _ act: Act, on tresor: TresorID, _ text: String, _ session: Session, _ context: CommandContext,
        _ change: () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await Interrupts.atomically(change)
        } catch TresorError.noAccess {
            // The rules allow the act, so it is the service that does not.
            guard let state = try? await context.tresors.state(of: tresor),
                (try? session.tresors.effectBlocking(of: act, in: state)) != nil
            else { throw TresorError.noAccess }
            throw await failure(of: act, in: state, text, session, context)
        }
    }

    /// The failure of an act that a service refused: it names the approvers that the tresor lacks.
    private static func failure(
        of act: Act, in state: LogState, _ text: String, _ session: Session, _ context: CommandContext
    ) async -> any Error {
        guard let service = AskedService(session, context),
            let demanded = try? await service.call(ServerRequest()).approvers.compactMap({ try? CardChain($0) }),
            !demanded.contains(where: { $0.user == session.identity.user })
        else { return TresorError.noAccess }
        var approvers = state.approvers.compactMap { state.chain(of: $0) }
        if case .setApprovers(let chains) = act.kind { approvers = chains }
        let missing = demanded.filter { chain in !approvers.contains { $0.user == chain.user } }
        guard !missing.isEmpty else { return TresorError.noAccess }
        let names = missing.map { DisplayText.name($0.handle.bytes) }.joined(separator: ", ")
        return CommandFailure(
            of: .noAccess, "\(service.place) demands that \(names) can approve each share",
            hints: hints(to: act, missing, beside: approvers, in: state, Shell.word(text)))
    }

    /// The ways out: nobody who is in a tresor approves in it, but an owner whom the service demands needs no approver.
    private static func hints(
        to act: Act, _ missing: [CardChain], beside approvers: [CardChain], in state: LogState, _ tresor: String
    ) -> [String] {
        func words(_ chains: [CardChain]) -> String {
            chains.map { Shell.word($0.handle, or: $0.user) }.joined(separator: " ")
        }
        if let owner = missing.first(where: { state.members[$0.user]?.role == .owner }) {
            guard case .share(let people, _, _, _) = act.kind else { return [] }
            return ["ask \(words([owner])) to run: tresor share -t \(tresor) \(words(people))"]
        }
        let inside = missing.filter { state.isIn($0.user) }
        let revoke = inside.isEmpty ? [] : ["tresor revoke -t \(tresor) \(words(inside))"]
        return revoke + ["tresor rotate -t \(tresor) --approver \(words(approvers + missing))"]
    }
}

/// People who would wait for ever.
extension ServiceApprovers {
    /// Says which approvers have no open account at the service, if it is one and answers: they cannot approve.
    static func sayAbsent(
        _ approvers: [CardChain], of tresor: String, _ session: Session, _ context: CommandContext
    ) async {
        guard let service = AskedService(session, context) else { return }
        var absent: [CardChain] = []
        for chain in approvers {
            guard let found = try? await service.call(CardsRequest(handle: chain.handle.bytes)).chains else { return }
            if !found.contains(where: { (try? CardClaim(newestIn: $0))?.user == chain.user }) { absent.append(chain) }
        }
        guard !absent.isEmpty else { return }
        let names = absent.map(context.name(of:)).joined(separator: ", ")
        context.output.say(
            "\(names) has no open account at \(service.place) and cannot approve; an owner names others: "
                + HintCompletion.command("rotate -t \(tresor) --approver PERSON"))
    }

    /// Says of people who wait although nobody approves any more, how an owner adds them.
    static func sayStranded(_ users: [UserID], in state: LogState, of tresor: String, _ context: CommandContext) {
        guard state.approvers.isEmpty else { return }
        for user in users.sorted() {
            guard let person = state.waiting[user], let chain = state.chain(of: user) else { continue }
            let word = Shell.word(chain.handle, or: user)
            let role = person.role == .reader ? "" : " --role \(person.role)"
            let terms = role + (person.history == .all ? "" : " --from-now")
            context.output.say(
                "nobody approves any more, and \(context.tresors.handle(of: user, in: state)) still waits; to add them: "
                    + HintCompletion.command("revoke -t \(tresor) \(word)") + " and then "
                    + HintCompletion.command("share -t \(tresor) \(word)\(terms)"))
        }
    }
}
