// SPDX-License-Identifier: Apache-2.0

public import Tresor
public import TresorCore
public import TresorCrypto
public import TresorStore

/// People on one store, for previews and tests. Each is made in milliseconds, because no password is stretched.
///
/// ```swift
/// let cast = PreviewCast()
/// let anna = try await cast.person("anna")
/// let house = try await cast.person("dr-house")
/// try cast.introduce(anna, house)
/// let plans = try await cast.tresor("interventions", of: anna, readers: [house])
/// ```
///
/// The keys, cards, logs and files are real, and every rule holds for them.
public struct PreviewCast: Sendable {
    /// The store that all people share.
    package let store: any Store
    /// The clock that all people read.
    package let clock: FixedClock

    /// Takes the store and the clock of the people.
    public init(store: any Store = MemoryStore(), clock: FixedClock = FixedClock()) {
        self.store = store
        self.clock = clock
    }

    /// Makes a person, unlocked and published in the store.
    ///
    /// The identity file has a recovery kit as its only key slot, and nobody knows its words: this session is the only
    /// way to the identity.
    ///
    /// - Parameters:
    ///   - handle: the handle.
    ///   - home: a home without an identity.
    /// - Throws: the errors of `Name.init(typed:)` and of `Contacts.publishCard()`.
    public func person(_ handle: String, home: any Home = MemoryHome()) async throws(TresorError) -> Session {
        let identity = try Identity.make(handle: try Name(typed: handle), time: clock.now)
        let kit = try RecoveryKit()
        let slot = try identity.seal(
            under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
            since: clock.now)
        try home.replace(.identity, with: try IdentityFile(of: identity, previous: [], slots: [slot]).bytes)
        let session = Session(
            client: Client(home: home, store: store, clock: clock.read), identity: identity)
        try await session.client.people.publishCard()
        return session
    }

    /// Lets each of these people verify all others, as if they had compared their safety numbers.
    public func introduce(_ people: Session...) throws(TresorError) {
        for one in people {
            for other in people where other.identity.user != one.identity.user {
                try one.client.people.pinBlocking(other.identity.chain)
            }
        }
    }

    /// Makes a tresor and shares it.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - owner: the person who makes it, and who has verified the others.
    ///   - readers: the members who read, with full history.
    ///   - writers: the members who also write.
    /// - Returns: the handle of the tresor, for its owner. Others reach it by `session.tresor(plans.id)`.
    /// - Throws: the errors of `Session.create` and `TresorHandle.share`.
    public func tresor(
        _ name: String, of owner: Session, readers: [Session] = [], writers: [Session] = []
    ) async throws(TresorError) -> TresorHandle {
        let tresor = try await owner.tresors.create(Name(typed: name)).tresor
        for (people, role) in [(readers, Role.reader), (writers, .writer)] where !people.isEmpty {
            let members = people.map(\.identity.chain)
            try await owner.tresors.perform(
                .share(with: members, role: role, fromNow: false, notAfter: nil), on: tresor)
        }
        return owner.tresor(tresor)
    }
}
