// SPDX-License-Identifier: Apache-2.0

/// A received sealed file (SPEC §10). Only its header is readable; nothing in it is proved.
public struct SealedFile: Hashable, Sendable {
    /// The maximum size in bytes: 2^40.
    public static let maximumByteCount = 1 << 40

    /// The header, a claim.
    public let header: FileHeader
    /// The whole file in binary form.
    public let bytes: [UInt8]

    /// Reads a binary or armoured sealed file.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    public init(_ bytes: [UInt8]) throws(TresorError) {
        let binary = Armour.isArmoured(bytes) ? try Armour.file.dearmour(bytes) : bytes
        header = try FileHeader(start: binary)
        guard binary.count <= Self.maximumByteCount,
            let payload = TC1.openedByteCount(binary.count - FileHeader.byteCount), payload >= Padding.minimumByteCount
        else { throw .altered }
        self.bytes = binary
    }

    /// Reads the header from the beginning of a binary or armoured file whose end may never arrive.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported`` if no sealed file begins this way.
    package static func checkBeginning(_ start: [UInt8]) throws(TresorError) {
        let isArmoured = Armour.isArmoured(start)
        let bytes = isArmoured ? try Armour.file.beginning(of: start) : start
        // Of a text only the whole lines are read, which may be fewer than the header takes.
        if isArmoured, bytes.count < FileHeader.byteCount { return }
        _ = try FileHeader(start: bytes)
    }

    /// The armoured form.
    public var armoured: [UInt8] { Armour.file.armour(bytes) }

    /// Seals and signs a content. The caller has checked that the author may write at `state`.
    package static func seal(
        _ content: [UInt8], type: Name, record: Name, origin: Authorship? = nil, keys: EpochKeys, state: LogState,
        author: Identity, time: UInt64
    ) throws(TresorError) -> SealedFile {
        let header = FileHeader(tresor: state.tresor, epoch: keys.epoch, head: state.head)
        let authorship = Authorship(header: header, author: author.user, generation: author.generation, time: time)
        let payload = try FilePayload.encode(
            authorship, type: type, record: record, origin: origin, content: content, signedBy: author)
        let context = header.bytes
        let sealed = try TC1.seal(payload.span, with: keys.content, label: .fileSeal, context: context.span)
        guard FileHeader.byteCount + sealed.count <= maximumByteCount else { throw .usage }
        return SealedFile(header: header, bytes: context + sealed)
    }

    private init(header: FileHeader, bytes: [UInt8]) {
        self.header = header
        self.bytes = bytes
    }

    /// Opens the seal and verifies the signatures and the rights of the author by the log. `Client` checks the owner
    /// and the expectations of the caller.
    ///
    /// - Parameters:
    ///   - keys: the keys of the epoch that the header names, checked against the log.
    ///   - state: the newest verified state of the tresor that the header names.
    /// - Throws: in this order ``TresorError/altered`` (seal, form), ``TresorError/noAccess`` (no such author),
    ///   ``TresorError/altered`` (signature), ``TresorError/forked`` or ``TresorError/noAccess`` (head),
    ///   ``TresorError/noAccess`` (right), ``TresorError/altered`` (epoch not current).
    package func open(with keys: EpochKeys, in state: LogState) throws(TresorError) -> OpenedFile {
        let context = header.bytes
        let sealed = bytes.span.extracting(FileHeader.byteCount..<bytes.count)
        let plain = try TC1.open(sealed, with: keys.content, label: .fileSeal, context: context.span)
        let payload = try FilePayload(plain, header: header)
        let proof = try payload.fields.prove(
            contentByteCount: payload.content.count, contentHash: try ContentHash.hash(payload.content.span), in: state)
        return OpenedFile(proof: proof, content: payload.content)
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
