// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The outbox of one tresor in the home, and what it holds in pieces.
struct OutboxFile: Sendable {
    /// The size of each piece but the last in bytes, before it is sealed for the home: 1 MiB.
    static let pieceByteCount = 1 << 20
    /// The most pieces that are deleted before others get the home.
    private static let deletedAtOnce: UInt64 = 64

    let session: Session
    let tresor: TresorID

    private var home: any Home { session.client.home }

    /// Reads the outbox; an empty one where there is none.
    ///
    /// - Throws: ``TresorError/altered`` for one that this identity did not seal: it is not replaced then.
    func read() throws(TresorError) -> Outbox {
        guard let sealed = try home.read(.outbox(tresor)) else { return Outbox() }
        return try Outbox(sealed: sealed, of: tresor, as: session.identity)
    }

    /// Does what ``read()`` does, on a thread that may wait.
    func present() async throws(TresorError) -> Outbox {
        try await Cores.apart { () throws(TresorError) in try read() }
    }

    /// Changes the outbox durably, while nobody else does.
    func change<Value: Sendable>(
        _ change: @escaping @Sendable (inout Outbox) throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        try await Cores.apart { () throws(TresorError) in
            try home.exclusively { () throws(TresorError) in
                let present = try read()
                var outbox = present
                let value = try change(&outbox)
                guard outbox != present else { return value }
                if outbox == Outbox() {
                    try home.delete(.outbox(tresor))
                } else {
                    let sealed = try session.identity.sealForHome(outbox.bytes, .outboxSeal, of: tresor)
                    try home.replace(.outbox(tresor), with: sealed)
                }
                return value
            }
        }
    }
}

/// The pieces.
extension OutboxFile {
    /// Takes a number for what will be written next.
    ///
    /// - Throws: the errors of ``Outbox/reserve(isContent:at:)`` and of the home.
    func reserve(isContent: Bool) async throws(TresorError) -> UInt16 {
        let now = session.client.clock()
        return try await change { (outbox) throws(TresorError) in
            try outbox.reserve(isContent: isContent, at: now)
        }
    }

    /// Keeps a piece durably under a number that was taken.
    ///
    /// - Parameter others: numbers whose contents wait for this one.
    /// - Throws: ``TresorError/busy`` where another program took the number away; the errors of the home.
    func keep(
        _ bytes: [UInt8], asPiece piece: UInt64, of number: UInt16, besides others: [UInt16] = []
    ) async throws(TresorError) {
        let now = session.client.clock()
        try await change { (outbox) throws(TresorError) in
            guard outbox.isReserved(number) else { throw .busy }
            outbox.renew(others + [number], at: now)
            try home.replace(.unsent(tresor, number: number, piece: piece), with: bytes)
        }
    }

    /// Keeps a piece of a content likewise, sealed for this identity alone.
    func keepSealed(
        _ plain: [UInt8], asPiece piece: UInt64, of number: UInt16, besides others: [UInt16]
    ) async throws(TresorError) {
        let sealed = try Outbox.sealPiece(plain, piece, of: number, in: tresor, as: session.identity)
        try await keep(sealed, asPiece: piece, of: number, besides: others)
    }

    /// Reads a piece of an attachment.
    ///
    /// - Throws: ``TresorError/failed(_:)`` where the home has lost it.
    func piece(_ piece: UInt64, of number: UInt16) async throws(TresorError) -> [UInt8] {
        try await Cores.apart { () throws(TresorError) in
            guard let bytes = try home.read(.unsent(tresor, number: number, piece: piece)) else {
                throw .failed(.inputOutput)
            }
            return bytes
        }
    }

    /// Reads a piece of a content.
    ///
    /// - Throws: the errors of ``piece(_:of:)`` and of ``Outbox/openPiece(_:_:of:in:as:)``.
    func openedPiece(_ piece: UInt64, of number: UInt16) async throws(TresorError) -> [UInt8] {
        let sealed = try await self.piece(piece, of: number)
        return try Outbox.openPiece(sealed, piece, of: number, in: tresor, as: session.identity)
    }

    /// Gives back numbers whose contents no change names. Nothing is thrown: ``clean()`` finds what is left.
    func release(_ numbers: [UInt16]) async {
        guard !numbers.isEmpty else { return }
        try? await change { (outbox) throws(TresorError) in outbox.release(numbers) }
        await clean()
    }

    /// Deletes what nobody needs, a few pieces at a time. What cannot be deleted now, the next call finds.
    func clean() async {
        let now = session.client.clock()
        guard let box = try? await present(), !box.unneeded(at: now).isEmpty else { return }
        while (try? await cleanSome(at: now)) == true {}
    }

    /// - Returns: whether there was anything to delete.
    private func cleanSome(at now: UInt64) async throws(TresorError) -> Bool {
        try await change { (outbox) throws(TresorError) in
            guard let number = outbox.unneeded(at: now).first else { return false }
            let count = try pieceCount(of: number)
            // The last one first: an interruption leaves none behind a gap.
            for piece in (count - min(count, Self.deletedAtOnce)..<count).reversed() {
                try home.delete(.unsent(tresor, number: number, piece: piece))
            }
            if count <= Self.deletedAtOnce { outbox.forget(number) }
            return true
        }
    }

    /// The number of pieces that lie there without a gap.
    private func pieceCount(of number: UInt16) throws(TresorError) -> UInt64 {
        func isThere(_ piece: UInt64) throws(TresorError) -> Bool {
            try home.read(.unsent(tresor, number: number, piece: piece)) != nil
        }
        var (low, high): (UInt64, UInt64) = (0, 1)
        while try isThere(high - 1) { (low, high) = (high, 2 * high) }
        // There are `low` at least, and fewer than `high`.
        while high - low > 1 {
            let middle = (low + high) / 2
            if try isThere(middle - 1) { low = middle } else { high = middle }
        }
        return low
    }
}
