// SPDX-License-Identifier: Apache-2.0

/// A sealed file in a source, which may be too large for memory. Only its header is readable; nothing in it is proved.
public struct StoredFile<Source: SealedSource>: Sendable {
    /// The header, a claim.
    public let header: FileHeader
    /// The source, in binary form.
    public let source: Source

    /// Reads the header and checks the size.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``; the errors of the source.
    public init(_ source: Source) throws(TresorError) {
        header = try FileHeader(start: source.bytes(0..<min(FileHeader.byteCount, source.byteCount)))
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

    private init(
        _ proof: FileProof, _ source: any SealedSource, _ opening: TC1.Opening, fieldsByteCount: Int, digests: [UInt8]
    ) {
        self.proof = proof
        self.source = source
        self.opening = opening
        self.fieldsByteCount = fieldsByteCount
        self.digests = digests
    }

    /// The same file with the statuses that a home knows of its authors.
    package func judged(_ proof: FileProof) -> VerifiedFile {
        VerifiedFile(proof, source, opening, fieldsByteCount: fieldsByteCount, digests: digests)
    }

    /// Reads bytes of the content.
    ///
    /// - Parameter range: within `0..<proof.contentByteCount`.
    /// - Throws: ``TresorError/altered`` for bytes that have changed since they were verified; ``TresorError/usage``
    ///   for a range outside.
    public func read(_ range: Range<Int>) throws(TresorError) -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= proof.contentByteCount else { throw .usage }
        guard !range.isEmpty else { return [] }
        let size = ContentHash.partByteCount
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        for index in (range.lowerBound / size)...((range.upperBound - 1) / size) {
            let part = try part(index)
            let start = index * size
            bytes += part[max(0, range.lowerBound - start)..<min(part.count, range.upperBound - start)]
        }
        return bytes
    }

    private func part(_ index: Int) throws(TresorError) -> [UInt8] {
        let size = ContentHash.partByteCount
        let start = fieldsByteCount + index * size
        let end = fieldsByteCount + min((index + 1) * size, proof.contentByteCount)
        let part = try opening.payload(start..<end, of: source)
        let digest = try ContentHash.part(index, part.span)
        let isSame = digest == Array(digests[(32 * index)..<(32 * (index + 1))])
        guard isSame else { throw .altered }
        return part
    }
}

extension VerifiedFile {
    /// Reads and verifies a whole file (SPEC §10.5, steps 7 to 14), and passes its content to `sink` during the
    /// reading.
    ///
    /// - Parameters:
    ///   - keys: the keys of the epoch that the header names, checked against the log.
    ///   - state: the newest verified state of the tresor that the header names.
    ///   - sink: withholds the content until this call returns, and discards it if this call throws.
    package static func verify<Source: SealedSource>(
        _ file: StoredFile<Source>, with keys: EpochKeys, in state: LogState, to sink: inout some ByteSink
    ) async throws(TresorError) -> VerifiedFile {
        let source = file.source
        let context = file.header.bytes
        let prefix = try source.bytes(FileHeader.byteCount..<(FileHeader.byteCount + TC1.prefixByteCount))
        let opening = try TC1.Opening(
            prefix: prefix.span, sealedByteCount: source.byteCount - FileHeader.byteCount, with: keys.content,
            label: .fileSeal, context: context.span)
        let count = opening.byteCount
        let front = try opening.payload(0..<min(FileFields.maximumByteCount, count), of: source)
        var decoder = ByteDecoder(front)
        var fields = try FileFields(from: &decoder, header: file.header)
        let last = try opening.payload((count - FileTail.byteCount)..<count, of: source)
        let tail = try FileTail(last, fields: decoder.offset, payload: count)
        fields.authorship.signature = tail.signature
        let content = decoder.offset..<(decoder.offset + tail.contentByteCount)
        var parts = ContentHash.Parts()
        try await open(source, opening, content, &parts, to: &sink)
        let hash = try parts.finish()
        let proof = try fields.prove(contentByteCount: tail.contentByteCount, contentHash: hash, in: state)
        return VerifiedFile(proof, source, opening, fieldsByteCount: content.lowerBound, digests: parts.digests)
    }

    /// Opens all chunks, hashes the content, and refuses padding that is not zero.
    private static func open(
        _ source: some SealedSource, _ opening: TC1.Opening, _ content: Range<Int>, _ parts: inout ContentHash.Parts,
        to sink: inout some ByteSink
    ) async throws(TresorError) {
        let pieceCount = (opening.chunkCount + ChunkBuffer.chunkCount - 1) / ChunkBuffer.chunkCount
        let paddingEnd = opening.byteCount - FileTail.byteCount
        try await ChunkPipeline().run { piece throws(TresorError) in
            piece.number < pieceCount
        } work: { piece throws(TresorError) in
            let first = piece.number * ChunkBuffer.chunkCount
            try piece.open(first..<min(first + ChunkBuffer.chunkCount, opening.chunkCount), of: opening, from: source)
            let start = first * TC1.chunkByteCount
            let range = start..<(start + piece.plainCount)
            let plain = content.clamped(to: range)
            piece.content = (plain.lowerBound - start)..<(plain.upperBound - start)
            piece.contentOffset = max(0, plain.lowerBound - content.lowerBound)
            try piece.hash()
            let padding = (content.upperBound..<paddingEnd).clamped(to: range)
            let areZero = piece.areZero((padding.lowerBound - start)..<(padding.upperBound - start))
            guard areZero else { throw .altered }
        } write: { piece throws(TresorError) in
            try parts.append(piece)
            if !piece.content.isEmpty { try await sink.write(piece.contentBytes) }
        }
    }
}

extension TC1.Opening {
    /// Decrypts a range of the payload.
    fileprivate func payload(_ range: Range<Int>, of source: any SealedSource) throws(TresorError) -> [UInt8] {
        let first = range.lowerBound / TC1.chunkByteCount
        let chunks = first..<((range.upperBound - 1) / TC1.chunkByteCount + 1)
        let place = sealedRange(chunks)
        let sealed = try source.bytes(
            (FileHeader.byteCount + place.lowerBound)..<(FileHeader.byteCount + place.upperBound))
        var plain = [UInt8](repeating: 0, count: chunks.count * TC1.chunkByteCount)
        var output = plain.mutableSpan
        _ = try open(chunks, from: sealed.span, into: &output)
        let start = first * TC1.chunkByteCount
        return Array(plain[(range.lowerBound - start)..<(range.upperBound - start)])
    }
}
