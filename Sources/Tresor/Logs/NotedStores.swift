// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The stores that have shown this home the pinned head of each tresor (SPEC §8.5): 10 bytes, then 35 and a name for each
/// tresor and store. The locator of a kit stands as a tresor's id does, for the stores that have the copy it opens, and
/// for a service that is to take it. So does the user id of the home's person, for the services at which they registered.
///
/// Another store need not have the tresor or the copy. Each noted one must go on showing it.
package struct NotedStores: Hashable, Sendable {
    /// The role of a store for a tresor or a kit.
    private struct Roles: OptionSet, Hashable {
        let rawValue: UInt8

        /// It has shown the head, or has the copy.
        static let shown = Roles(rawValue: 1)
        /// It is to take the copy.
        static let awaiting = Roles(rawValue: 2)
        /// Exports carry the tresor between it and the stores of others.
        static let copied = Roles(rawValue: 4)
        static let all: Roles = [.shown, .awaiting, .copied]
    }

    /// No roles of a store are empty.
    private var stores: [TresorID: [StoreName: Roles]] = [:]

    package init() {}

    /// Decodes the noted stores; the tresor ids, and behind them the names, must rise strictly.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.notedStores)
        var last: (tresor: TresorID, store: StoreName)?
        while decoder.remaining > 0 {
            let tresor = TresorID(try decoder.digest())
            let roles = Roles(rawValue: try decoder.integer(UInt8.self))
            guard !roles.isEmpty, roles.isSubset(of: .all),
                let store = StoreName(try decoder.vector16(1...StoreName.maximumByteCount))
            else { throw .altered }
            if let last, tresor < last.tresor || tresor == last.tresor && store <= last.store { throw .altered }
            last = (tresor, store)
            stores[tresor, default: [:]][store] = roles
        }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.notedStores)
        for (tresor, rows) in stores.sorted(by: { $0.key < $1.key }) {
            for (store, roles) in rows.sorted(by: { $0.key < $1.key }) {
                encoder.digest(tresor.digest)
                encoder.integer(roles.rawValue)
                encoder.vector16(store.bytes)
            }
        }
        return encoder.bytes
    }

    /// The stores that have shown a tresor, by their names.
    package subscript(tresor: TresorID) -> [StoreName] {
        stores[tresor, default: [:]].filter { $0.value.contains(.shown) }.keys.sorted()
    }

    /// All stores, whatever they have shown, by their names.
    package var all: [StoreName] { Set(stores.values.flatMap(\.keys)).sorted() }

    /// Notes a store.
    ///
    /// - Returns: `false` for one that is noted already.
    package mutating func note(_ store: StoreName, of tresor: TresorID) -> Bool {
        stores[tresor, default: [:]][store, default: []].insert(.shown).inserted
    }

    /// Whether exports carry a tresor between a store and those of others.
    func isCopied(_ tresor: TresorID, in store: StoreName) -> Bool {
        stores[tresor]?[store]?.contains(.copied) ?? false
    }

    /// Notes that exports carry a tresor between a store and those of others.
    mutating func noteCopied(_ tresor: TresorID, in store: StoreName) {
        stores[tresor, default: [:]][store, default: []].insert(.copied)
    }

    /// Gives a store the name that another machine of this person uses for it. A store that has that name gets the other
    /// one: two stores stay two.
    mutating func exchange(_ there: StoreName, _ here: StoreName) {
        stores = stores.mapValues { roles in
            Dictionary(
                uniqueKeysWithValues: roles.map { ($0.key == there ? here : $0.key == here ? there : $0.key, $0.value) }
            )
        }
    }

    /// Gives a store that has moved its new name.
    package mutating func rename(_ former: StoreName, to name: StoreName) {
        for (tresor, roles) in stores.compactMapValues({ $0[former] }) {
            stores[tresor]?[former] = nil
            stores[tresor, default: [:]][name, default: []].formUnion(roles)
        }
    }

    /// Forgets the stores of a tresor.
    package mutating func forget(_ tresor: TresorID) { stores[tresor] = nil }

    /// Whether a store is to take the copy that a kit opens.
    func awaits(_ store: StoreName, kit locator: Hash256) -> Bool {
        stores[TresorID(locator)]?[store]?.contains(.awaiting) ?? false
    }

    /// Notes that a store is to take the copy that a kit opens.
    mutating func noteAwaiting(_ store: StoreName, kit locator: Hash256) {
        stores[TresorID(locator), default: [:]][store, default: []].insert(.awaiting)
    }

    /// Forgets that stores are to take the copy that a kit opens.
    mutating func forgetAwaiting(kit locator: Hash256) {
        let kept = stores[TresorID(locator), default: [:]].mapValues { $0.subtracting(.awaiting) }
            .filter { !$0.value.isEmpty }
        stores[TresorID(locator)] = kept.isEmpty ? nil : kept
    }

    /// Notes that a store has the copy that a kit opens, and is to take it no more.
    mutating func note(_ store: StoreName, ofKit locator: Hash256) {
        stores[TresorID(locator), default: [:]][store] = .shown
    }
}

extension LogArchive {
    /// Reads the stores that have shown this home its tresors. An object that does not decode counts as none: then
    /// silence is a finding in every store.
    func notedStores() -> NotedStores {
        client.readable(.notedStores) { (bytes) throws(TresorError) in try NotedStores(bytes) } ?? NotedStores()
    }

    /// Returns another store that has shown a tresor to this home; `nil` if this one did, or if none is noted.
    package func otherStore(of tresor: TresorID) -> StoreName? {
        guard let here = client.storeName else { return nil }
        let noted = notedStores()[tresor]
        return noted.contains(here) ? nil : noted.first
    }

    /// Whether this store shows nothing of a tresor, which others have shown to this home and this one never did.
    package func isElsewhere(_ tresor: TresorID) async throws(TresorError) -> Bool {
        guard otherStore(of: tresor) != nil else { return false }
        return try await client.store.entries(of: tresor, from: 0, limit: 1).isEmpty
    }

    /// Whether this store has a name and is not noted yet for a tresor.
    func isNewStore(of tresor: TresorID) -> Bool {
        client.storeName.map { !notedStores()[tresor].contains($0) } ?? false
    }

    /// Returns the other stores that had the copy that a kit opens, whether or not this one had it.
    package func otherStores(ofKit locator: Hash256) -> [StoreName] { otherStores(of: TresorID(locator)) }

    /// Returns the other stores that have shown a tresor to this home, whether or not this one did.
    package func otherStores(of tresor: TresorID) -> [StoreName] {
        notedStores()[tresor].filter { $0 != client.storeName }
    }

    /// All stores that this home has noted, whatever they have shown.
    package func allStores() -> [StoreName] { notedStores().all }

    /// Notes that this store is a service at which a person registered.
    package func noteStore(ofAccount user: UserID) throws(TresorError) {
        try change { (noted, here) in _ = noted.note(here, of: TresorID(user.digest)) }
    }

    /// Notes that this store is one that had another name until now.
    package func renameStore(_ former: StoreName) throws(TresorError) {
        try change { (noted, here) in if former != here { noted.rename(former, to: here) } }
    }

    /// Notes that this store has the copy that a kit opens.
    func noteStore(ofKit locator: Hash256) throws(TresorError) {
        try change { (noted, here) in noted.note(here, ofKit: locator) }
    }

    /// Notes that this store is to take the copy that a kit opens.
    func awaitStore(ofKit locator: Hash256) throws(TresorError) {
        try change { (noted, here) in noted.noteAwaiting(here, kit: locator) }
    }

    /// Whether this store is to take the copy that a kit opens, and has not taken it.
    func isAwaitedStore(ofKit locator: Hash256) -> Bool {
        client.storeName.map { notedStores().awaits($0, kit: locator) } ?? false
    }

    /// Whether this home has brought an export of a tresor to this store, or as an owner has made one there. Others
    /// may then have stores in which they write too.
    package func isCopied(_ tresor: TresorID) -> Bool {
        client.storeName.map { notedStores().isCopied(tresor, in: $0) } ?? false
    }

    /// Notes that exports carry a tresor between this store and those of others.
    func noteCopied(_ tresor: TresorID) throws(TresorError) {
        try change { (noted, here) in noted.noteCopied(tresor, in: here) }
    }

    private func change(_ change: (inout NotedStores, StoreName) -> Void) throws(TresorError) {
        guard let here = client.storeName else { return }
        var changed = notedStores()
        change(&changed, here)
        guard changed != notedStores() else { return }
        try client.home.exclusively { () throws(TresorError) in
            var noted = notedStores()
            change(&noted, here)
            try client.home.replace(.notedStores, with: noted.bytes)
        }
    }

    /// Notes that this store has shown the pinned head of a tresor. The caller holds the home's lock.
    func noteStore(of tresor: TresorID) throws(TresorError) {
        guard let here = client.storeName else { return }
        var noted = notedStores()
        guard noted.note(here, of: tresor) else { return }
        try client.home.replace(.notedStores, with: noted.bytes)
    }
}
