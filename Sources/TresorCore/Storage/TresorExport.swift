// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The log, the cards, the wraps and the records of one tresor in one object (SPEC §11.1): what a store holds of it, and
/// no secret.
///
/// It proves nothing. A reader judges it as the answer of a store that may lie: ``Fold`` judges the entries, and the
/// log judges cards, wraps and blobs.
package struct TresorExport: Hashable, Sendable {
    /// The most bytes of an export: 256 MiB.
    package static let maximumByteCount = 1 << 28

    /// The tresor.
    package let tresor: TresorID
    /// The entries from the genesis on, not decoded; at least one.
    package let entries: [[UInt8]]
    /// The card chains of people, by rising user id.
    package let cards: [CardChain]
    /// The wraps, by rising user id and epoch.
    package let wraps: [UnverifiedWrap]
    /// Packs, attachments and volumes, by rising hash.
    package let blobs: [[UInt8]]

    /// Makes an export; orders cards, wraps and blobs.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` for more than 256 MiB.
    package init(
        tresor: TresorID, entries: [[UInt8]], cards: [CardChain], wraps: [UnverifiedWrap], blobs: [Blob: [UInt8]] = [:]
    ) throws(TresorError) {
        self.tresor = tresor
        self.entries = entries
        self.cards = cards.sorted { $0.user < $1.user }
        self.wraps = wraps.sorted { $0.user == $1.user ? $0.epoch < $1.epoch : $0.user < $1.user }
        self.blobs = blobs.sorted { $0.key.hash < $1.key.hash }.map(\.value)
        let byteCount =
            58 + entries.reduce(0) { $0 + 4 + $1.count } + cards.reduce(0) { $0 + 4 + $1.bytes.count }
            + wraps.reduce(0) { $0 + 2 + $1.bytes.count } + blobs.reduce(0) { $0 + 4 + $1.value.count }
        guard byteCount <= Self.maximumByteCount else { throw .usage(.contentTooLong) }
    }

    /// Decodes an export. Chains and wraps are read; entries are not.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        guard bytes.count <= Self.maximumByteCount else { throw .altered }
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.export)
        let tresor = TresorID(try decoder.digest())
        entries = try decoder.list(of: 1, byteCount: 5) { (decoder) throws(TresorError) in
            try decoder.vector32(1...Entry.maximumByteCount)
        }
        var lastCard: UserID?
        cards = try decoder.list(of: 0, byteCount: 5) { (decoder) throws(TresorError) in
            let chain = try CardChain(try decoder.vector32(1...CardChain.maximumByteCount))
            if let lastCard, chain.user <= lastCard { throw .altered }
            lastCard = chain.user
            return chain
        }
        var lastWrap: UnverifiedWrap?
        wraps = try decoder.list(of: 0, byteCount: 3) { (decoder) throws(TresorError) in
            let wrap = try UnverifiedWrap(try decoder.vector16(1...Int(UInt16.max)))
            guard wrap.tresor == tresor else { throw .altered }
            if let last = lastWrap {
                guard last.user < wrap.user || last.user == wrap.user && last.epoch < wrap.epoch else { throw .altered }
            }
            lastWrap = wrap
            return wrap
        }
        self.tresor = tresor
        var lastBlob: Hash256?
        blobs = try decoder.list(of: 0, byteCount: 5) { (decoder) throws(TresorError) in
            let bytes = try decoder.vector32(1...Self.maximumByteCount)
            let hash = try Blob(of: bytes).hash
            if let lastBlob, hash <= lastBlob { throw .altered }
            lastBlob = hash
            return bytes
        }
        try decoder.end()
    }

    /// Reads an armoured export.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(armoured text: [UInt8]) throws(TresorError) {
        try self.init(Armour.export.dearmour(text))
    }

    /// The blobs by their names in the log.
    package func namedBlobs() throws(TresorError) -> [Blob: [UInt8]] {
        var named: [Blob: [UInt8]] = [:]
        for bytes in blobs { named[try Blob(of: bytes)] = bytes }
        return named
    }

    /// The encoded export.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.export)
        encoder.digest(tresor.digest)
        encoder.list(entries) { $0.vector32($1) }
        encoder.list(cards) { $0.vector32($1.bytes) }
        encoder.list(wraps) { $0.vector16($1.bytes) }
        encoder.list(blobs) { $0.vector32($1) }
        return encoder.bytes
    }

    /// The armoured form.
    package var armoured: [UInt8] { Armour.export.armour(bytes) }
}
