// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The log-in by password at a service (SPEC §20.5): it brings the identity to a machine that has nothing but the name and
/// the password. The service learns neither the password nor the identity.
package struct Login: Sendable {
    let client: Client
    let service: any ServiceCaller
    /// The hash of the address of the service, under which a home knows it again.
    let audience: Hash256

    /// - Parameter client: that of a session, to set the log-in; any other one, to log in.
    package init(_ client: Client, at service: any ServiceCaller, audience: Hash256) {
        self.client = client
        self.service = service
        self.audience = audience
    }

    var home: any Home { client.home }

    /// A service that may be told what depends on a password.
    struct Judged {
        let server: Server
        let id: Hash256
        let parameters: LoginParameters
    }

    /// Asks the service who it is, and judges that before anything is sent that depends on a password: a service chooses
    /// no cost outside the bounds, and is the one that this home knows at the address.
    ///
    /// - Throws: ``TresorError/altered`` for another one; the errors of ``ServiceCaller/server()``.
    func judge(for handle: Name) async throws(TresorError) -> Judged {
        let server = try await service.server()
        let parameters = try LoginParameters(server: server, handle: handle)
        let known = try KnownServices.server(at: audience, in: home)
        guard known == nil || known == parameters.server else { throw .altered }
        return Judged(server: server, id: parameters.server, parameters: parameters)
    }
}

/// Opening the identity with name and password.
extension Login {
    /// Logs in. Takes about a second. The home is as before, except for what it knows of the service.
    ///
    /// - Throws: ``TresorError/wrongPassword`` for a wrong password and for a name that nobody has, which nobody can tell
    ///   apart; ``TresorError/busy`` without a word to the service after three of these in a row, and where the service
    ///   takes no more tries; ``TresorError/noAccess`` when the service ended the attempt; ``TresorError/altered`` for a
    ///   service that is not the one that this home knows, that asks for a cost out of bounds, or that shows something else
    ///   than the person left; ``TresorError/forked`` when it shows an older log-in or older keys than this home knows;
    ///   ``TresorError/usage(_:)`` with `identityExists` for a home of somebody else; ``TresorError/unsupported`` for a
    ///   service without such log-ins; the errors of the service and of the home.
    @concurrent package func open(
        _ handle: Name, password: borrowing Password
    ) async throws(TresorError) -> LoggedIn {
        let judged = try await judge(for: handle)
        try Cancellation.check()
        let (answer, proof) = try await prove(
            OPAQUELogin(input: judged.parameters.input(password)), handle, judged)
        let shown = try await service.call(
            FinishLoginRequest(attempt: answer.attempt, message: proof.value.message))
        let opened = try read(shown, of: handle, by: proof, judged)
        try check(opened)
        try KnownLogins.note(shown.statement, in: home)
        try KnownServices.meet(judged.id, at: audience, in: home)
        try KnownLogins.forgetFailures(at: audience, in: home)
        return opened
    }

    /// The time until which this home sends nothing, in seconds since 1970; `nil` if it may send something.
    package func blockedUntil() throws(TresorError) -> UInt64? {
        try KnownLogins.login(at: audience, in: home).blockedUntil(at: client.clock())
    }

    /// Asks for an answer, and opens its envelope. Each answer that does not open is counted: it may have tested a guess.
    private func prove(
        _ begun: consuming OPAQUELogin, _ handle: Name, _ judged: Judged
    ) async throws(TresorError) -> (LoginAnswer, Held<OPAQUELogin.Outcome>) {
        let message = begun.message
        let held = HeldOnce(begun)
        let (names, parameters) = (try judged.parameters.names(), try judged.parameters.parameters())
        let before = try KnownLogins.beginTry(at: audience, client.clock(), in: home)
        do throws(TresorError) {
            let answer = try await service.call(LoginRequest(handle: handle, message: message))
            let proof = try await Cores.apart { () throws(TresorError) in
                Held(try held.take().finish(answer: answer.message, names: names, parameters: parameters))
            }
            try KnownLogins.takeBack(before, at: audience, in: home)
            return (answer, proof)
        } catch {
            if error != .wrongPassword { try? KnownLogins.takeBack(before, at: audience, in: home) }
            throw error
        }
    }

    /// Judges what the service shows of the person who proved the password: all of it hangs together, and their newest keys
    /// signed it.
    private func read(
        _ shown: FinishLoginAnswer, of handle: Name, by proof: Held<OPAQUELogin.Outcome>, _ judged: Judged
    ) throws(TresorError) -> LoggedIn {
        let statement = shown.statement
        guard statement.server == judged.id,
            try statement.record == LoginStatement.hash(ofRecord: proof.value.record),
            try statement.copy == LoginStatement.hash(ofCopy: shown.copy)
        else { throw .altered }
        let copy = try IdentityFile(shown.copy)
        guard let login = copy.login, login == (judged.id, statement.revision), copy.chain.handle == handle,
            copy.chain.newest.generation == statement.generation
        else { throw .altered }
        try statement.verify(by: copy.chain)
        return LoggedIn(identity: try copy.open(withExportKey: proof.value.exportKey), copy: copy)
    }

    /// Checks that a home which is not empty is of the same person, and has no newer keys.
    private func check(_ opened: LoggedIn) throws(TresorError) {
        guard try home.read(.identity) != nil else { return }
        let present = try client.identityFileBlocking().chain
        guard present.user == opened.chain.user else { throw .usage(.identityExists) }
        guard opened.chain.extends(present) else { throw .forked }
    }

    /// Brings the home to the identity and the password of a log-in. Takes about a second.
    ///
    /// An empty home gets the identity with a password slot alone, without pins and pinned heads. A home of the same keys
    /// gets the password. A home of older keys gets the newer ones and loses its other slots: the renewal ended what they
    /// opened.
    ///
    /// - Parameters:
    ///   - cost: the cost of one guess of the password in this home.
    ///   - noting: runs under the home's lock, in one step with the writing of an empty home's identity and before it.
    ///     Returns what takes back what it did, for an identity that is not written.
    /// - Throws: ``TresorError/busy`` when the identity here was changed since; the errors of
    ///   ``SlotChanges/changePassword(to:)``.
    @concurrent package func install(
        _ opened: LoggedIn, password: borrowing Password, cost: Argon2id.Cost,
        noting: @escaping @Sendable () -> @Sendable () -> Void = { {} }
    ) async throws(TresorError) -> Session {
        let session = Session(client: client, identity: opened.identity)
        let present = try home.read(.identity)
        let former = try present.map { (bytes) throws(TresorError) in try IdentityFile(bytes) }
        // Since the log-in, another command may have made newer keys here, or somebody else's identity.
        guard former.map({ opened.chain.extends($0.chain) }) ?? true else { throw .busy }
        if former?.chain == opened.chain {
            try await session.unlocking.changePassword(to: password, cost: cost)
            return session
        }
        let slot = try await Slot.setPasswordApart(
            of: opened.identity, password: password, cost: cost, time: client.clock())
        let file = try IdentityFile(of: opened.identity, previous: opened.copy.previous, slots: [slot])
        try await client.changingSlots { [client] () async throws(TresorError) in
            guard let present, let former else {
                let home = client.home
                return try home.exclusively { () throws(TresorError) in
                    try Recovery.fill(home, with: file, noting: noting)
                }
            }
            var left = CleanupJournal()
            left.kits = Set(former.kitLocator.map { [CleanupJournal.Kit(user: file.chain.user, locator: $0)] } ?? [])
            left.devices = Set(former.devices.map { CleanupJournal.Device(user: file.chain.user, id: $0.id) })
            // Another machine told the store of later keys than this home was about to.
            var told = CleanupJournal()
            told.generations = try client.cleanup.journal().generations
            // Nobody demands the heads any more that former keys told: their thief may have told them.
            try? OwnTresors(session: session).forgetToldBlocking()
            try client.cleanup.replaceIdentity(present, with: file, noting: left, ending: told)
            try client.home.delete(.deviceShare)
        }
        return session
    }
}

/// An identity that a log-in opened, judged and not yet written.
package struct LoggedIn: Sendable {
    let identity: Identity
    /// The login copy.
    let copy: IdentityFile

    /// The card chain of the person.
    package var chain: CardChain { copy.chain }
}
