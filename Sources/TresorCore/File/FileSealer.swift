// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The result of sealing a stream.
package struct SealedStream: Hashable, Sendable {
    /// The clear header.
    package let header: FileHeader
    /// The size of the content in bytes.
    package let contentByteCount: Int
    /// The size of the sealed file in bytes.
    package let byteCount: Int
}

/// Seals and signs contents for the members of a tresor (SPEC §10.4). The caller has checked that the author may write at `state`.
package enum FileSealer {
    /// Seals a content that is in memory.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` when the file would be larger than 2^40 bytes.
    package static func sealFile(
        _ content: [UInt8], type: Name, record: Name, origin: Authorship? = nil, keys: EpochKeys, state: LogState,
        author: Identity, time: UInt64
    ) throws(TresorError) -> SealedFile {
        let fields = FileFields(
            type: type, record: record, origin: origin, epoch: keys.epoch, state: state, author: author, time: time)
        return try sealFile(content, fields, with: keys.content, label: .fileSeal, author: author)
    }

    /// Seals what has the form of a file, under any key and label.
    static func sealFile<Use: SealingUse>(
        _ content: [UInt8], _ fields: FileFields, with key: borrowing SecretKey<Use>, label: DomainLabel,
        author: Identity
    ) throws(TresorError) -> SealedFile {
        let payload = try FilePayload.encode(fields, content: content, signedBy: author)
        let context = fields.authorship.header.bytes
        let sealed = try TC1.seal(payload.span, with: key, label: label, context: context.span)
        guard context.count + sealed.count <= SealedFile.maximumByteCount else { throw .usage(.contentTooLong) }
        return SealedFile(header: fields.authorship.header, bytes: context + sealed)
    }

    /// Seals a content of any length as it comes.
    ///
    /// Holds a few buffers of 256 KiB, and 32 bytes for each 64 KiB of content until the signature is made.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` when the file would be larger than 2^40 bytes; what
    ///   source and sink throw.
    package static func sealFile(
        _ content: inout some ContentSource, to sink: inout some ByteSink, type: Name, record: Name,
        origin: Authorship? = nil, keys: EpochKeys, state: LogState, author: Identity, time: UInt64
    ) async throws(TresorError) -> SealedStream {
        let fields = FileFields(
            type: type, record: record, origin: origin, epoch: keys.epoch, state: state, author: author, time: time)
        let context = fields.authorship.header.bytes
        var sealing = try TC1.Sealing(with: keys.content, label: .fileSeal, context: context.span)
        return try await sealFile(&content, to: &sink, fields, &sealing, author: author)
    }

    /// Seals a content whose TC1 message has begun.
    static func sealFile(
        _ content: inout some ContentSource, to sink: inout some ByteSink, _ fields: FileFields,
        _ sealing: inout TC1.Sealing, author: Identity
    ) async throws(TresorError) -> SealedStream {
        let header = fields.authorship.header
        let start = header.bytes + sealing.prefix
        do throws(TresorError) {
            try await sink.write(start.span)
        } catch {
            throw Task.isCancelled ? .cancelled : error
        }
        var pipeline = ChunkPipeline()
        var parts = ContentHash.Parts()
        let front = fields.bytes
        let rest = pipeline.take()
        let count = try await sealWhole(&content, to: &sink, front, &sealing, pipeline, &parts, rest)
        try rest.hash()
        try parts.append(rest)
        let signature = try author.sign(.fileSignature, fields.message(contentHash: try parts.finish()))
        let tail = bigEndianBytes(UInt64(parts.contentByteCount)) + signature
        let payload = Padding.paddedByteCount(front.count + parts.contentByteCount + tail.count)
        let total = header.bytes.count + TC1.sealedByteCount(payload)
        guard payload <= TC1.maximumByteCount, total <= SealedFile.maximumByteCount else {
            throw .usage(.contentTooLong)
        }
        try await sealRest(payload - count, rest, tail, to: &sink, &sealing, pipeline)
        return SealedStream(header: header, contentByteCount: parts.contentByteCount, byteCount: total)
    }

    /// Seals fields and content as far as they fill buffers. The remainder stays in `rest`.
    ///
    /// - Returns: the number of sealed bytes of the payload.
    private static func sealWhole(
        _ content: inout some ContentSource, to sink: inout some ByteSink, _ front: [UInt8],
        _ sealing: inout TC1.Sealing, _ pipeline: ChunkPipeline, _ parts: inout ContentHash.Parts, _ rest: ChunkBuffer
    ) async throws(TresorError) -> Int {
        var count = 0
        try await pipeline.run { buffer throws(TresorError) in
            buffer.content = 0..<0
            buffer.contentOffset = max(0, count - front.count)
            if count == 0 { buffer.append(front.span) }
            let start = buffer.plainCount
            try await buffer.fillPlain { output throws(TresorError) in try await content.read(into: &output) }
            buffer.content = start..<buffer.plainCount
            guard buffer.plainCount == ChunkBuffer.byteCount else {
                rest.append(buffer.plainBytes)
                rest.content = buffer.content
                rest.contentOffset = buffer.contentOffset
                return false
            }
            buffer.run = try sealing.next(ChunkBuffer.byteCount, endsMessage: false)
            count += ChunkBuffer.byteCount
            return true
        } work: { buffer throws(TresorError) in
            try buffer.hash()
            try buffer.seal()
        } write: { buffer throws(TresorError) in
            try parts.append(buffer)
            try await sink.write(buffer.sealedBytes)
        }
        return count
    }

    /// Seals the last `count` bytes of the payload: the remainder of fields and content, padding, tail.
    private static func sealRest(
        _ count: Int, _ rest: ChunkBuffer, _ tail: [UInt8], to sink: inout some ByteSink, _ sealing: inout TC1.Sealing,
        _ pipeline: ChunkPipeline
    ) async throws(TresorError) {
        var done = 0
        try await pipeline.run { buffer throws(TresorError) in
            guard done < count else { return false }
            let end = min(done + ChunkBuffer.byteCount, count)
            if done < rest.plainCount { buffer.append(rest.plainBytes) }
            let zeros = min(end, count - tail.count) - (done + buffer.plainCount)
            buffer.appendZeros(zeros)
            let tailStart = done + buffer.plainCount - (count - tail.count)
            if tailStart >= 0 { buffer.append(tail.span.extracting(tailStart..<(tail.count - (count - end)))) }
            done = end
            buffer.run = try sealing.next(buffer.plainCount, endsMessage: done == count)
            return true
        } work: { buffer throws(TresorError) in
            try buffer.seal()
        } write: { buffer throws(TresorError) in
            try await sink.write(buffer.sealedBytes)
        }
    }
}

extension FileFields {
    /// Makes the statement of an author about a content that is sealed now.
    init(
        type: Name, record: Name, origin: Authorship?, epoch: UInt64, state: LogState, author: Identity, time: UInt64
    ) {
        let header = FileHeader(tresor: state.tresor, epoch: epoch, head: state.head)
        let authorship = Authorship(header: header, author: author.user, generation: author.generation, time: time)
        self.init(authorship, type: type, record: record, origin: origin)
    }
}

extension ContentHash.Parts {
    /// Takes the hashed content of the next buffer.
    package mutating func append(_ buffer: ChunkBuffer) throws(TresorError) {
        guard let hashedRange = buffer.hashedRange.take() else { throw .usage(.outOfOrder) }
        try append(hashedRange, buffer.contentBytes)
    }
}
