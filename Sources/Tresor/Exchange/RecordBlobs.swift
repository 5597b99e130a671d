// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The blobs by which the records of a state are read (SPEC §11.1).
enum RecordBlobs {
    /// Returns those that one entry names: of a commit the attachments, and above the floor the pack; of the newest
    /// checkpoint the volumes. Those of a void body do not count.
    ///
    /// A compaction deletes the attachments that nobody needs. Which these are, only members can tell.
    static func named(
        by bytes: [UInt8], at sequence: UInt64, in state: LogState, attachments: Bool = true
    ) throws(TresorError) -> [Blob] {
        let entry = try Entry(bytes)
        switch try? entry.body {
        case .commit(let commit)? where state.voidRule(of: entry) == nil:
            let pack = sequence > state.floor ? commit.blobs.prefix(1) : []
            return Array(pack + (attachments ? commit.blobs.dropFirst() : []))
        case .checkpoint(let checkpoint)? where sequence == state.checkpoint: return checkpoint.volumes
        default: return []
        }
    }
}

/// Reads blobs of a store, in batches (SPEC §19.7 step 3).
package struct BlobReader: Sendable {
    /// The most blobs that are asked for at once.
    private static let batchCount = 256

    private let store: any Store
    private let tresor: TresorID

    package init(_ store: any Store, _ tresor: TresorID) {
        self.store = store
        self.tresor = tresor
    }

    /// Returns those of some blobs that the store has with their size and hash.
    ///
    /// - Parameter limit: the most bytes of all that are there.
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` beyond the limit; ``TresorError/store(_:)`` for an answer
    ///   without any blob; the errors of the store.
    package func read(_ wanted: [Blob], limit: Int = .max) async throws(TresorError) -> [Blob: [UInt8]] {
        var (found, byteCount): ([Blob: [UInt8]], Int) = ([:], 0)
        for blob in wanted where Self.isLarge(blob) {
            guard let bytes = try await whole(blob, limit: limit - byteCount) else { continue }
            byteCount += bytes.count
            found[blob] = bytes
        }
        var rest = wanted.filter { !Self.isLarge($0) }[...]
        while !rest.isEmpty {
            try Cancellation.check()
            let asked = rest.prefix(Self.batchCount)
            let answer = try await store.blobs(asked.map(\.hash), in: tresor)
            guard (1...asked.count).contains(answer.count) else { throw .store(.foreign) }
            for (blob, bytes) in zip(asked, answer) {
                guard let bytes, UInt64(bytes.count) == blob.size, try Blob(of: bytes) == blob else { continue }
                byteCount += bytes.count
                guard byteCount <= limit else { throw .usage(.contentTooLong) }
                found[blob] = bytes
            }
            rest = rest.dropFirst(answer.count)
        }
        return found
    }

    /// Whether a blob does not fit into an answer with whole ones.
    private static func isLarge(_ blob: Blob) -> Bool { blob.size > UInt64(StoredBlob.answerByteCount) }

    /// Returns a blob, part by part; `nil` for one that the store does not have with its size and hash.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` beyond the limit; the errors of the store.
    private func whole(_ blob: Blob, limit: Int) async throws(TresorError) -> [UInt8]? {
        var bytes: [UInt8] = []
        let isThere = try await forEachPart(of: blob) { (part) throws(TresorError) in
            guard part.count <= limit - bytes.count else { throw .usage(.contentTooLong) }
            bytes += part
        }
        return isThere ? bytes : nil
    }

    /// Whether the store has a blob with its size and hash. Reads all of it, and holds one part.
    ///
    /// - Throws: the errors of the store.
    package func has(_ blob: Blob) async throws(TresorError) -> Bool { try await forEachPart(of: blob) { _ in } }

    /// Gives the parts of a blob, in order.
    ///
    /// - Returns: whether they are those of the blob that the log names.
    private func forEachPart(
        of blob: Blob, _ take: ([UInt8]) throws(TresorError) -> Void
    ) async throws(TresorError) -> Bool {
        let hash = try BlobHash()
        for number in 0..<blob.partCount {
            try Cancellation.check()
            guard let part = try await store.blob(blob.hash, part: number, in: tresor),
                part.count == blob.byteCount(ofPart: number)
            else { return false }
            try hash.update(part.span)
            try take(part)
        }
        return try hash.finish() == blob
    }

    /// Puts a blob that may be too large for memory: from the first part on that the store lacks, or all of it.
    ///
    /// - Parameters:
    ///   - isAgain: whether to put all of it, because the store does not have what it seems to have.
    ///   - part: gives a part by its number.
    /// - Throws: ``TresorError/failed(_:)`` for parts that are not those of the blob; the errors of `part` and of the
    ///   store. What was put by then stays.
    package func put(
        _ blob: Blob, again isAgain: Bool, _ part: (UInt32) async throws(TresorError) -> [UInt8]
    ) async throws(TresorError) {
        let first = isAgain ? 0 : try await firstLacking(of: blob, part)
        let hash = try BlobHash()
        for number in 0..<blob.partCount {
            try Cancellation.check()
            let bytes = try await part(number)
            try hash.update(bytes.span)
            if number >= first { try await store.putBlob(number, bytes, of: blob.hash, in: tresor) }
        }
        guard try hash.finish() == blob else { throw .failed(.inputOutput) }
    }

    /// The number of parts that the store has before the first one that it lacks, as far as a few of them tell: parts are
    /// put in order.
    private func firstLacking(
        of blob: Blob, _ part: (UInt32) async throws(TresorError) -> [UInt8]
    ) async throws(TresorError) -> UInt32 {
        func has(_ number: UInt32) async throws(TresorError) -> Bool {
            try Cancellation.check()
            return try await store.blob(blob.hash, part: number, in: tresor) == part(number)
        }
        let last = blob.partCount - 1
        if try await has(last) { return last + 1 }
        guard last > 0, try await has(0) else { return 0 }
        // It has the part `low`, and lacks the part `high`.
        var (low, high) = (UInt32(0), last)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if try await has(middle) { low = middle } else { high = middle }
        }
        return high
    }

    /// Puts those of some blobs that the store lacks, or has otherwise.
    ///
    /// - Returns: how many were put.
    /// - Throws: the errors of the store. What was put by then stays.
    package func restore(_ blobs: [Blob: [UInt8]]) async throws(TresorError) -> Int {
        let present = try await read(blobs.keys.filter { !Self.isLarge($0) }.sorted { $0.hash < $1.hash })
        var count = 0
        for (blob, bytes) in blobs where present[blob] == nil {
            if Self.isLarge(blob), try await has(blob) { continue }
            for (number, part) in StoredBlob.parts(of: bytes).enumerated() {
                try Cancellation.check()
                try await store.putBlob(UInt32(number), Array(part), of: blob.hash, in: tresor)
            }
            count += 1
        }
        return count
    }
}
