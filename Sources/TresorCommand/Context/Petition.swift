// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// People who wait for this home's person: by a share of a tresor, or for an account of a service.
enum Petition: Sendable {
    case share(PendingGrant)
    case account(Applicant, AskedService)

    /// Everything that waits, shares first.
    static func all(_ session: Session, _ context: CommandContext) async throws -> [Petition] {
        var all: [Petition] = []
        for summary in try await session.tresors.all() {
            guard let state = summary.state, state.approvers.contains(session.user) else { continue }
            all += PendingGrant.all(in: state).map { .share($0) }
        }
        guard let service = AskedService(session, context) else { return all }
        do throws(TresorError) {
            let applicants = try await Applicant.all(at: service)
            return all + applicants.map { Petition.account($0, service) }
        } catch {
            // Everybody may approve shares; accounts are for the operator alone.
            guard error == .noAccess else { throw CommandFailure(error) }
            return all
        }
    }

    /// The hash of the grant, or the user id.
    var hash: Hash256 {
        switch self {
        case .share(let pending): pending.grant
        case .account(let applicant, _): applicant.chain.user.digest
        }
    }

    private var id: String {
        switch self {
        case .share(let pending): String(Base32.text(pending.grant.bytes).prefix(10))
        case .account(let applicant, _): applicant.id
        }
    }

    /// The people, for a message.
    var who: String {
        switch self {
        case .share(let pending): pending.people.map { DisplayText.name($0.handle.bytes) }.joined(separator: ", ")
        case .account(let applicant, _): applicant.handle
        }
    }

    /// The people about whom an approval decides.
    var people: [CardChain] {
        switch self {
        case .share(let pending): pending.people
        case .account(let applicant, _): [applicant.chain]
        }
    }

    /// The person who asks for an account; `nil` for a share.
    var applicant: CardChain? { if case .account(let applicant, _) = self { applicant.chain } else { nil } }

    /// The grant by which people wait; `nil` for an account.
    var pending: PendingGrant? { if case .share(let pending) = self { pending } else { nil } }

    /// The tresor of a share.
    var tresor: TresorID? { pending?.tresor }

    var isPlural: Bool { if case .share(let pending) = self { pending.people.count > 1 } else { false } }

    /// The state of the people before a decision.
    var state: String {
        if case .account(let applicant, _) = self, !applicant.isComplete { "asked" } else { "waiting" }
    }

    /// Checks that they have sent all that the operator admits.
    ///
    /// - Throws: ``CommandFailure`` for somebody who can only be refused.
    func checkComplete() throws(CommandFailure) {
        guard case .account(let applicant, _) = self, !applicant.isComplete else { return }
        throw CommandFailure(
            .noAccess,
            "\(who) has asked, and not sent everything: they run tresor register again first; --refuse frees the handle",
            hints: ["tresor … --refuse"])
    }

    /// The state of the people after an approval.
    var approvedState: String { if case .share = self { "approved" } else { "admitted" } }

    /// One row of the list.
    var cells: [String] {
        switch self {
        case .share(let pending):
            [
                id, "share", who, pending.role.description, history(of: pending),
                pending.notAfter.map { Timestamp(seconds: $0).date } ?? "-",
                DisplayText.name(pending.founder.handle.bytes), Timestamp(seconds: pending.time).date,
            ]
        case .account(let applicant, _):
            [
                id, applicant.isComplete ? "account" : "account (asked)", applicant.handle, "-", "-", "-",
                applicant.label.isEmpty ? "-" : DisplayText.name(applicant.label.bytes), applicant.date,
            ]
        }
    }

    private func history(of pending: PendingGrant) -> String {
        switch pending.history {
        case .all: "all"
        case .from(let epoch): "key \(epoch) on"
        }
    }

    /// The lines before a question: who gets which rights, with all safety numbers.
    func lines(_ context: CommandContext) throws -> [String] {
        func verified(_ chain: CardChain) throws -> String {
            switch try Self.trust(in: chain, context) {
            case .me, .verified: "verified"
            case .unverified, .renewed: "not verified"
            case .changed: "another person than the one you verified under this handle"
            case nil: "another card than the one you verified"
            }
        }
        switch self {
        case .account(let applicant, _): return [try applicant.row(try verified(applicant.chain))]
        case .share(let pending):
            func person(_ chain: CardChain) throws -> String {
                "\(context.name(of: chain))  \(try chain.number().grouped)  \(try verified(chain))"
            }
            let until = pending.notAfter.map { ", until \(Timestamp(seconds: $0).date)" } ?? ""
            let rights = "\(pending.role), history: \(history(of: pending))\(until)"
            return ["  \(id)  \(rights), asked \(Timestamp(seconds: pending.time).date)"]
                + (try pending.people.map { "    who    \(try person($0))" })
                + ["    of     \(try person(pending.founder))"]
                + (pending.author.user == pending.founder.user ? [] : ["    by     \(try person(pending.author))"])
        }
    }

    /// The reason to believe a chain; `nil` for a card that is not of the line that this home knows. Such a one may be refused.
    private static func trust(in chain: CardChain, _ context: CommandContext) throws(TresorError) -> Person.Trust? {
        do throws(TresorError) { return try context.client.people.trustBlocking(in: chain) } catch {
            guard error == .forked else { throw error }
            return nil
        }
    }

    func object(state: String, _ context: CommandContext) throws -> JSONObject {
        switch self {
        case .account(let applicant, _): return try applicant.object(state: state)
        case .share(let pending):
            var object: JSONObject = [
                "type": "pending_share", "id": .string(Base32.text(pending.grant.bytes)),
                "tresor": .string(pending.tresor.description),
                "owner": .text(pending.founder.handle.bytes), "owner_id": .string(pending.founder.user.description),
                "asked_by": .string(pending.author.user.description), "asked": .time(pending.time),
                "role": .string(pending.role.description),
                "people": .array(
                    try pending.people.map { chain in
                        .object([
                            "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
                            "number": .string(try chain.number().grouped),
                            "verified": .bool(try Self.trust(in: chain, context)?.isVerified == true),
                        ])
                    }),
                "state": .string(state),
            ]
            if let notAfter = pending.notAfter { object["until"] = .time(notAfter) }
            if case .from(let epoch) = pending.history { object["from_key"] = .unsigned(epoch) }
            return object
        }
    }
}

/// A person who asks the operator of a service for an account.
struct Applicant: Sendable {
    let chain: CardChain
    /// The label of their invitation; empty for none.
    let label: Name
    /// The time of asking by the service's account, in seconds since 1970.
    let asked: UInt64
    /// Whether they have sent all that is needed. Others can only be refused.
    let isComplete: Bool

    /// The most people who are believed to wait.
    private static let most = 1 << 16

    /// Reads all pages.
    ///
    /// - Throws: ``TresorError/noAccess`` for everybody but the operator; ``TresorError/altered`` for what is no card;
    ///   ``TresorError/store(_:)`` for pages that do not go on.
    static func all(at service: AskedService) async throws(TresorError) -> [Applicant] {
        var all: [Applicant] = []
        while true {
            let page = try await service.call(InboxRequest(after: all.last?.chain.user.digest ?? .zero))
            for waiting in page.cases {
                let chain = try CardChain(waiting.chain)
                guard all.last.map({ $0.chain.user < chain.user }) ?? true, all.count < most else {
                    throw .store(.foreign)
                }
                all.append(
                    Applicant(
                        chain: chain, label: waiting.label, asked: waiting.asked,
                        isComplete: waiting.state == .complete))
            }
            if !page.more { return all }
        }
    }

    var id: String { ShortID.text(of: chain.user) }
    var handle: String { DisplayText.name(chain.handle.bytes) }
    var date: String { Timestamp(seconds: asked).date }

    /// One line for a question.
    ///
    /// - Parameter trust: whether their number was compared.
    func row(_ trust: String) throws(TresorError) -> String {
        let words = label.isEmpty ? "" : "  \(DisplayText.name(label.bytes))"
        let state = isComplete ? "" : ", and has not sent everything"
        return "  \(id)  \(handle)  \(try chain.number().grouped)  \(trust)  asked \(date)\(state)\(words)"
    }

    func object(state: String) throws(TresorError) -> JSONObject {
        [
            "type": "applicant", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "number": .string(try chain.number().grouped), "label": .text(label.bytes), "asked": .time(asked),
            "state": .string(state),
        ]
    }
}
