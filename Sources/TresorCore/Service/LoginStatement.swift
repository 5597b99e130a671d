// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The statement by which a person binds what a service keeps for their log-in (SPEC §18.6). Without a log-in by
/// password both hashes are zero.
package struct LoginStatement: ServiceMessage {
    /// The size in bytes: 222.
    package static let byteCount = 222

    package let server: Hash256
    package let user: UserID
    package let generation: UInt32
    /// 1 for the first statement of an account; it rises by 1.
    package let revision: UInt64
    /// The hash of the record of the password; zero for none.
    package let record: Hash256
    /// The hash of the login copy; zero for none.
    package let copy: Hash256
    /// The time of making by its author's account, in seconds since 1970.
    package let time: UInt64
    package let signature: [UInt8]
    private let signed: [UInt8]

    /// The hash of a record; zero for none.
    package static func hash(ofRecord record: [UInt8]) throws(TresorError) -> Hash256 {
        record.isEmpty ? .zero : try BLAKE2b.hash(.loginRecord, record)
    }

    /// The hash of a login copy; zero for none.
    package static func hash(ofCopy copy: [UInt8]) throws(TresorError) -> Hash256 {
        copy.isEmpty ? .zero : try BLAKE2b.hash(.loginCopy, copy)
    }

    /// Whether it is about a log-in by password.
    package var hasPassword: Bool { record != .zero }

    /// Signs a statement with the newest generation.
    package init(
        by identity: Identity, server: Hash256, revision: UInt64, record: Hash256, copy: Hash256, time: UInt64
    ) throws(TresorError) {
        self.server = server
        user = identity.user
        generation = identity.generation
        self.revision = revision
        self.record = record
        self.copy = copy
        self.time = time
        var encoder = ByteEncoder()
        encoder.preamble(.loginStatement)
        encoder.digest(server)
        encoder.digest(user.digest)
        encoder.integer(generation)
        encoder.integer(revision)
        encoder.digest(record)
        encoder.digest(copy)
        encoder.integer(time)
        signed = encoder.bytes
        signature = try identity.sign(.loginSignature, signed)
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.raw(signed)
        encoder.raw(signature)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        let bytes = try decoder.raw(Self.byteCount)
        var fields = ByteDecoder(bytes)
        try fields.preamble(.loginStatement)
        server = try fields.digest()
        user = UserID(try fields.digest())
        generation = try fields.integer()
        revision = try fields.integer()
        record = try fields.digest()
        copy = try fields.digest()
        time = try fields.time()
        guard revision > 0, (record == .zero) == (copy == .zero) else { throw .altered }
        signed = Array(bytes[..<fields.offset])
        signature = try fields.raw(Ed25519.signatureByteCount)
    }

    /// Checks that the stated generation of `chain` signed.
    ///
    /// - Throws: ``TresorError/altered``.
    package func verify(by chain: CardChain) throws(TresorError) {
        guard chain.user == user, let card = chain.card(generation: generation) else { throw .altered }
        try Ed25519.verify(signature, of: DomainLabel.loginSignature.message(signed), by: card.signingKey)
    }
}
