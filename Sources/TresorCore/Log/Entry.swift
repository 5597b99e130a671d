// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// One signed entry of a log (SPEC §9.1). A value of this type has the canonical form; ``Fold`` decides whether it is
/// valid.
package struct Entry: Hashable, Sendable {
    /// The maximum size in bytes: 1 MiB.
    package static let maximumByteCount = 1 << 20

    package let tresor: TresorID
    /// The sequence number; 0 for the genesis.
    package let sequence: UInt64
    /// The hash of the previous entry; zero for the genesis.
    package let previous: Hash256
    package let author: UserID
    package let generation: UInt32
    /// The time of writing by the author's account, in seconds since 1970.
    package let time: UInt64
    /// The registered number of the body.
    let bodyType: UInt16
    /// The entry does not read its body. ``Fold`` checks the body after the author, so that a stranger's body reveals
    /// nothing.
    private let readBody: Result<EntryBody, TresorError>
    package let signature: [UInt8]
    /// The bytes that the signature covers after the label.
    package let signed: [UInt8]

    /// Reads the body of the entry.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package var body: EntryBody {
        get throws(TresorError) { try readBody.get() }
    }

    /// Whether the entry has the type of a commit; its body may be void.
    package var isCommit: Bool { bodyType == CommitBody.type }

    /// Whether the entry has the type of a checkpoint; its body may be void.
    package var isCheckpoint: Bool { bodyType == CheckpointBody.type }

    /// The encoded entry.
    package var bytes: [UInt8] { signed + signature }

    /// `H("tresor/v1/entry-hash", entry)`.
    package func hash() throws(TresorError) -> Hash256 { try BLAKE2b.hash(.entryHash, signed, signature) }

    /// Reads the fields of an entry. Its body may still be malformed.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        guard bytes.count <= Self.maximumByteCount else { throw .altered }
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.entry)
        tresor = TresorID(try decoder.digest())
        sequence = try decoder.integer()
        previous = try decoder.digest()
        author = UserID(try decoder.digest())
        generation = try decoder.integer()
        time = try decoder.time()
        let bodyType = try decoder.integer(UInt16.self)
        let body = try decoder.vector32(0...Self.maximumByteCount)
        self.bodyType = bodyType
        readBody = Result { () throws(TresorError) in try EntryBody(type: bodyType, body) }
        signed = Array(bytes[..<decoder.offset])
        signature = try decoder.raw(Ed25519.signatureByteCount)
        try decoder.end()
    }

    /// Writes and signs an entry.
    ///
    /// - Parameter generation: the generation of the author that signs; `nil` for the newest.
    /// - Throws: ``TresorError/usage(_:)`` with `tooManyPeople` for an entry larger than 1 MiB.
    package init(
        tresor: TresorID, sequence: UInt64, previous: Hash256, author: Identity, generation: UInt32? = nil,
        time: UInt64, body: EntryBody
    ) throws(TresorError) {
        var encoder = ByteEncoder()
        encoder.preamble(.entry)
        encoder.digest(tresor.digest)
        encoder.integer(sequence)
        encoder.digest(previous)
        encoder.digest(author.user.digest)
        let generation = generation ?? author.generation
        encoder.integer(generation)
        encoder.integer(time)
        encoder.integer(body.type)
        encoder.vector32(body.bytes)
        guard encoder.bytes.count + Ed25519.signatureByteCount <= Self.maximumByteCount else {
            throw .usage(.tooManyPeople)
        }
        self.tresor = tresor
        self.sequence = sequence
        self.previous = previous
        self.author = author.user
        self.generation = generation
        self.time = time
        bodyType = body.type
        readBody = .success(body)
        signed = encoder.bytes
        signature = try author.sign(.entrySignature, signed, generation: generation)
    }
}
