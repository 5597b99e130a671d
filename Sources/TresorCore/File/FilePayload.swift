// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The author of a signed content, their place in the log, and the time (SPEC §10.4).
package struct Authorship: Hashable, Sendable {
    package static let byteCount = FileHeader.byteCount + Hash256.byteCount + 4 + 8 + Ed25519.signatureByteCount

    package let header: FileHeader
    package let author: UserID
    package let generation: UInt32
    package let time: UInt64
    package var signature: [UInt8]

    /// Encoded as an origin.
    package func encode(into encoder: inout ByteEncoder) {
        header.encode(into: &encoder)
        encoder.digest(author.digest)
        encoder.integer(generation)
        encoder.integer(time)
        encoder.raw(signature)
    }

    package init(header: FileHeader, author: UserID, generation: UInt32, time: UInt64, signature: [UInt8] = []) {
        self.header = header
        self.author = author
        self.generation = generation
        self.time = time
        self.signature = signature
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        header = try FileHeader(from: &decoder)
        author = UserID(try decoder.digest())
        generation = try decoder.integer()
        time = try decoder.time()
        signature = try decoder.raw(Ed25519.signatureByteCount)
    }
}

/// The fields before the content (SPEC §10.2), and the header that belongs to them.
package struct FileFields: Hashable, Sendable {
    /// The size of the fields without names and origin in bytes: 49.
    static let leastByteCount = 49
    /// An upper limit on the size of the fields in bytes.
    package static let maximumByteCount = leastByteCount + 2 * Name.maximumByteCount + Authorship.byteCount

    /// The author of these bytes. The signature follows the content.
    package var authorship: Authorship
    package let type: Name
    package let record: Name
    /// The first author of a resealed content.
    package let origin: Authorship?

    package init(_ authorship: Authorship, type: Name, record: Name, origin: Authorship?) {
        self.authorship = authorship
        self.type = type
        self.record = record
        self.origin = origin
    }

    /// - Throws: ``TresorError/altered``.
    package init(from decoder: inout ByteDecoder, header: FileHeader) throws(TresorError) {
        let author = UserID(try decoder.digest())
        let generation = try decoder.integer(UInt32.self)
        let time = try decoder.time()
        type = try Name(try decoder.vector16(0...Name.maximumByteCount))
        record = try Name(try decoder.vector16(0...Name.maximumByteCount))
        switch try decoder.integer(UInt8.self) {
        case 0: origin = nil
        case 1: origin = try Self.origin(from: &decoder)
        default: throw .altered
        }
        authorship = Authorship(header: header, author: author, generation: generation, time: time)
    }

    /// No release writes a header of another release into its payload.
    private static func origin(from decoder: inout ByteDecoder) throws(TresorError) -> Authorship {
        do throws(TresorError) {
            return try Authorship(from: &decoder)
        } catch {
            throw .altered
        }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder(capacity: byteCount)
        encode(into: &encoder)
        return encoder.bytes
    }

    fileprivate var byteCount: Int {
        Self.leastByteCount + type.bytes.count + record.bytes.count + (origin == nil ? 0 : Authorship.byteCount)
    }

    package func encode(into encoder: inout ByteEncoder) {
        encoder.digest(authorship.author.digest)
        encoder.integer(authorship.generation)
        encoder.integer(authorship.time)
        encoder.vector16(type.bytes)
        encoder.vector16(record.bytes)
        encoder.integer(UInt8(origin == nil ? 0 : 1))
        origin?.encode(into: &encoder)
    }

    /// The signed bytes after the label: header, every field before the content, D.
    package func message(contentHash: [UInt8]) -> [UInt8] {
        var encoder = ByteEncoder(capacity: FileHeader.byteCount + byteCount + contentHash.count)
        authorship.header.encode(into: &encoder)
        encode(into: &encoder)
        encoder.raw(contentHash)
        return encoder.bytes
    }
}

/// The last 72 bytes of a payload: the length of the content and the signature.
struct FileTail: Hashable, Sendable {
    package static let byteCount = 8 + Ed25519.signatureByteCount

    package let contentByteCount: Int
    package let signature: [UInt8]

    /// Reads the tail of a payload and checks that the content, its padding and the payload agree (SPEC §10.3).
    ///
    /// - Parameters:
    ///   - bytes: the last 72 bytes of the payload.
    ///   - fields: the number of bytes before the content.
    ///   - payload: the number of bytes of the payload.
    /// - Throws: ``TresorError/altered``.
    package init(_ bytes: [UInt8], fields: Int, payload: Int) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        guard let length = Int(exactly: try decoder.integer(UInt64.self)), payload - fields >= Self.byteCount,
            length <= payload - fields - Self.byteCount,
            Padding.paddedByteCount(fields + length + Self.byteCount) == payload
        else { throw .altered }
        contentByteCount = length
        signature = try decoder.raw(Ed25519.signatureByteCount)
        try decoder.end()
    }
}

/// The payload of a sealed file (SPEC §10.2): fields, content, zero padding to the prescribed size, and in the last 72
/// bytes the length of the content and the signature.
package struct FilePayload: Sendable {
    package let fields: FileFields
    package let content: [UInt8]

    /// Signs a content behind its fields and encodes the whole.
    static func encode(
        _ fields: FileFields, content: [UInt8], signedBy identity: Identity
    ) throws(TresorError) -> [UInt8] {
        let message = fields.message(contentHash: try ContentHash.hash(content.span))
        let count = fields.byteCount + content.count + FileTail.byteCount
        let padded = Padding.paddedByteCount(count)
        var encoder = ByteEncoder(capacity: padded)
        fields.encode(into: &encoder)
        encoder.raw(content)
        encoder.raw(repeatElement(0, count: padded - count))
        encoder.integer(UInt64(content.count))
        encoder.raw(try identity.sign(.fileSignature, message))
        return encoder.bytes
    }

    /// Reads a payload. The signature is not yet verified.
    ///
    /// - Throws: ``TresorError/altered``.
    package init(_ bytes: [UInt8], header: FileHeader) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        var fields = try FileFields(from: &decoder, header: header)
        let start = decoder.offset
        let tail = try FileTail(Array(bytes.suffix(FileTail.byteCount)), fields: start, payload: bytes.count)
        let end = start + tail.contentByteCount
        let padding = bytes[end..<(bytes.count - FileTail.byteCount)]
        guard padding.reduce(0, |) == 0 else { throw .altered }
        content = Array(bytes[start..<end])
        fields.authorship.signature = tail.signature
        self.fields = fields
    }
}
