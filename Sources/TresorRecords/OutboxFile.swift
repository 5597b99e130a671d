// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The outbox of one tresor in the home, and what it holds in pieces.
struct OutboxFile: Sendable {
    /// The size of each piece but the last in bytes, before it is sealed for the home: 1 MiB.
    static let pieceByteCount = 1 << 20
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
    ///
    /// - Throws: ``TresorError/busy`` in a home without its identity, where nobody would send the change.
    func change<Value: Sendable>(
        _ change: @escaping @Sendable (inout Outbox) throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        try await Cores.apart { () throws(TresorError) in
            try home.exclusively { () throws(TresorError) in
                guard try home.read(.identity) != nil else { throw .busy }
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
    /// Takes a number for pieces that are written next.
    ///
    /// - Throws: the errors of ``Outbox/reserve(isContent:at:mark:)`` and of the home.
    func reserve(isContent: Bool) async throws(TresorError) -> HeldNumber {
        try await change { (outbox) throws(TresorError) in
            var random = ByteDecoder(try randomBytes(8))
            return try outbox.reserve(isContent: isContent, at: session.client.clock(), mark: try random.integer())
        }
    }

    /// Keeps a piece durably under a number that was taken.
    ///
    /// - Parameter others: numbers whose contents wait for this one.
    /// - Throws: ``TresorError/busy`` where another program took the number away; the errors of the home.
    func keep(
        _ bytes: [UInt8], asPiece piece: UInt64, of number: HeldNumber, besides others: [HeldNumber] = []
    ) async throws(TresorError) {
        try await change { (outbox) throws(TresorError) in
            guard outbox.isReserved(number) else { throw .busy }
            outbox.renew(others + [number], at: session.client.clock())
            try home.replace(.unsent(tresor, number: number.value, piece: piece), with: bytes)
        }
    }

    /// Keeps a piece of a content likewise, sealed for this identity alone.
    func keepSealed(
        _ plain: [UInt8], asPiece piece: UInt64, of number: HeldNumber, besides others: [HeldNumber]
    ) async throws(TresorError) {
        let sealed = try Outbox.sealPiece(plain, piece, of: number, in: tresor, as: session.identity)
        try await keep(sealed, asPiece: piece, of: number, besides: others)
    }

    /// Reads a piece of an attachment.
    ///
    /// - Throws: ``TresorError/failed(_:)`` where the home has lost it.
    func piece(_ piece: UInt64, of number: HeldNumber) async throws(TresorError) -> [UInt8] {
        guard let bytes = try await presentPiece(piece, of: number) else { throw .failed(.inputOutput) }
        return bytes
    }

    private func presentPiece(_ piece: UInt64, of number: HeldNumber) async throws(TresorError) -> [UInt8]? {
        try await Cores.apart { () throws(TresorError) in
            try home.read(.unsent(tresor, number: number.value, piece: piece))
        }
    }

    /// Whether the pieces of an attachment are there and are those of its blob. Reads all of them, and holds one.
    ///
    /// - Throws: the errors of the home.
    func isWhole(_ blob: Blob, at number: HeldNumber) async throws(TresorError) -> Bool {
        let hash = try BlobHash()
        var byteCount: UInt64 = 0
        var piece: UInt64 = 0
        while byteCount < blob.size {
            try Cancellation.check()
            guard let bytes = try await presentPiece(piece, of: number), !bytes.isEmpty else { return false }
            try hash.update(bytes.span)
            byteCount += UInt64(bytes.count)
            piece += 1
        }
        return try hash.finish() == blob
    }

    /// Reads a piece of a content.
    ///
    /// - Throws: the errors of ``piece(_:of:)`` and of ``Outbox/openPiece(_:_:of:in:as:)``.
    func openedPiece(_ piece: UInt64, of number: HeldNumber) async throws(TresorError) -> [UInt8] {
        let sealed = try await self.piece(piece, of: number)
        return try Outbox.openPiece(sealed, piece, of: number, in: tresor, as: session.identity)
    }

    /// Gives back numbers whose contents no change names, and asks no store. Nothing is thrown:
    /// ``clean(atOnce:askingStore:)`` finds what is left.
    func release(_ numbers: [HeldNumber]) async {
        guard !numbers.isEmpty else { return }
        try? await change { (outbox) throws(TresorError) in outbox.release(numbers) }
        await clean(askingStore: false)
    }

    /// Deletes the pieces that nobody needs, a few at a time. What cannot be deleted now, the next call finds.
    ///
    /// The rows of attachments go after the store was asked to delete what it has of these. They stay where that is not
    /// wanted, and where this task ends before it.
    ///
    /// - Parameters:
    ///   - count: the most pieces that are deleted before others get the home.
    ///   - isAsking: whether the store may be asked.
    func clean(atOnce count: UInt64 = 64, askingStore isAsking: Bool = true) async {
        guard let box = try? await present() else { return }
        let unneeded = box.unneeded(at: session.client.clock())
        guard !unneeded.isEmpty else { return }
        let made = box.attachments(among: unneeded)
        var asked: Set<Hash256> = []
        // A service deletes by itself what no entry names.
        if session.client.isRemote {
            asked = Set(made.map(\.blob.hash))
        } else if isAsking, await forgetParts(of: made) {
            asked = Set(made.map(\.blob.hash))
        }
        while (try? await cleanSome(count, asked)) == true {}
    }

    /// Deletes from the store what it may have of attachments that no commit names, nor ever will (SPEC §8.5). A service
    /// deletes it by itself. A store that cannot be asked now keeps it.
    ///
    /// - Returns: whether this was tried; not where the task was cancelled or the session locked before its end. What names
    ///   the attachments has to stay then, for the next program.
    func forgetParts(of attachments: [HeldAttachment]) async -> Bool {
        // An entry that names an attachment comes behind the head that the attachment names.
        let first = attachments.map(\.header.head.sequence).min() ?? 0
        return await forgetParts(of: attachments.map(\.blob), namedFrom: first)
    }

    /// Does the same for blobs that no entry before `first` names.
    func forgetParts(of blobs: [Blob], namedFrom first: UInt64) async -> Bool {
        guard !session.client.isRemote else { return true }
        do throws(TresorError) {
            try await giveBackRoom(of: blobs, namedFrom: first)
            return true
        } catch {
            return error != .cancelled && error != .usage(.locked)
        }
    }

    /// Does the same at a service too, which would keep for days what it took.
    ///
    /// - Parameter isCertain: whether a store that is no service deletes them only while the log ends as it was read.
    /// - Returns: whether an entry names one of them by now.
    /// - Throws: ``TresorError/busy`` for a log that does not; the errors of reading the log and of the store.
    @discardableResult func giveBackRoom(
        of blobs: [Blob], namedFrom first: UInt64, certainly isCertain: Bool = false
    ) async throws(TresorError) -> Bool {
        let client = session.client
        guard !blobs.isEmpty else { return false }
        // The newest log decides: a copy of this home may have sent them. It stays unseen by what is shown here.
        let state = try await client.logs.state(of: tresor, remembering: .no)
        let entries = try await CommitReader(client: client).records(of: state, from: first).all
        let named = Set(entries.compactMap { try? $0.body }.flatMap(\.blobs))
        let lost = blobs.filter { !named.contains($0) }
        if isCertain, let store = client.hoardingStore {
            for portion in BlobPortion.all(of: lost) {
                try Cancellation.check()
                try await store.deleteBlobs(portion.map(\.hash), in: tresor, while: state.head.hash)
            }
        } else {
            try await client.store.deleteFew(lost, in: tresor)
        }
        return blobs.contains(where: named.contains)
    }

    /// - Parameter asked: the attachments whose rows may go: the store was asked to delete what it has of them.
    /// - Returns: whether there was anything to do.
    private func cleanSome(_ most: UInt64, _ asked: Set<Hash256>) async throws(TresorError) -> Bool {
        try await change { (outbox) throws(TresorError) in
            // This is written before the first piece goes: a program that is slow writes none behind a gap.
            let all = outbox.unneeded(at: session.client.clock()) { !asked.contains($0.blob.hash) }
            let unneeded = all.filter { outbox[$0] != .unfinished(until: 0) }
            outbox.release(unneeded)
            guard unneeded.isEmpty else { return true }
            guard let number = outbox.givenUp else { return false }
            let count = try session.client.archive.unsentPieceCount(of: number.value, in: tresor)
            // The last one first: an interruption leaves none behind a gap.
            for piece in (count - min(count, most)..<count).reversed() {
                try home.delete(.unsent(tresor, number: number.value, piece: piece))
            }
            if count <= most { outbox.forget(number) }
            return true
        }
    }
}
