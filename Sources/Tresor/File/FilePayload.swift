// SPDX-License-Identifier: Apache-2.0

/// Who signed a content, where they stood in the log, and when (SPEC §10.4).
struct Authorship: Hashable, Sendable {
    static let byteCount = FileHeader.byteCount + Digest.byteCount + 4 + 8 + Ed25519.signatureByteCount

    let header: FileHeader
    let author: UserID
    let generation: UInt32
    let time: UInt64
    var signature: [UInt8]

    /// Encoded as an origin.
    func encode(into encoder: inout ByteEncoder) {
        encoder.raw(header.bytes)
        encoder.digest(author.digest)
        encoder.integer(generation)
        encoder.integer(time)
        encoder.raw(signature)
    }

    init(header: FileHeader, author: UserID, generation: UInt32, time: UInt64, signature: [UInt8] = []) {
        self.header = header
        self.author = author
        self.generation = generation
        self.time = time
        self.signature = signature
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        header = try FileHeader(from: &decoder)
        author = UserID(try decoder.digest())
        generation = try decoder.integer()
        time = try decoder.time()
        signature = try decoder.raw(Ed25519.signatureByteCount)
    }
}

/// What lies inside the seal (SPEC §10.2): fields, content, zero padding to the prescribed size, and behind it, in the last 72 bytes, the content's
/// length and the signature.
struct FilePayload: Sendable {
    private static let tailByteCount = 8 + Ed25519.signatureByteCount

    /// The author of these bytes.
    var authorship: Authorship
    let type: Name
    let record: Name
    /// The first author, when somebody else or a later epoch sealed it again.
    let origin: Authorship?
    let content: [UInt8]

    /// What is signed behind the label: header, every field before the content, D.
    static func message(
        _ authorship: Authorship, type: Name, record: Name, origin: Authorship?, contentHash: [UInt8]
    ) -> [UInt8] {
        authorship.header.bytes + fields(authorship, type: type, record: record, origin: origin) + contentHash
    }

    private static func fields(
        _ authorship: Authorship, type: Name, record: Name, origin: Authorship?
    ) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.digest(authorship.author.digest)
        encoder.integer(authorship.generation)
        encoder.integer(authorship.time)
        encoder.vector16(type.bytes)
        encoder.vector16(record.bytes)
        encoder.integer(UInt8(origin == nil ? 0 : 1))
        origin?.encode(into: &encoder)
        return encoder.bytes
    }

    /// Signs and encodes.
    static func encode(
        _ authorship: Authorship, type: Name, record: Name, origin: Authorship?, content: [UInt8],
        signedBy identity: Identity
    ) throws(TresorError) -> [UInt8] {
        let contentHash = try ContentHash.hash(content.span)
        let message = message(authorship, type: type, record: record, origin: origin, contentHash: contentHash)
        var encoder = ByteEncoder()
        encoder.raw(fields(authorship, type: type, record: record, origin: origin))
        encoder.raw(content)
        let count = encoder.bytes.count + tailByteCount
        encoder.raw(repeatElement(0, count: Padding.paddedByteCount(count) - count))
        encoder.integer(UInt64(content.count))
        encoder.raw(try identity.sign(.fileSignature, message))
        return encoder.bytes
    }

    /// Reads a payload in the one way there is. The signature is not yet judged.
    ///
    /// - Throws: ``TresorError/altered``.
    init(_ bytes: [UInt8], header: FileHeader) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
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
        let start = decoder.offset
        var tail = ByteDecoder(Array(bytes.suffix(Self.tailByteCount)))
        guard let length = Int(exactly: try tail.integer(UInt64.self)), decoder.remaining >= Self.tailByteCount,
            length <= decoder.remaining - Self.tailByteCount,
            Padding.paddedByteCount(start + length + Self.tailByteCount) == bytes.count,
            bytes[(start + length)..<(bytes.count - Self.tailByteCount)].allSatisfy({ $0 == 0 })
        else { throw .altered }
        content = Array(bytes[start..<(start + length)])
        authorship = Authorship(
            header: header, author: author, generation: generation, time: time,
            signature: try tail.raw(Ed25519.signatureByteCount))
    }

    /// A header of another release inside a payload of this one is nobody's writing.
    private static func origin(from decoder: inout ByteDecoder) throws(TresorError) -> Authorship {
        do throws(TresorError) {
            return try Authorship(from: &decoder)
        } catch {
            throw .altered
        }
    }
}
