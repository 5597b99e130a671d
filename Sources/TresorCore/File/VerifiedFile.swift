// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// A sealed file in a source, which may be too large for memory. Only its header is readable; nothing in it is proved.
package struct StoredFile<Source: SealedSource>: Sendable {
    /// The header, a claim.
    package let header: FileHeader
    /// The source, in binary form.
    package let source: Source

    /// Reads the header and checks the size.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``; the errors of the source.
    package init(_ source: Source) async throws(TresorError) {
        header = try await FileHeader(start: source.bytes(0..<min(FileHeader.byteCount, source.byteCount)))
        guard source.byteCount <= SealedFile.maximumByteCount,
            let payload = TC1.openedByteCount(source.byteCount - FileHeader.byteCount),
            payload >= Padding.minimumByteCount
        else { throw .altered }
        self.source = source
    }
}

/// A sealed file that has passed every check, with its content read from the source.
///
/// The whole file was read and verified once. This handle keeps the hash of every part of the content, 32 bytes for 64
/// KiB. It checks every part that it reads again, and refuses a part that has changed.
public final class VerifiedFile: Sendable {
    /// The proved facts.
    public let proof: FileProof

    private let source: any SealedSource
    private let opening: TC1.Opening
    private let fieldsByteCount: Int
    private let digests: [UInt8]
    /// The identity that reads; `nil` before anybody has judged the file.
    private let reader: Identity?

    init(
        _ proof: FileProof, _ source: any SealedSource, _ opening: TC1.Opening, fieldsByteCount: Int, digests: [UInt8],
        reader: Identity? = nil
    ) {
        self.proof = proof
        self.source = source
        self.opening = opening
        self.fieldsByteCount = fieldsByteCount
        self.digests = digests
        self.reader = reader
    }

    /// The same file with the statuses that a home knows of its authors, readable until `reader` is locked.
    package func judged(_ proof: FileProof, for reader: Identity) -> VerifiedFile {
        VerifiedFile(proof, source, opening, fieldsByteCount: fieldsByteCount, digests: digests, reader: reader)
    }

    /// Reads bytes of the content.
    ///
    /// - Parameter range: within `0..<proof.contentByteCount`.
    /// - Throws: ``TresorError/altered`` for bytes that have changed since they were verified;
    ///   ``TresorError/usage(_:)`` for a range outside, and with `locked` once the session is locked;
    ///   ``TresorError/cancelled`` in a cancelled task; the errors of the source.
    @concurrent public func read(_ range: Range<Int>) async throws(TresorError) -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= proof.contentByteCount else { throw .usage(.outOfBounds) }
        guard !range.isEmpty else { return [] }
        let size = ContentHash.partByteCount
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        for index in (range.lowerBound / size)...((range.upperBound - 1) / size) {
            try Cancellation.check()
            try reader?.checkUnlocked()
            let part = try await part(index)
            let start = index * size
            bytes += part[max(0, range.lowerBound - start)..<min(part.count, range.upperBound - start)]
        }
        return bytes
    }

    private func part(_ index: Int) async throws(TresorError) -> [UInt8] {
        let size = ContentHash.partByteCount
        let start = fieldsByteCount + index * size
        let end = fieldsByteCount + min((index + 1) * size, proof.contentByteCount)
        let part = try await opening.payload(start..<end, of: source)
        let digest = try ContentHash.part(index, part.span)
        let isSame = digest == Array(digests[(32 * index)..<(32 * (index + 1))])
        guard isSame else { throw .altered }
        return part
    }
}

extension TC1.Opening {
    /// Some bytes of a file's payload.
    func payload(_ range: Range<Int>, of source: any SealedSource) async throws(TresorError) -> [UInt8] {
        let first = range.lowerBound / TC1.chunkByteCount
        let chunks = first..<((range.upperBound - 1) / TC1.chunkByteCount + 1)
        let place = sealedRange(chunks)
        let sealed = try await source.bytes(
            (FileHeader.byteCount + place.lowerBound)..<(FileHeader.byteCount + place.upperBound))
        var plain = [UInt8](repeating: 0, count: chunks.count * TC1.chunkByteCount)
        var output = plain.mutableSpan
        _ = try open(chunks, from: sealed.span, into: &output)
        let start = first * TC1.chunkByteCount
        return Array(plain[(range.lowerBound - start)..<(range.upperBound - start)])
    }
}
