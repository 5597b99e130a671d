// SPDX-License-Identifier: Apache-2.0

/// A person as a store offers them, and what this home knows of them.
public struct Person: Hashable, Sendable {
    /// Why to believe that a chain is somebody's.
    public enum Trust: Hashable, Sendable {
        /// It is the owner of this home.
        case me
        /// Its number was compared.
        case verified
        /// Its number was compared before it got new keys; compare again.
        case renewed(since: CardChain)
        /// The handle is pinned to somebody else.
        case changed(from: CardChain)
        /// Nobody compared its number.
        case unverified

        /// Whether something may rest on it.
        public var isVerified: Bool { self == .me || self == .verified }
    }

    /// The public face.
    public let chain: CardChain
    /// Why to believe it.
    public let trust: Trust
}

/// The people whom this home has verified, and those whom the store offers (SPEC §7.5).
public struct Contacts: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }
    private var clock: @Sendable () -> UInt64 { client.clock }

    /// Everybody this home has verified.
    public func pinned() throws(TresorError) -> [Pin] { try client.pins().pins }

    /// The people a handle or a user id of at least 6 characters stands for (SPEC §4.3). Where it names somebody this home knows, by either, nobody
    /// whom only the store offers is among them: a handle that looks like a friend's id stands for the friend.
    ///
    /// - Throws: ``TresorError/altered`` when the store offers what is no card of that person; ``TresorError/forked`` when it offers an older or a
    ///   different card of a pinned person.
    public func named(_ text: String) async throws(TresorError) -> [Person] {
        let pins = try client.pins()
        let handle = try? Name(typed: text)
        var known: [Person] = []
        let mine = try client.ownChain()
        if let mine, mine.handle == handle || Base32.matches(text, mine.user.digest.bytes) {
            known.append(Person(chain: mine, trust: .me))
        }
        if let handle, mine?.handle != handle, let pin = pins[handle: handle] {
            known.append(try await person(pin.chain.user, pins: pins))
        }
        for user in pins.pins.map(\.chain.user) where Base32.matches(text, user.digest.bytes) {
            if !known.contains(where: { $0.chain.user == user }) { known.append(try await person(user, pins: pins)) }
        }
        guard known.isEmpty else { return known }
        return try await offeredPeople(named: text, handle: handle, pins: pins)
    }

    /// Whom the store offers under a handle that this home has pinned to somebody else. It stands for the pinned
    /// person; a program says that there are others.
    public func impostors(of handle: Name) async throws(TresorError) -> [Person] {
        guard let pin = try client.pins()[handle: handle] else { return [] }
        return try await offeredChains(handle: handle).filter { $0.user != pin.chain.user }
            .map { Person(chain: $0, trust: .changed(from: pin.chain)) }
    }

    private func offeredPeople(named text: String, handle: Name?, pins: Pins) async throws(TresorError) -> [Person] {
        var people: [Person] = []
        if let handle {
            people = try await offeredChains(handle: handle).map { Person(chain: $0, trust: .unverified) }
        }
        guard let bytes = Base32.prefixBytes(text) else { return people }
        for user in try await store.users(prefix: bytes, limit: 64) where Base32.matches(text, user.digest.bytes) {
            if !people.contains(where: { $0.chain.user == user }) { people.append(try await person(user, pins: pins)) }
        }
        return people
    }

    /// A person by user id: of the store's chain and the pinned one, the longer. A store that shows an older card than
    /// was compared, or none, changes nothing (SPEC §7.5).
    ///
    /// - Throws: ``TresorError/notFound`` when nobody has a card of them; ``TresorError/forked`` when neither chain
    ///   extends the other.
    public func person(_ user: UserID) async throws(TresorError) -> Person {
        try await person(user, pins: client.pins())
    }

    private func person(_ user: UserID, pins: Pins) async throws(TresorError) -> Person {
        if let mine = try client.ownChain(), mine.user == user { return Person(chain: mine, trust: .me) }
        let pinned = pins[user]?.chain
        guard var chain = try await offeredChain(of: user) ?? pinned else { throw .notFound }
        if let pinned, pinned.extends(chain) { chain = pinned }
        return Person(chain: chain, trust: try trust(in: chain, pins: pins))
    }

    /// Why to believe a chain, by this home's pins.
    ///
    /// - Throws: ``TresorError/forked`` for an older or a different card of a pinned person.
    public func trust(in chain: CardChain) throws(TresorError) -> Person.Trust {
        try trust(in: chain, pins: client.pins())
    }

    func trust(in chain: CardChain, pins: Pins) throws(TresorError) -> Person.Trust {
        if let mine = try client.ownChain(), mine.user == chain.user {
            guard mine.extends(chain) else { throw .forked }
            return .me
        }
        if let pin = pins[handle: chain.handle], pin.chain.user != chain.user { return .changed(from: pin.chain) }
        guard let pin = pins[chain.user] else { return .unverified }
        guard chain.extends(pin.chain) else { throw .forked }
        if pin.isReplaced { return .unverified }
        return chain.newest == pin.chain.newest ? .verified : .renewed(since: pin.chain)
    }

    /// Keeps a chain whose number was compared. What was compared is what is pinned: pass the very chain that was shown.
    ///
    /// - Parameters:
    ///   - chain: the compared chain.
    ///   - replacing: whether to replace another person pinned under the handle.
    /// - Throws: ``TresorError/unverified`` without `replacing` for another person under a known handle; ``TresorError/forked`` for an older or
    ///   different card of a known one.
    public func pin(_ chain: CardChain, replacing: Bool = false) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            var pins = try client.pins()
            try pins.pin(chain, time: clock(), replacing: replacing)
            try home.replace(.pins, with: pins.bytes)
        }
    }

    func offeredChains(handle: Name) async throws(TresorError) -> [CardChain] {
        var chains: [CardChain] = []
        for bytes in try await store.cards(handle: handle.bytes) {
            let chain = try CardChain(bytes)
            guard chain.handle == handle else { throw .altered }
            chains.append(chain)
        }
        return chains
    }

    func offeredChain(of user: UserID) async throws(TresorError) -> CardChain? {
        guard let bytes = try await store.card(of: user) else { return nil }
        let chain = try CardChain(bytes)
        guard chain.user == user else { throw .altered }
        return chain
    }
}
