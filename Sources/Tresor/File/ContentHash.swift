// SPDX-License-Identifier: Apache-2.0

/// D of SPEC §10.4, what the signature says of the content:
/// `BLAKE2b-512(LP("tresor/v1/content-hash") ‖ u64 length ‖ d_0 ‖ … ‖ d_n)`, with
/// `d_i = BLAKE2b-256(LP("tresor/v1/content-part") ‖ u64 i ‖ i-th 64 KiB)`.
enum ContentHash {
    static let partByteCount = 65536

    static func hash(_ content: Span<UInt8>) throws(TresorError) -> [UInt8] {
        var hash = try BLAKE2b(outputCount: 64)
        try hash.updatePrefixed(.contentHash)
        try hash.updateInteger(UInt64(content.count))
        for (index, start) in stride(from: 0, to: content.count, by: partByteCount).enumerated() {
            let end = min(start + partByteCount, content.count)
            let digest = try part(UInt64(index), content.extracting(start..<end))
            let bytes = digest.bytes
            try hash.update(bytes.span)
        }
        return try hash.finalize()
    }

    private static func part(_ index: UInt64, _ bytes: Span<UInt8>) throws(TresorError) -> Digest {
        var hash = try BLAKE2b(outputCount: 32)
        try hash.updatePrefixed(.contentPart)
        try hash.updateInteger(index)
        try hash.update(bytes)
        guard let digest = Digest(try hash.finalize()) else { throw .failed(.library) }
        return digest
    }
}
