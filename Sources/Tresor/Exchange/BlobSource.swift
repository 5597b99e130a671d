// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A blob of the store that is read at any place while it is opened, and held in a few parts. The store is asked for each
/// part about once, and has to give the same bytes every time.
package struct BlobSource: SealedSource {
    /// The size in bytes, as the log says.
    package let byteCount: Int
    private let parts: BlobParts

    /// Asks nothing yet.
    ///
    /// - Parameter cores: the number of cores that open the blob: so many read at different places.
    package init(
        _ blob: Blob, in store: any Store, of tresor: TresorID, cores: Int = Cores.count
    ) throws(TresorError) {
        byteCount = Int(clamping: blob.size)
        parts = try BlobParts(blob, store, tresor, cores: cores)
    }

    /// Fills `output` with the bytes from `offset` on.
    ///
    /// - Throws: ``TresorError/store(_:)`` for a part that the store does not have; ``TresorError/altered`` for one of
    ///   another size, and for other bytes than before; the errors of the store.
    package func read(from offset: Int, into output: inout OutputRawSpan) async throws(TresorError) {
        guard offset >= 0, output.freeCapacity <= byteCount - offset else { throw .altered }
        var next = offset
        while output.freeCapacity > 0 {
            let bytes = try await parts.part(UInt32(next / StoredBlob.partByteCount))
            let start = next % StoredBlob.partByteCount
            let count = min(bytes.count - start, output.freeCapacity)
            output.append(bytes.span.extracting(start..<(start + count)))
            next += count
        }
    }

    /// Reads what was not read yet, and checks that all of it is the blob that the log names.
    ///
    /// - Throws: ``TresorError/altered`` for other bytes; the errors of ``read(from:into:)``.
    package func checkWhole() async throws(TresorError) { try await parts.checkWhole() }

    /// Why the store did not give the blob; `nil` for nothing wrong with it so far.
    package var failure: TresorError? { get async { await parts.failure } }
}

/// The parts of a blob, as they come.
private actor BlobParts {
    private typealias Answer = Result<[UInt8], TresorError>

    private let blob: Blob
    private let store: any Store
    private let tresor: TresorID
    /// The most parts that are held: two for each buffer of the pipeline that opens them, and 4 MiB at least.
    private let heldCount: Int
    /// The hash of all parts before ``next``.
    private let hash: BlobHash
    private var next: UInt32 = 0
    /// The hash of each part that came.
    private var known: [UInt32: Hash256] = [:]
    private var held: [UInt32: [UInt8]] = [:]
    private var coming: [UInt32: Task<Answer, Never>] = [:]
    private(set) var failure: TresorError?

    init(_ blob: Blob, _ store: any Store, _ tresor: TresorID, cores: Int) throws(TresorError) {
        self.blob = blob
        heldCount = max(16, 2 * (cores + 2))
        self.store = store
        self.tresor = tresor
        hash = try BlobHash()
    }

    /// Returns a part. Who asks for one that is coming waits for it.
    func part(_ number: UInt32) async throws(TresorError) -> [UInt8] {
        if let bytes = held[number] { return bytes }
        let task = coming[number] ?? fetching(number)
        coming[number] = task
        let answer = await task.value
        coming[number] = nil
        do throws(TresorError) {
            let bytes = try answer.get()
            try take(bytes, as: number)
            return bytes
        } catch {
            failure = failure ?? error
            throw error
        }
    }

    private func fetching(_ number: UInt32) -> Task<Answer, Never> {
        Task { [blob, store, tresor] () async -> Answer in
            do throws(TresorError) {
                guard let bytes = try await store.blob(blob.hash, part: number, in: tresor) else {
                    return .failure(.store(.withheld))
                }
                return bytes.count == blob.byteCount(ofPart: number) ? .success(bytes) : .failure(.altered)
            } catch {
                return .failure(error)
            }
        }
    }

    private func take(_ bytes: [UInt8], as number: UInt32) throws(TresorError) {
        let digest = try BLAKE2b.hash(.blobHash, bytes)
        guard known[number] == nil || known[number] == digest else { throw .altered }
        known[number] = digest
        held[number] = bytes
        while let bytes = held[next] {
            try hash.update(bytes.span)
            next += 1
        }
        // Parts that were hashed go first, and parts that are far ahead before those that are needed next.
        if held.count > heldCount, let end = held.keys.filter({ $0 < next }).min() ?? held.keys.max() {
            held[end] = nil
        }
    }

    func checkWhole() async throws(TresorError) {
        while next < blob.partCount { _ = try await part(next) }
        guard try hash.finish() == blob else {
            failure = .altered
            throw .altered
        }
    }
}

extension Blob {
    /// The number of its parts.
    package var partCount: UInt32 {
        let (whole, rest) = size.quotientAndRemainder(dividingBy: UInt64(StoredBlob.partByteCount))
        return UInt32(clamping: whole + (rest > 0 ? 1 : 0))
    }

    /// The size of a part in bytes; all but the last one are whole.
    func byteCount(ofPart number: UInt32) -> Int {
        let start = UInt64(number) * UInt64(StoredBlob.partByteCount)
        return start < size ? Int(min(UInt64(StoredBlob.partByteCount), size - start)) : 0
    }
}
