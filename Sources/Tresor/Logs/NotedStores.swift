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
        stores = try decoder.rows { (decoder) throws(TresorError) in
            guard let store = StoreName(try decoder.vector16(1...StoreName.maximumByteCount)) else { throw .altered }
            return store
        }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.notedStores)
        encoder.rows(stores) { $0.vector16($1.bytes) }
        return encoder.bytes
    }

    package subscript(tresor: TresorID) -> StoreName? {
        get { stores[tresor] }
        set { stores[tresor] = newValue }
    }
}

extension LogArchive {
    /// Reads the stores where this home first saw its tresors. An object that does not decode counts as none: then
    /// silence is a finding in every store.
    func notedStores() -> NotedStores {
        guard let bytes = try? client.home.read(.notedStores) else { return NotedStores() }
        let stores = try? client.recalled.notedStores.value(of: bytes) { (bytes) throws(TresorError) in
            try NotedStores(bytes)
        }
        return stores ?? NotedStores()
    }

    /// Returns the other store where this home first saw a tresor; `nil` if it was this one, or if none is noted.
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
