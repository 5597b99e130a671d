// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// D of SPEC §10.4, the signed hash of the content: `BLAKE2b-512(LP("tresor/v1/content-hash") ‖ u64 length ‖ d_0 ‖ … ‖
/// d_n)`, with `d_i = BLAKE2b-256(LP("tresor/v1/content-part") ‖ u64 i ‖ i-th 64 KiB)`.
package enum ContentHash {
    package static let partByteCount = 65536

    package static func hash(_ content: Span<UInt8>) throws(TresorError) -> [UInt8] {
        var parts = Parts()
        try parts.append(HashedRange(content, at: 0), content)
        return try parts.finish()
    }

    /// `d_i` of a whole part.
    package static func part(_ index: Int, _ bytes: Span<UInt8>) throws(TresorError) -> [UInt8] {
        try begin(index, bytes).finalize()
    }

    /// An unfinished `d_i`: its label, its number and the bytes so far.
    private static func begin(_ index: Int, _ bytes: Span<UInt8>) throws(TresorError) -> BLAKE2b {
        var hash = try BLAKE2b(outputCount: 32)
        try hash.updatePrefixed(.contentPart)
        try hash.updateInteger(UInt64(index))
        try hash.update(bytes)
        return hash
    }

    /// An incomplete part.
    fileprivate final class OpenPart {
        private var hash: BLAKE2b?
        private(set) var count: Int

        package init(_ index: Int, _ bytes: Span<UInt8>) throws(TresorError) {
            hash = try begin(index, bytes)
            count = bytes.count
        }

        package func update(_ bytes: Span<UInt8>) throws(TresorError) {
            guard var hash = hash.take() else { throw .usage(.outOfOrder) }
            try hash.update(bytes)
            self.hash = consume hash
            count += bytes.count
        }

        package func finish() throws(TresorError) -> [UInt8] {
            guard let hash = hash.take() else { throw .usage(.outOfOrder) }
            return try hash.finalize()
        }
    }

    /// A section of the content, hashed on any core without the bytes before and after it.
    struct HashedRange {
        /// The number of its first bytes that belong to a part begun earlier.
        fileprivate let headCount: Int
        /// The hashes of the parts that lie entirely in it.
        fileprivate private(set) var digests: [UInt8] = []
        /// The part that ends after it.
        fileprivate private(set) var tail: OpenPart?

        /// - Parameter offset: the offset of the bytes in the content.
        package init(_ bytes: Span<UInt8>, at offset: Int) throws(TresorError) {
            headCount = min((partByteCount - offset % partByteCount) % partByteCount, bytes.count)
            var index = (offset + headCount) / partByteCount
            var start = headCount
            while start + partByteCount <= bytes.count {
                digests += try ContentHash.part(index, bytes.extracting(start..<(start + partByteCount)))
                start += partByteCount
                index += 1
            }
            if start < bytes.count { tail = try OpenPart(index, bytes.extracting(start..<bytes.count)) }
        }
    }

    /// The hashes of all parts, combined in the order of the content.
    struct Parts {
        /// The hashes of the complete parts, 32 bytes each.
        private(set) var digests: [UInt8] = []
        private(set) var contentByteCount = 0
        private var open: OpenPart?

        package init() {}

        /// Takes the next section.
        ///
        /// - Parameter bytes: the bytes of the section.
        package mutating func append(_ range: HashedRange, _ bytes: Span<UInt8>) throws(TresorError) {
            contentByteCount += bytes.count
            if range.headCount > 0 {
                guard let open else { throw .usage(.outOfOrder) }
                try open.update(bytes.extracting(first: range.headCount))
                if open.count == partByteCount { try close() }
            }
            digests += range.digests
            open = range.tail ?? open
        }

        private mutating func close() throws(TresorError) {
            guard let open else { return }
            digests += try open.finish()
            self.open = nil
        }

        /// D.
        package mutating func finish() throws(TresorError) -> [UInt8] {
            try close()
            var hash = try BLAKE2b(outputCount: 64)
            try hash.updatePrefixed(.contentHash)
            try hash.updateInteger(UInt64(contentByteCount))
            try hash.update(digests.span)
            return try hash.finalize()
        }
    }
}
