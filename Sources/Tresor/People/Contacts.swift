// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// A person offered by a store, with this home's trust in them.
public struct Person: Hashable, Identifiable, Sendable {
    /// The reason to believe that a chain belongs to a person.
    public enum Trust: Hashable, Sendable {
        /// The owner of this home.
        case me
        /// A person whose safety number was compared.
        case verified
        /// A person with newer keys than those whose safety number was compared; compare again.
        case renewed(since: CardChain)
        /// A person whose handle is pinned to another person.
        case changed(from: CardChain)
        /// A person whose safety number was never compared.
        case unverified

        /// Whether an act may rely on this person.
        package var isVerified: Bool { self == .me || self == .verified }
    }

    /// The public card chain.
    public let chain: CardChain
    /// The reason to believe the chain.
    public let trust: Trust

    /// Makes a person, for example for a preview. The trust that is stated here convinces no operation of a client.
    package init(chain: CardChain, trust: Trust) {
        self.chain = chain
        self.trust = trust
    }

    /// The user id.
    public var user: UserID { chain.user }

    /// The user id.
    public var id: UserID { user }

    /// The handle.
    public var handle: Name { chain.handle }

    /// The safety number, which two people compare once (SPEC §7.4).
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package func number() throws(TresorError) -> SafetyNumber { try chain.number() }
}

/// Looks up the people whom this home has verified, and those whom the store offers (SPEC §7.5).
public struct Contacts: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }
    private var clock: @Sendable () -> UInt64 { client.clock }

    /// Reads this person's own chain; `nil` when the home has no identity.
    ///
    /// An identity file that does not decode is an error: the person is not taken for a stranger.
    package func ownChain() throws(TresorError) -> CardChain? {
        do throws(TresorError) {
            return try client.identityFileBlocking().chain
        } catch {
            guard error == .notFound else { throw error }
            return nil
        }
    }

    /// Returns the user id of this home; `nil` when it has no identity.
    ///
    /// - Throws: the errors of ``ownChain()``.
    func ownUser() throws(TresorError) -> UserID? {
        if let identity = client.identity { return identity.user }
        return try ownChain()?.user
    }

    /// Puts this person's card chain into the store (SPEC §7.3, §11).
    ///
    /// - Throws: ``TresorError/unverified`` when the handle belongs to another person there; ``TresorError/forked``
    ///   when the store has another chain of this user id; ``TresorError/altered`` when it shows somebody else's;
    ///   ``TresorError/store(_:)`` when it did not keep what it
    ///   accepted; ``TresorError/cancelled`` for a task that was cancelled before the card was sent.
    @concurrent public func publishCard() async throws(TresorError) {
        try await publish(try client.identityFileBlocking().chain)
    }

    /// Does what ``publishCard()`` does with a chain of this person that the home does not have yet.
    func publish(_ chain: CardChain) async throws(TresorError) {
        let present: CardChain?
        do throws(TresorError) {
            present = try await offeredChain(of: chain.user)
        } catch {
            guard error == .noAccess, chain.newest.generation > 0 else { throw error }
            return try await publishUnseen(chain)
        }
        if let present, !chain.extends(present) { throw .forked }
        try Cancellation.check()
        try await client.uninterrupted { () async throws(TresorError) in
            try await publish(chain, replacing: present?.bytes)
        }
    }

    /// Publishes a generation that a service has not seen. By its keys, the service lets nobody read: the chain there is
    /// one of the beginnings of this one.
    private func publishUnseen(_ chain: CardChain) async throws(TresorError) {
        try Cancellation.check()
        try await client.uninterrupted { () async throws(TresorError) in
            for count in (1..<chain.cards.count).reversed() {
                let former = chain.cards.prefix(count).flatMap(\.bytes)
                let outcome = try await store.putCard(
                    chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: former)
                guard outcome == .done else { continue }
                guard try await store.card(of: chain.user) == chain.bytes else { throw .store(.notStored) }
                return
            }
            throw .busy
        }
    }

    private func publish(_ chain: CardChain, replacing present: [UInt8]?) async throws(TresorError) {
        let outcome = try await store.putCard(
            chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: present)
        guard try await store.card(of: chain.user) != chain.bytes else {
            if chain.newest.generation == 0 { try client.cleanup.unnoteIntroduction(of: 0) }
            return
        }
        guard outcome == .conflict else { throw .store(.notStored) }
        let isTaken = try await store.shownChains(under: chain.handle).contains { shown in
            (try? shown.chain(of: chain.user)) == nil
        }
        throw isTaken ? .unverified : .busy
    }

    /// Returns all people whose safety number was compared, with the cards that were compared. Reads the home alone.
    @concurrent public func verified() async throws(TresorError) -> [Person] {
        try pinnedBlocking().filter { !$0.isReplaced }.map { Person(chain: $0.chain, trust: .verified) }
    }

    /// Returns all people whom this home has verified.
    package func pinnedBlocking() throws(TresorError) -> [Pin] { try client.pins().pins }

    /// Returns the people meant by a handle, or by a user id of at least 6 characters (SPEC §9.12).
    ///
    /// If this home knows a person by that handle or id, people known to the store alone are left out. A handle that
    /// looks like a friend's id then means the friend.
    ///
    /// - Throws: ``TresorError/altered`` when the store offers something that is no card of that person;
    ///   ``TresorError/forked`` when it offers an older or different card of a pinned person.
    @concurrent public func lookup(_ text: String) async throws(TresorError) -> [Person] {
        let pins = try client.pins()
        let handle = try? Name(typed: text)
        var known: [Person] = []
        let mine = try ownChain()
        if let mine, mine.handle == handle || Base32.namedBy(text, mine.user.digest.bytes) {
            known.append(Person(chain: mine, trust: .me))
        }
        if let handle, mine?.handle != handle {
            for pin in pins[handle: handle] { known.append(try await person(pin.chain.user, pins: pins)) }
        }
        for user in pins.pins.map(\.chain.user) where Base32.namedBy(text, user.digest.bytes) {
            if !known.contains(where: { $0.chain.user == user }) { known.append(try await person(user, pins: pins)) }
        }
        guard known.isEmpty else { return known }
        return try await offeredPeople(named: text, handle: handle, pins: pins)
    }

    /// Returns the people whom the store offers under a handle that this home has pinned to others alone.
    ///
    /// The handle stands for those who are pinned; a program mentions that there are others.
    @concurrent package func impostors(of handle: Name) async throws(TresorError) -> [Person] {
        let pins = try client.pins()
        guard !pins[handle: handle].isEmpty else { return [] }
        return try await offeredChains(handle: handle).compactMap { chain in
            pins.contradicting(chain).first.map { Person(chain: chain, trust: .changed(from: $0.chain)) }
        }
    }

    /// Returns the other people who lose the handle if this chain is pinned in their place, the first pinned first. None
    /// does where the handle stands for this person too.
    package func replacedBlocking(by chain: CardChain) throws(TresorError) -> [CardChain] {
        try client.pins().contradicting(chain).map(\.chain)
    }

    private func offeredPeople(named text: String, handle: Name?, pins: Pins) async throws(TresorError) -> [Person] {
        var people: [Person] = []
        if let handle {
            people = try await offeredChains(handle: handle).map { Person(chain: $0, trust: .unverified) }
        }
        guard let bytes = Base32.prefixBytes(text) else { return people }
        for user in try await store.users(prefix: bytes, limit: 64) where Base32.namedBy(text, user.digest.bytes) {
            if !people.contains(where: { $0.chain.user == user }) { people.append(try await person(user, pins: pins)) }
        }
        return people
    }

    /// Returns the person with a user id, with the longer of the store's chain and the pinned one (SPEC §7.5).
    ///
    /// A store that shows an older card than the compared one, or none, changes nothing.
    ///
    /// - Throws: ``TresorError/notFound`` when neither store nor home has a card of them; ``TresorError/forked`` when
    ///   neither chain extends the other.
    @concurrent public func person(_ user: UserID) async throws(TresorError) -> Person {
        try await person(user, pins: client.pins())
    }

    private func person(_ user: UserID, pins: Pins) async throws(TresorError) -> Person {
        if let mine = try ownChain(), mine.user == user { return Person(chain: mine, trust: .me) }
        let pinned = pins[user]
        guard var chain = try await offeredChain(of: user) ?? pinned?.chain else { throw .notFound }
        if let pinned, !pinned.isReplaced, pinned.chain.extends(chain) { chain = pinned.chain }
        return Person(chain: chain, trust: try trust(in: chain, pins: pins))
    }

    /// Returns the reason to believe a chain, by this home's pins.
    ///
    /// - Throws: ``TresorError/forked`` for an older or a different card of a pinned person.
    package func trustBlocking(in chain: CardChain) throws(TresorError) -> Person.Trust {
        try trust(in: chain, pins: client.pins())
    }

    func trust(in chain: CardChain, pins: Pins) throws(TresorError) -> Person.Trust {
        if let mine = try ownChain(), mine.user == chain.user {
            guard mine.extends(chain) else { throw .forked }
            return .me
        }
        if let pin = pins.contradicting(chain).first { return .changed(from: pin.chain) }
        guard let pin = pins[chain.user], !pin.isReplaced else { return .unverified }
        guard chain.extends(pin.chain) else { throw .forked }
        return chain.newest == pin.chain.newest ? .verified : .renewed(since: pin.chain)
    }

    /// Pins a chain whose safety number was compared. Pass the very chain whose number was shown.
    ///
    /// - Parameters:
    ///   - chain: the chain whose number was shown.
    ///   - replacing: whether to replace another person who is pinned under the handle.
    /// - Throws: ``TresorError/unverified`` without `replacing` for another person under a known handle;
    ///   ``TresorError/forked`` for an older or different card of a known one.
    @concurrent public func pin(_ chain: CardChain, replacing: Bool = false) async throws(TresorError) {
        try await Cores.apart { () throws(TresorError) in try pinBlocking(chain, replacing: replacing) }
    }

    /// Does what ``pin(_:replacing:)`` does, on the calling thread.
    ///
    /// - Parameters:
    ///   - occasion: how the chain was compared.
    ///   - beside: whether other people keep the handle, which then stands for all of them.
    package func pinBlocking(
        _ chain: CardChain, by occasion: Pin.Occasion = .number, replacing: Bool = false, beside: Bool = false
    ) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            var pins = try client.pins()
            try pins.pin(chain, time: clock(), occasion: occasion, replacing: replacing, beside: beside)
            pins.keep(try client.storedPins())
            try home.replace(.pins, with: pins.bytes)
        }
    }

    /// Gives up what was compared of a person. They are found by their user id alone, and count as unverified.
    ///
    /// - Throws: ``TresorError/notFound`` for somebody who was never verified here.
    package func giveUpBlocking(_ user: UserID) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            var pins = try client.pins()
            try pins.giveUp(user, time: clock())
            pins.keep(try client.storedPins())
            try home.replace(.pins, with: pins.bytes)
        }
    }

    func offeredChains(handle: Name) async throws(TresorError) -> [CardChain] {
        var chains: [CardChain] = []
        for shown in try await store.shownChains(under: handle) { chains.append(try shown.chain(under: handle)) }
        return chains
    }

    func offeredChain(of user: UserID) async throws(TresorError) -> CardChain? {
        try await store.shownChain(of: user)?.chain(of: user)
    }
}
