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

/// Blobs that entries name, by their hashes. A hash is that of one object, but an entry can say any size of it, and
/// many entries can name it.
private struct NamedBlobs {
    /// The hashes under which more than an answer with whole blobs has may lie, in the order in which they were named.
    private(set) var large: [Hash256] = []
    /// The other hashes likewise.
    private(set) var small: [Hash256] = []
    private var sizes: [Hash256: Set<UInt64>] = [:]

    /// - Parameter inParts: whether none is asked for with others in one answer.
    init(_ blobs: some Sequence<Blob>, inParts: Bool = false) {
        var order: [Hash256] = []
        for blob in blobs {
            if sizes[blob.hash] == nil { order.append(blob.hash) }
            sizes[blob.hash, default: []].insert(blob.size)
        }
        for hash in order {
            let isLarge = inParts || sizes(of: hash).contains { $0 > UInt64(StoredBlob.answerByteCount) }
            if isLarge { large.append(hash) } else { small.append(hash) }
        }
    }

    /// The sizes that entries say of a hash.
    func sizes(of hash: Hash256) -> Set<UInt64> { sizes[hash] ?? [] }
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

    /// Returns those of some blobs that the store has with their size and hash. Each hash is read once.
    ///
    /// - Parameter limit: the most bytes of all that are there.
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` beyond the limit; ``TresorError/store(_:)`` for an answer
    ///   without any blob; the errors of the store.
    package func read(
        _ wanted: some Sequence<Blob>, limit: Int = .max
    ) async throws(TresorError) -> [Blob: [UInt8]] {
        let named = NamedBlobs(wanted)
        var (found, byteCount): ([Blob: [UInt8]], Int) = ([:], 0)
        for hash in named.large {
            var bytes: [UInt8] = []
            let blob = try await blob(hash, of: named.sizes(of: hash)) { (part) throws(TresorError) in
                guard part.count <= limit - byteCount - bytes.count else { throw .usage(.contentTooLong) }
                bytes += part
            }
            guard let blob else { continue }
            byteCount += bytes.count
            found[blob] = bytes
        }
        try await ask(for: named) { (blob, bytes) throws(TresorError) in
            byteCount += bytes.count
            guard byteCount <= limit else { throw .usage(.contentTooLong) }
            found[blob] = bytes
        }
        return found
    }

    /// Returns those of some blobs that the store has with their size and hash. Each hash is read once, however many
    /// entries name it, and by whatever sizes. It holds one answer.
    ///
    /// - Parameter inParts: whether to ask for each part by its number, as somebody does who reads an attachment.
    /// - Throws: ``TresorError/store(_:)`` for an answer without any blob; the errors of the store.
    package func present(
        _ wanted: some Sequence<Blob>, inParts: Bool = false
    ) async throws(TresorError) -> Set<Blob> {
        let named = NamedBlobs(wanted, inParts: inParts)
        var found: Set<Blob> = []
        for hash in named.large {
            if let blob = try await blob(hash, of: named.sizes(of: hash)) { found.insert(blob) }
        }
        try await ask(for: named) { (blob, _) throws(TresorError) in found.insert(blob) }
        return found
    }

    /// Asks for the blobs of which many fit into an answer.
    private func ask(
        for named: NamedBlobs, _ take: (Blob, [UInt8]) throws(TresorError) -> Void
    ) async throws(TresorError) {
        var rest = named.small[...]
        while !rest.isEmpty {
            try Cancellation.check()
            let asked = rest.prefix(Self.batchCount)
            let answer = try await store.blobs(Array(asked), in: tresor)
            guard (1...asked.count).contains(answer.count) else { throw .store(.foreign) }
            for (hash, bytes) in zip(asked, answer) {
                guard let bytes, named.sizes(of: hash).contains(UInt64(bytes.count)) else { continue }
                let blob = try Blob(of: bytes)
                if blob.hash == hash { try take(blob, bytes) }
            }
            rest = rest.dropFirst(answer.count)
        }
    }

    /// Whether the store has a blob with its size and hash. Reads all of it, and holds one part.
    ///
    /// - Throws: the errors of the store.
    package func has(_ blob: Blob) async throws(TresorError) -> Bool {
        try await self.blob(blob.hash, of: [blob.size]) != nil
    }

    /// Reads what the store has under a hash, part by part in order, until it is a blob of one of these sizes.
    ///
    /// - Parameter take: takes each part.
    /// - Returns: the blob; `nil` where the store has none of them.
    private func blob(
        _ hash: Hash256, of sizes: Set<UInt64>, _ take: ([UInt8]) throws(TresorError) -> Void = { _ in }
    ) async throws(TresorError) -> Blob? {
        let largest = Blob(hash: hash, size: sizes.max() ?? 0)
        let read = try BlobHash()
        var byteCount: UInt64 = 0
        for number in 0..<largest.partCount {
            try Cancellation.check()
            guard let part = try await store.blob(hash, part: number, in: tresor),
                (1...StoredBlob.partByteCount).contains(part.count)
            else { return nil }
            try read.update(part.span)
            try take(part)
            byteCount += UInt64(part.count)
            if sizes.contains(byteCount) {
                let blob = try read.soFar()
                if blob.hash == hash { return blob }
            }
            guard part.count == StoredBlob.partByteCount else { return nil }
        }
        return nil
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
        let present = try await present(blobs.keys.sorted { $0.hash < $1.hash })
        var count = 0
        for (blob, bytes) in blobs where !present.contains(blob) {
            for (number, part) in StoredBlob.parts(of: bytes).enumerated() {
                try Cancellation.check()
                try await store.putBlob(UInt32(number), Array(part), of: blob.hash, in: tresor)
            }
            count += 1
        }
        return count
    }
}
