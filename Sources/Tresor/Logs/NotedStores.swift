// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The store where this home first saw each tresor (SPEC §8.5): 10 bytes, then 34 and a name for each tresor.
///
/// Another store need not have the tresor. The noted one must go on showing it.
package struct NotedStores: Hashable, Sendable {
    private(set) var stores: [TresorID: StoreName] = [:]

    package init() {}

    /// Decodes the noted stores; the tresor ids must rise strictly.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.notedStores)
        var last: TresorID?
        while decoder.remaining > 0 {
            let tresor = TresorID(try decoder.digest())
            if let last, tresor <= last { throw .altered }
            last = tresor
            stores[tresor] = StoreName(try decoder.vector16(1...StoreName.maximumByteCount))
        }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.notedStores)
        for (tresor, store) in stores.sorted(by: { $0.key < $1.key }) {
            encoder.digest(tresor.digest)
            encoder.vector16(store.bytes)
        }
        return encoder.bytes
    }

    package subscript(tresor: TresorID) -> StoreName? {
        get { stores[tresor] }
        set { stores[tresor] = newValue }
    }
}

extension LogArchive {
    /// Reads where this home first saw its tresors. An object that does not decode counts as none, so that every
    /// silence is noticed.
    func notedStores() -> NotedStores {
        guard let bytes = try? client.home.read(.notedStores) else { return NotedStores() }
        return (try? NotedStores(bytes)) ?? NotedStores()
    }

    /// Returns the other store where this home first saw a tresor; `nil` if it was this one, or nobody knows.
    package func otherStore(of tresor: TresorID) -> StoreName? {
        guard let here = client.storeName, let noted = notedStores()[tresor], noted != here else { return nil }
        return noted
    }

    /// Whether this store shows nothing of a tresor that the home first saw in another one.
    func isElsewhere(_ tresor: TresorID) async throws(TresorError) -> Bool {
        guard otherStore(of: tresor) != nil else { return false }
        return try await client.store.entries(of: tresor, from: 0, limit: 1).isEmpty
    }

    /// Notes this store as the one where the home first saw a tresor, unless one is noted. The caller holds the home's
    /// lock.
    func noteStore(of tresor: TresorID) throws(TresorError) {
        guard let here = client.storeName else { return }
        var noted = notedStores()
        guard noted[tresor] == nil else { return }
        noted[tresor] = here
        try client.home.replace(.notedStores, with: noted.bytes)
    }
}
