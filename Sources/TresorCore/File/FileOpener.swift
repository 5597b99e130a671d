// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Opens sealed files and verifies by the log what they claim (SPEC §10.5, steps 7 to 14).
package enum FileOpener {
    /// Opens the seal and verifies the signatures and the rights of the author by the log. `Client` checks the owner
    /// and the expectations of the caller.
    ///
    /// - Parameters:
    ///   - keys: the keys of the epoch that the header names, checked against the log.
    ///   - state: the newest verified state of the tresor that the header names.
    /// - Throws: in this order ``TresorError/altered`` (seal, form), ``TresorError/noAccess`` (no such author),
    ///   ``TresorError/altered`` (signature), ``TresorError/forked`` or ``TresorError/noAccess`` (head),
    ///   ``TresorError/noAccess`` (right), ``TresorError/altered`` (epoch not current).
    package static func openFile(
        _ file: SealedFile, with keys: EpochKeys, in state: LogState
    ) throws(TresorError) -> OpenedFile {
        try openFile(file, with: keys.content, label: .fileSeal, in: state)
    }

    /// Opens what is sealed as a file is, under another key and label.
    static func openFile<Use: SealingUse>(
        _ file: SealedFile, with key: borrowing SecretKey<Use>, label: DomainLabel, in state: LogState
    ) throws(TresorError) -> OpenedFile {
        let payload = try payload(of: file, with: key, label: label)
        let proof = try payload.fields.prove(
            contentByteCount: payload.content.count, contentHash: try ContentHash.hash(payload.content.span), in: state)
        return OpenedFile(proof: proof, content: payload.content)
    }

    /// The author whose signature a file carries, whether or not they had the right to write (SPEC §10.5, steps 7 to 10).
    package static func author(
        of file: SealedFile, with keys: EpochKeys, in state: LogState
    ) throws(TresorError) -> (user: UserID, generation: UInt32, handle: Name) {
        let payload = try payload(of: file, with: keys.content, label: .fileSeal)
        let signed = payload.fields.authorship
        guard let chain = state.chain(of: signed.author), let card = chain.card(generation: signed.generation) else {
            throw .noAccess
        }
        let message = payload.fields.message(contentHash: try ContentHash.hash(payload.content.span))
        try Ed25519.verify(signed.signature, of: DomainLabel.fileSignature.message(message), by: card.signingKey)
        return (signed.author, signed.generation, chain.handle)
    }

    private static func payload<Use: SealingUse>(
        of file: SealedFile, with key: borrowing SecretKey<Use>, label: DomainLabel
    ) throws(TresorError) -> FilePayload {
        let context = file.header.bytes
        let sealed = file.bytes.span.extracting(FileHeader.byteCount..<file.bytes.count)
        let plain = try TC1.open(sealed, with: key, label: label, context: context.span)
        return try FilePayload(plain, header: file.header)
    }

    /// Reads and verifies a whole file (SPEC §10.5, steps 7 to 14), and passes its content to `sink` during the
    /// reading.
    ///
    /// - Parameters:
    ///   - keys: the keys of the epoch that the header names, checked against the log.
    ///   - state: the newest verified state of the tresor that the header names.
    ///   - sink: withholds the content until this call returns, and discards it if this call throws.
    package static func openFile<Source: SealedSource>(
        _ file: StoredFile<Source>, with keys: EpochKeys, in state: LogState, to sink: inout some ByteSink
    ) async throws(TresorError) -> VerifiedFile {
        let source = file.source
        let context = file.header.bytes
        let prefix = try await source.bytes(FileHeader.byteCount..<(FileHeader.byteCount + TC1.prefixByteCount))
        let opening = try TC1.Opening(
            prefix: prefix.span, sealedByteCount: source.byteCount - FileHeader.byteCount, with: keys.content,
            label: .fileSeal, context: context.span)
        let count = opening.byteCount
        let front = try await opening.payload(0..<min(FileFields.maximumByteCount, count), of: source)
        var decoder = ByteDecoder(front)
        var fields = try FileFields(from: &decoder, header: file.header)
        let last = try await opening.payload((count - FileTail.byteCount)..<count, of: source)
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
        let bufferCount = (opening.chunkCount + ChunkBuffer.chunkCount - 1) / ChunkBuffer.chunkCount
        let paddingEnd = opening.byteCount - FileTail.byteCount
        try await ChunkPipeline().run { buffer throws(TresorError) in
            buffer.number < bufferCount
        } work: { buffer throws(TresorError) in
            let first = buffer.number * ChunkBuffer.chunkCount
            let chunks = first..<min(first + ChunkBuffer.chunkCount, opening.chunkCount)
            try await buffer.open(chunks, of: opening, from: source)
            let start = first * TC1.chunkByteCount
            let range = start..<(start + buffer.plainCount)
            let plain = content.clamped(to: range)
            buffer.content = (plain.lowerBound - start)..<(plain.upperBound - start)
            buffer.contentOffset = max(0, plain.lowerBound - content.lowerBound)
            try buffer.hash()
            let padding = (content.upperBound..<paddingEnd).clamped(to: range)
            let areZero = buffer.areZero((padding.lowerBound - start)..<(padding.upperBound - start))
            guard areZero else { throw .altered }
        } write: { buffer throws(TresorError) in
            try parts.append(buffer)
            if !buffer.content.isEmpty { try await sink.write(buffer.contentBytes) }
        }
    }
}

extension FileFields {
    /// Verifies signatures and rights by the log (SPEC §10.5, steps 9 to 14).
    package func prove(contentByteCount: Int, contentHash: [UInt8], in state: LogState) throws(TresorError) -> FileProof
    {
        try authorship.check(message(contentHash: contentHash), in: state)
        if let origin {
            let header = authorship.header
            guard origin.header.tresor == header.tresor, origin.header.head.sequence <= header.head.sequence else {
                throw .altered
            }
            let first = FileFields(origin, type: type, record: record, origin: nil)
            try origin.check(first.message(contentHash: contentHash), in: state)
        }
        return FileProof(self, contentByteCount: contentByteCount, in: state)
    }
}

extension Authorship {
    /// Verifies the signature of the author, and their right at the place and time that it names (SPEC §10.5).
    fileprivate func check(_ message: [UInt8], in state: LogState) throws(TresorError) {
        guard let card = state.chain(of: author)?.card(generation: generation) else { throw .noAccess }
        try Ed25519.verify(signature, of: DomainLabel.fileSignature.message(message), by: card.signingKey)
        guard state.contains(header.head) else {
            throw state.everWrote(author) ? .forked : .noAccess
        }
        let sequence = header.head.sequence
        let role = state.role(of: author, at: sequence)
        let end = state.change(of: author, at: sequence)?.notAfter
        guard state.generation(of: author, at: sequence) == generation,
            role == .owner || role == .writer,
            !state.isRekeyPending(at: sequence),
            (end.map { time <= $0 } ?? true)
        else { throw .noAccess }
        guard state.epoch(at: sequence) == header.epoch else { throw .altered }
    }
}
