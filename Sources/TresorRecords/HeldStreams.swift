// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// A content that a home holds, from its beginning. It holds one piece.
struct HeldSource: ContentSource {
    private let outbox: OutboxFile
    private let number: UInt16
    private let byteCount: UInt64
    private var piece: [UInt8] = []
    private var used = 0
    /// The number of bytes of the pieces that were read.
    private var readCount: UInt64 = 0

    init(_ outbox: OutboxFile, _ number: UInt16, byteCount: UInt64) {
        self.outbox = outbox
        self.number = number
        self.byteCount = byteCount
    }

    /// - Throws: the errors of ``OutboxFile/openedPiece(_:of:)``; ``TresorError/altered`` for a piece of another size.
    mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        while output.freeCapacity > 0 {
            if used == piece.count {
                guard readCount < byteCount else { return }
                piece = try await nextPiece()
                used = 0
            }
            let count = min(piece.count - used, output.freeCapacity)
            output.append(piece.span.extracting(used..<(used + count)))
            used += count
        }
    }

    private mutating func nextPiece() async throws(TresorError) -> [UInt8] {
        let next = try await outbox.openedPiece(readCount / UInt64(OutboxFile.pieceByteCount), of: number)
        let expected = min(UInt64(OutboxFile.pieceByteCount), byteCount - readCount)
        guard UInt64(next.count) == expected else { throw .altered }
        readCount += UInt64(next.count)
        return next
    }
}

/// Keeps an attachment in a home, under a number that was taken, and names it.
struct HeldSink: ByteSink {
    private let outbox: OutboxFile
    private let number: UInt16
    private let hash: BlobHash
    private var piece: [UInt8] = []
    private var keptCount: UInt64 = 0

    init(_ outbox: OutboxFile, _ number: UInt16) throws(TresorError) {
        self.outbox = outbox
        self.number = number
        hash = try BlobHash()
    }

    /// - Throws: the errors of ``OutboxFile/keep(_:asPiece:of:besides:)``.
    mutating func write(_ bytes: Span<UInt8>) async throws(TresorError) {
        try hash.update(bytes)
        var used = 0
        while used < bytes.count {
            let count = min(bytes.count - used, OutboxFile.pieceByteCount - piece.count)
            let next = bytes.extracting(used..<(used + count))
            next.withUnsafeBufferPointer { piece.append(contentsOf: $0) }
            used += count
            if piece.count == OutboxFile.pieceByteCount { try await keepPiece() }
        }
    }

    /// Keeps the rest, and returns the name of all that was written.
    mutating func finish() async throws(TresorError) -> Blob {
        if !piece.isEmpty { try await keepPiece() }
        return try hash.finish()
    }

    private mutating func keepPiece() async throws(TresorError) {
        try await outbox.keep(piece, asPiece: keptCount, of: number)
        keptCount += 1
        piece.removeAll(keepingCapacity: true)
    }
}

/// The parts of an attachment that a home holds, as a store wants them. It holds one piece.
struct HeldParts {
    private let outbox: OutboxFile
    private let number: UInt16
    private var held: (piece: UInt64, bytes: [UInt8])?

    init(_ outbox: OutboxFile, _ number: UInt16) {
        self.outbox = outbox
        self.number = number
    }

    /// Returns a part.
    ///
    /// - Throws: ``TresorError/failed(_:)`` where the home has lost it.
    mutating func part(_ part: UInt32) async throws(TresorError) -> [UInt8] {
        let (piece, place) = Int(part).quotientAndRemainder(
            dividingBy: OutboxFile.pieceByteCount / StoredBlob.partByteCount)
        let bytes: [UInt8]
        if let held, held.piece == UInt64(piece) {
            bytes = held.bytes
        } else {
            bytes = try await outbox.piece(UInt64(piece), of: number)
            held = (UInt64(piece), bytes)
        }
        let parts = StoredBlob.parts(of: bytes)
        guard parts.indices.contains(place) else { throw .failed(.inputOutput) }
        return Array(parts[place])
    }
}
