// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// What a home holds in pieces for changes that are not sent yet, beside their outbox (SPEC §8.5): a content that is larger
/// than a pack takes, or the attachment that was made of one.
struct Held: Hashable, Sendable {
    /// What the pieces are.
    enum Kind: Hashable, Sendable {
        /// Not whole. A program may be writing it until this time, in seconds since 1970; then it is deleted.
        case unfinished(until: UInt64)
        /// A content of so many bytes, sealed for this identity.
        case content(byteCount: UInt64)
        /// The attachment that was made of a content, as the store will have it.
        case attachment(HeldAttachment)
    }

    /// The numbers that there are: twice as many as there may be contents.
    static let numbers: ClosedRange<UInt16> = 1...LogArchive.greatestUnsentNumber
    /// The most contents at once, and the most of one set of changes: as many as one commit can name, 1023.
    static let maximumContentCount = 1023
    /// The most bytes of the contents of one set of changes together: 2^39.
    static let maximumByteCount: UInt64 = 1 << 39
    /// How long a program may write without saying so again, in seconds.
    static let patience: UInt64 = 600
    /// The size of the smallest one in an outbox in bytes.
    static let leastByteCount = 2 + 1 + 8

    /// Its number in this outbox.
    let number: UInt16
    /// What its pieces are.
    let kind: Kind

    /// Whether a program may be writing it at a time. A time far in the future is that of a clock that was wrong.
    func isBeingWritten(at time: UInt64) -> Bool {
        guard case .unfinished(let until) = kind else { return false }
        return until > time && until - time <= Self.patience
    }

    init(number: UInt16, kind: Kind) {
        self.number = number
        self.kind = kind
    }

    /// - Throws: ``TresorError/altered``; ``TresorError/unsupported`` for an attachment of a later release.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        number = try decoder.integer()
        guard Self.numbers.contains(number) else { throw .altered }
        switch try decoder.integer(UInt8.self) {
        case 0: kind = .unfinished(until: try decoder.time())
        case 1: kind = .content(byteCount: try decoder.integer())
        case 2: kind = .attachment(try HeldAttachment(from: &decoder))
        default: throw .altered
        }
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(number)
        switch kind {
        case .unfinished(let until):
            encoder.integer(UInt8(0))
            encoder.integer(until)
        case .content(let byteCount):
            encoder.integer(UInt8(1))
            encoder.integer(byteCount)
        case .attachment(let attachment):
            encoder.integer(UInt8(2))
            attachment.encode(into: &encoder)
        }
    }
}

/// An attachment that was made of a content, and by whom.
struct HeldAttachment: Hashable, Sendable {
    /// The number of the content.
    let content: UInt16
    /// The generation of the author.
    let generation: UInt32
    /// The hash and the size of the sealed file.
    let blob: Blob
    /// Its header.
    let header: FileHeader

    init(content: UInt16, generation: UInt32, blob: Blob, header: FileHeader) {
        self.content = content
        self.generation = generation
        self.blob = blob
        self.header = header
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        content = try decoder.integer()
        generation = try decoder.integer()
        blob = try Blob(from: &decoder)
        header = try FileHeader(from: &decoder)
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(content)
        encoder.integer(generation)
        blob.encode(into: &encoder)
        header.encode(into: &encoder)
    }

    /// Whether a commit of this author that follows a state may name it.
    func fits(_ state: LogState, by author: Identity) -> Bool {
        generation == author.generation && header.epoch == state.epoch && state.contains(header.head)
    }
}

/// A content that was taken into the home for a change that is made next.
package struct HeldContent: Hashable, Sendable {
    /// Its number in the outbox.
    let number: UInt16
    /// The number of its bytes.
    package let byteCount: UInt64
}
