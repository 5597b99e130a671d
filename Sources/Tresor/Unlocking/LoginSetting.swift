// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Setting the log-in of a session's person, which needs the identity and no former password.
extension Login {
    /// An account after its log-in was set.
    package struct Registered: Sendable {
        package let state: AccountState
        /// The account as it was before; `nil` for one that has just begun, or is closed.
        package let before: AccountAnswer?
        /// Whether the log-in was set now.
        package let isSet: Bool
        /// Whether another machine set it since this home last saw it.
        package var isSetElsewhere = false
    }

    /// Registers with a password, resumes a registration, or sets the log-in of an account anew. Takes about a second.
    ///
    /// A log-in that opens the newest keys is left as it is in a home that knows it, unless its password is to be another
    /// one: in a new home it may still open with a former password. Each call may be repeated.
    ///
    /// - Parameters:
    ///   - invitation: the code of an invitation; empty for none.
    ///   - replaces: whether the password takes the place of that of a log-in which is good.
    ///   - telling: takes the account as it was before anything of it is replaced.
    /// - Throws: ``TresorError/usage(_:)`` with `passwordTooShort` for fewer than 8 code points;
    ///   ``TresorError/altered`` for a service that is not the one that this home knows, that asks for a cost out of bounds,
    ///   or that shows a statement of somebody else; ``TresorError/forked`` for an older statement than this home knows, or
    ///   none; ``TresorError/store(_:)`` with `notStored` when the service did not keep what it accepted;
    ///   ``TresorError/unsupported`` for a service without such log-ins; ``TresorError/busy`` when another process changed
    ///   the identity; the errors of the service and of the home.
    @concurrent package func register(
        _ password: borrowing Password, invitation: [UInt8] = [], replaces: Bool = false,
        telling: @Sendable (AccountAnswer) -> Void = { _ in }
    ) async throws(TresorError) -> Registered {
        guard password.count >= Password.shortestNew else { throw .usage(.passwordTooShort) }
        guard let identity = client.identity else { throw .noAccess }
        let judged = try await judge(for: identity.handle)
        try Cancellation.check()
        let registration = try OPAQUERegistration(input: judged.parameters.input(password))
        let message = registration.message
        let begun = HeldOnce(registration)
        let answer = try await call(
            RegisterRequest(chain: identity.chain.bytes, invitation: invitation, blinded: message))
        guard answer.state != .closed else { return Registered(state: .closed, before: nil, isSet: false) }
        let known = try knownStatement(at: judged.id)
        guard answer.state != .asked || known?.hasPassword != true else { throw .forked }
        if answer.state != .active { try Session(client: client, identity: identity).unlocking.awaitKitCopy() }
        let before = answer.state == .asked ? nil : try await account(at: judged.id)
        if let before { telling(before) }
        if let before, known != nil, !replaces, Self.isGood(before, for: identity) {
            return Registered(
                state: answer.state, before: before, isSet: false, isSetElsewhere: before.statement != known)
        }
        let request = try await finish(
            begun, answer, revision: before?.statement?.revision ?? 0, by: identity, judged)
        let state = try await call(request).state
        let after = try await account(at: judged.id)
        guard after.statement == request.statement, after.hasRecord else { throw .store(.notStored) }
        try KnownLogins.forgetFailures(at: audience, in: home)
        return Registered(state: state, before: before, isSet: true)
    }

    /// Registers as ``register(_:invitation:replaces:telling:)`` does, and makes sure that the log-in has the password. One
    /// that the password opens is left as it is, with its count of failures.
    ///
    /// - Returns: the state of the account.
    /// - Throws: the errors of ``register(_:invitation:replaces:telling:)``.
    func ensure(_ password: borrowing Password, invitation: [UInt8]) async throws(TresorError) -> AccountState {
        if try await opensNewestKeys(password) { return .active }
        return try await register(password, invitation: invitation, replaces: true).state
    }

    /// Whether a password opens the newest keys at the service. The log-in of an account that waits cannot be tried.
    ///
    /// - Throws: the errors of ``account()`` and ``open(_:password:)``, unless they say that it does not.
    private func opensNewestKeys(_ password: borrowing Password) async throws(TresorError) -> Bool {
        guard let identity = client.identity else { throw .noAccess }
        do throws(TresorError) {
            let account = try await account()
            guard account.state == .active, Self.isGood(account, for: identity) else { return false }
            return try await open(identity.handle, password: password).chain == identity.chain
        } catch {
            guard error == .noAccess || error == .waiting || error == .wrongPassword else { throw error }
            return false
        }
    }

    /// Whether the log-in of an account opens the newest keys.
    private static func isGood(_ account: AccountAnswer, for identity: Identity) -> Bool {
        account.hasRecord && account.statement?.generation == identity.generation
    }

    /// Asks for the account of the person, and notes the statement about their log-in.
    ///
    /// - Throws: the errors of ``register(_:invitation:replaces:)``; ``TresorError/noAccess`` without an account.
    @concurrent package func account() async throws(TresorError) -> AccountAnswer {
        guard let identity = client.identity else { throw .noAccess }
        return try await account(at: try await judge(for: identity.handle).id)
    }

    private func account(at server: Hash256) async throws(TresorError) -> AccountAnswer {
        guard let identity = client.identity else { throw .noAccess }
        let account = try await call(AccountRequest())
        guard let statement = account.statement else {
            guard try knownStatement(at: server)?.hasPassword != true else { throw .forked }
            return account
        }
        guard statement.server == server else { throw .altered }
        try statement.verify(by: identity.chain)
        try KnownLogins.note(statement, in: home)
        return account
    }

    /// The newest statement of the person that the home has seen of a service.
    private func knownStatement(at server: Hash256) throws(TresorError) -> LoginStatement? {
        try KnownLogins.login(at: server, in: home).statement.flatMap { $0.user == client.identity?.user ? $0 : nil }
    }

    /// Makes the record and the login copy, and signs what both are.
    private func finish(
        _ begun: HeldOnce<OPAQUERegistration>, _ answer: RegisterAnswer, revision: UInt64, by identity: Identity,
        _ judged: Judged
    ) async throws(TresorError) -> FinishRequest {
        guard revision < .max else { throw .altered }
        let (names, parameters) = (try judged.parameters.names(), try judged.parameters.parameters())
        let serverKey = judged.server.key.bytes
        let outcome = try await Cores.apart { () throws(TresorError) in
            Held(
                try begun.take().finish(
                    evaluated: answer.evaluated, serverKey: serverKey, names: names, parameters: parameters))
        }
        let file = try client.identityFileBlocking()
        guard file.chain == identity.chain else { throw .busy }
        try file.prove(with: identity)
        let time = client.clock()
        let copy = try file.loginCopy(
            of: identity, exportKey: outcome.value.exportKey, server: judged.id, revision: revision + 1, time: time
        ).bytes
        let record = outcome.value.record
        let statement = try LoginStatement(
            by: identity, server: judged.id, revision: revision + 1, record: LoginStatement.hash(ofRecord: record),
            copy: LoginStatement.hash(ofCopy: copy), time: time)
        return FinishRequest(record: record, statement: statement, copy: copy)
    }

    /// Sends a request in the name of the person.
    private func call<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer {
        guard let caller = client.caller else { throw .noAccess }
        return try await service.speaking(as: caller).call(request)
    }
}
