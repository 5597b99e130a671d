// SPDX-License-Identifier: Apache-2.0

/// Ties a home and a store together: verifies what the store says, remembers what was verified, and opens sessions. It needs no secret; what does
/// is a ``Session``.
public struct Client: Sendable {
    /// What this person keeps. Trusted.
    public let home: any Home
    /// What keeps the data. Not trusted.
    public let store: any Store
    /// Seconds since 1970.
    public let clock: @Sendable () -> UInt64
    /// What this process has folded already.
    let folded = FoldCache()
    /// What this process has read of the home already.
    let recalled = Recalled()
    /// Keeps states in the client of a session; without it every log is folded from its beginning.
    private(set) var keeper: SnapshotStore?
    /// Who is at work, in the client of a session: what the home keeps sealed opens for them.
    private(set) var identity: Identity?

    /// Connects a home with a store.
    ///
    /// - Parameters:
    ///   - home: the trusted storage of one person.
    ///   - store: the shared, untrusted storage.
    ///   - clock: gives seconds since 1970, for the dates in entries and files. A time beyond the limit of the format
    ///     counts as the latest time.
    public init(home: any Home, store: any Store, clock: @escaping @Sendable () -> UInt64) {
        self.home = home
        self.store = store
        self.clock = { min(clock(), Format.latestTime) }
    }

    /// This client at work for somebody whose identity is open. If there is no memory for one more key, it keeps no states.
    func keepingStates(for identity: Identity) -> Client {
        var client = self
        client.keeper = try? SnapshotStore(identity)
        client.identity = identity
        return client
    }

    /// The logs of tresors, verified.
    public var logs: LogReader { LogReader(client: self) }

    /// The local copies of logs.
    package var archive: LogArchive { LogArchive(client: self) }

    /// The people this home knows, and those whom the store offers.
    public var people: Contacts { Contacts(client: self) }

    /// What this home knows of the people in a log.
    public var trust: LogTrust { LogTrust(client: self) }

    /// This device, where it is trusted to unlock the identity.
    public var device: DeviceUnlock { DeviceUnlock(client: self) }

    /// The recovery kit.
    public var recovery: Recovery { Recovery(client: self) }

    /// What an interrupted change left to do.
    public var cleanup: Cleanup { Cleanup(client: self) }

    /// Proofs and repairs that need no secret.
    public var audit: Audit { Audit(client: self) }

    /// The identity file of this home.
    ///
    /// - Throws: ``TresorError/notFound`` when there is none.
    public func identityFile() throws(TresorError) -> IdentityFile {
        guard let bytes = try home.read(.identity) else { throw .notFound }
        return try recalled.identity.value(of: bytes) { (bytes) throws(TresorError) in try IdentityFile(bytes) }
    }

    /// This person's own chain, or `nil` when the home has no identity. An identity file that does not read is an error
    /// and never a stranger's.
    package func ownChain() throws(TresorError) -> CardChain? {
        do throws(TresorError) {
            return try identityFile().chain
        } catch {
            guard error == .notFound else { throw error }
            return nil
        }
    }

    /// Makes a new identity and keeps it. It is not yet published. Blocks for about a second.
    ///
    /// - Throws: ``TresorError/usage`` when the home has an identity already, a handle is not usable, or the password has fewer than 8 code points.
    public func makeIdentity(
        handle: Name, password: borrowing Password, cost: Argon2id.Cost = .standard
    ) throws(TresorError) -> Session {
        guard try home.read(.identity) == nil else { throw .usage }
        let (file, identity) = try IdentityFile.make(handle: handle, password: password, cost: cost, time: clock())
        try cleanup.note(generations: [0])
        try home.exclusively { () throws(TresorError) in
            guard try home.read(.identity) == nil else { throw .usage }
            try home.replace(.identity, with: file.bytes)
        }
        return Session(client: self, identity: identity)
    }

    /// Opens this home's identity with the password. Blocks for about a second.
    ///
    /// - Throws: ``TresorError/notFound``, ``TresorError/wrongPassword``, ``TresorError/altered``.
    public func unlock(password: borrowing Password) throws(TresorError) -> Session {
        Session(client: self, identity: try identityFile().open(password: password))
    }

    /// Puts this person's card chain into the store.
    ///
    /// - Throws: ``TresorError/unverified`` when the handle belongs to somebody else there; ``TresorError/forked`` when the store has another chain of
    ///   this user id; ``TresorError/store(_:)`` when it did not keep what it accepted.
    public func publishCard() async throws(TresorError) {
        let chain = try identityFile().chain
        let present = try await store.card(of: chain.user)
        if let present, !chain.extends(try CardChain(present)) { throw .forked }
        let outcome = try await store.putCard(
            chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: present)
        guard try await store.card(of: chain.user) != chain.bytes else {
            if chain.newest.generation == 0 { try cleanup.unnoteIntroduction(of: 0) }
            return
        }
        guard outcome == .conflict else { throw .store(.notStored) }
        let isTaken = try await store.cards(handle: chain.handle.bytes).contains { bytes in
            (try? CardChain(bytes))?.user != chain.user
        }
        throw isTaken ? .unverified : .busy
    }
}
