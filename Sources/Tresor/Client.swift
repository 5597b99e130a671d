// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// Connects a home with a store: it verifies the store's data, remembers what it verified, and opens sessions.
///
/// It needs no secret; a ``Session`` holds the secrets.
public struct Client: Sendable {
    /// The trusted side: the identity, the pins and the pinned heads of one person.
    package var home: any Home { operation.home }
    /// The untrusted side: cards, logs, wraps and server shares.
    package var store: any Store { guardedStore }
    var guardedStore: GuardedStore {
        GuardedStore(base: place.store, identity: identity, caller: caller)
    }
    /// The store, if it keeps what no entry names until somebody deletes it; `nil` for any other.
    package var hoardingStore: (any UnnamedBlobStore)? {
        place.store is any UnnamedBlobStore ? guardedStore : nil
    }
    /// Whether the store is a service.
    package var isRemote: Bool { guardedStore.remote != nil }
    /// The log-in at the service that is the store.
    ///
    /// - Throws: ``TresorError/unsupported`` for a store that has none.
    var login: Login {
        get throws(TresorError) {
            guard let service = guardedStore.remote else { throw .unsupported }
            return Login(self, at: service.serviceCaller, audience: try service.audience.hash())
        }
    }
    /// The person of this session, on this device. Without an identity, who was named; `nil` for nobody.
    package var caller: Caller? {
        identity.map { Caller.person($0, device: { [self] in device.trustedBlocking() }, from: home) } ?? place.named
    }
    /// The time in seconds since 1970.
    package var clock: @Sendable () -> UInt64 { operation.clock }
    /// The unlocked identity of a session's client; it opens what the home keeps sealed.
    var identity: Identity? { operation.person }
    /// The name of the store, as the person of this home gave it; `nil` where nobody did.
    var storeName: StoreName? { place.name }
    /// The person, the clock, and what was read.
    let operation: Operation
    private let place: Place
    /// The states that this process has folded.
    let folded: FoldCache
    /// The calls that tell the program around it something, and its waits.
    package var hooks = ClientHooks()

    /// A store, with the name that the person of the home gave it.
    private struct Place: Sendable {
        let store: any Store
        let name: StoreName?
        /// The person or device in whose name a client without an identity calls; `nil` for nobody.
        var named: Caller?
    }

    /// Makes a client that holds no secret.
    ///
    /// - Parameters:
    ///   - home: the trusted side.
    ///   - store: the untrusted side.
    ///   - clock: gives seconds since 1970. Entries and files carry its dates. A time after the last one of the format
    ///     counts as that one.
    public init(home: any Home, store: any Store, clock: @escaping @Sendable () -> UInt64) {
        self.init(home: home, store: store, named: nil, clock: clock)
    }

    /// Makes a client of a home that may use several stores.
    ///
    /// - Parameters:
    ///   - name: the name of the store, as the person gave it.
    ///   - turns: the turns for which it holds what it read; `nil` where every step reads home and store.
    package init(
        home: any Home, store: any Store, named name: StoreName?, turns: Turns? = nil,
        clock: @escaping @Sendable () -> UInt64
    ) {
        operation = Operation(home: home, turns: turns) { min(clock(), Format.latestTime) }
        place = Place(store: store, name: name)
        folded = FoldCache()
    }

    private init(_ other: Client, operation: Operation, place: Place, folded: FoldCache) {
        self.operation = operation
        self.place = place
        self.folded = folded
        hooks = other.hooks
    }

    /// Returns this client on another store, which nobody named.
    func reading(_ store: any Store) -> Client {
        Client(
            self, operation: operation.onOtherStore, place: Place(store: store, name: nil, named: place.named),
            folded: FoldCache())
    }

    /// Returns this client, which calls its store in the name of somebody as long as it has no identity.
    func speaking(as caller: Caller) -> Client {
        var named = place
        named.named = caller
        return Client(self, operation: operation, place: named, folded: folded)
    }

    /// Returns this client for the person who unlocked its identity.
    func opened(by identity: Identity) -> Client {
        Client(self, operation: Operation(operation, as: identity), place: place, folded: folded)
    }

    /// Makes a change that has to go on to its end once it has begun, although its task is cancelled or its session is
    /// locked by then. It may wait for the home's lock, and runs on threads of its own.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `locked` for a session that is locked before; the errors of `steps`.
    package func uninterrupted<Value: Sendable>(
        _ steps: @escaping @Sendable () async throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        guard let identity else { return try await Cancellation.ignored(steps) }
        return try await identity.changes.counting { () async throws(TresorError) in
            try operation.view.checkUnlocked()
            return try await Cancellation.ignored(steps)
        }
    }

    /// Makes a change of the key slots, which goes on to its end once it has begun, while no other task or process makes
    /// one in this home (SPEC §8.4).
    ///
    /// - Throws: ``TresorError/busy`` after a minute without the slot lock; ``TresorError/cancelled`` for a task that is
    ///   cancelled before it has the lock; the errors of ``uninterrupted(_:)``.
    func changingSlots<Value: Sendable>(
        _ steps: @escaping @Sendable () async throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        let lock = try await hooks.slotWait.lock(home)
        let value = try await uninterrupted(steps)
        _ = consume lock
        return value
    }

    /// The verified logs of tresors.
    package var logs: LogReader { LogReader(client: self) }

    /// The local copies of logs.
    package var archive: LogArchive { LogArchive(client: self) }

    /// The people whom this home knows, and those whom the store offers.
    public var people: Contacts { Contacts(client: self) }

    /// The trust of this home in the people whom a log names.
    package var trust: LogTrust { LogTrust(client: self) }

    /// The unlocking of the identity by this device.
    public var device: DeviceUnlock { DeviceUnlock(client: self) }

    /// The unlocking of the identity by its recovery kit.
    package var recovery: Recovery { Recovery(client: self) }

    /// The rest of a change that was interrupted.
    package var cleanup: Cleanup { Cleanup(client: self) }

    /// The proofs and repairs that need no secret.
    package var audit: Audit { Audit(client: self) }

    /// The exports of tresors, which people carry from one store to another.
    package var exchange: LogTransfer { LogTransfer(client: self) }

    /// Reads the identity file of this home (SPEC §8).
    ///
    /// - Throws: ``TresorError/notFound`` when there is none; ``TresorError/altered`` or ``TresorError/unsupported``
    ///   when it does not decode.
    package func identityFileBlocking() throws(TresorError) -> IdentityFile {
        let file = try decoded(.identity) { (bytes) throws(TresorError) in try IdentityFile(bytes) }
        guard let file else { throw .notFound }
        return file
    }

    /// Makes a new identity and keeps it in the home, unpublished (SPEC §7, §8). Takes about a second.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `identityExists` when the home already has an identity, with
    ///   `nameEmpty` for an empty handle, and with `passwordTooShort` for a password of fewer than 8 code points;
    ///   ``TresorError/cancelled`` for a task that was cancelled before the home changed.
    @concurrent package func makeIdentity(
        handle: Name, password: borrowing Password, cost: Argon2id.Cost = .standard
    ) async throws(TresorError) -> Session {
        let password = Held(try Password(copying: password))
        try Cancellation.check()
        let (file, identity) = try await Cores.apart { () throws(TresorError) in
            guard try home.read(.identity) == nil else { throw .usage(.identityExists) }
            return try IdentityFile.make(handle: handle, password: password.value, cost: cost, time: clock())
        }
        try await changingSlots { () async throws(TresorError) in
            try cleanup.note(generations: [0])
            try home.exclusively { () throws(TresorError) in
                guard try home.read(.identity) == nil else { throw .usage(.identityExists) }
                try home.replace(.identity, with: file.bytes)
            }
        }
        return Session(client: self, identity: identity)
    }

    /// Opens this home's identity with the password (SPEC §8.1). Takes about a second.
    ///
    /// - Throws: ``TresorError/notFound`` without an identity file; ``TresorError/wrongPassword``;
    ///   ``TresorError/altered`` when the file is not what its owner wrote; ``TresorError/cancelled`` for a task that
    ///   was cancelled.
    @concurrent public func unlock(password: borrowing Password) async throws(TresorError) -> Session {
        let password = Held(try Password(copying: password))
        try Cancellation.check()
        let identity = try await Cores.apart { () throws(TresorError) in
            try identityFileBlocking().open(withPassword: password.value)
        }
        try Cancellation.check()
        return Session(client: self, identity: identity)
    }
}

/// What a client tells the program around it, and how it waits.
package struct ClientHooks: Sendable {
    /// How a change of the key slots waits for another one.
    package var slotWait = SlotWait()
    /// Called where a verified log shows newer keys of this person than the session has.
    package var showsNewerKeys: @Sendable () -> Void = {}
    /// Called with an object of the home that does not decode, and the error.
    package var meetsDamaged: @Sendable (HomeObject, TresorError) -> Void = { _, _ in }
    /// Called with the person for whom an act throws ``TresorError/unverified``.
    package var meetsUnverified: @Sendable (CardChain) -> Void = { _ in }
    /// Called with a tresor, and its name as far as it is known, where an entry of this process leaves behind the stores to
    /// which exports carry it.
    package var leavesBehind: @Sendable (TresorID, Name?) -> Void = { _, _ in }
}
