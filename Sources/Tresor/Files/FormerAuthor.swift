// SPDX-License-Identifier: Apache-2.0

/// Somebody who may no longer write, and signed a file that names a head which is not on the log.
public struct FormerAuthor: Hashable, Sendable {
    /// The handle, from the log.
    public let handle: Name
    /// How and when they ceased to be a writer.
    public let former: AuthorStatus.Former
}

extension SealedFile {
    /// Whose signature a file bears, whatever their right to it (SPEC §10.5, steps 7 to 10).
    func author(
        with keys: EpochKeys, in state: LogState
    ) throws(TresorError) -> (user: UserID, generation: UInt32, handle: Name) {
        let context = header.bytes
        let sealed = bytes.span.extracting(FileHeader.byteCount..<bytes.count)
        let payload = try FilePayload(
            try TC1.open(sealed, with: keys.content, label: .fileSeal, context: context.span), header: header)
        let signed = payload.fields.authorship
        guard let chain = state.chain(of: signed.author), let card = chain.card(generation: signed.generation) else {
            throw .noAccess
        }
        let message = payload.fields.message(contentHash: try ContentHash.hash(payload.content.span))
        try Ed25519.verify(signed.signature, of: DomainLabel.fileSignature.message(message), by: card.signingKey)
        return (signed.author, signed.generation, chain.handle)
    }
}
