// SPDX-License-Identifier: Apache-2.0

/// A pipeline that reads the chunks of a stream in order, processes them on all cores, and writes them in order.
///
/// It has two buffers more than cores, so that reading and writing continue while the cores work. A fast reader waits
/// for a free buffer.
struct ChunkPipeline {
    private(set) var pieces: [ChunkBuffer]

    package init() {
        pieces = (0..<(Cores.count + 2)).map { _ in ChunkBuffer() }
    }

    /// A buffer for other use, never returned to the pipeline.
    package mutating func take() -> ChunkBuffer { pieces.popLast() ?? ChunkBuffer() }

    /// Runs until `read` ends or a step fails. After a failure nothing more is written.
    ///
    /// - Parameters:
    ///   - read: fills a buffer, whose number is set; returns `false` at the end.
    ///   - work: processes a buffer on some core.
    ///   - write: takes a processed buffer, in the order of reading.
    /// - Throws: the first failure; ``TresorError/interrupted`` when the task is cancelled.
    package func run(
        read: (ChunkBuffer) async throws(TresorError) -> Bool,
        work: @escaping @Sendable (ChunkBuffer) throws(TresorError) -> Void,
        write: (ChunkBuffer) async throws(TresorError) -> Void
    ) async throws(TresorError) {
        let outcome = await withTaskGroup(of: Result<ChunkBuffer, TresorError>.self) { group -> TresorError? in
            var belt = Belt(free: pieces)
            while true {
                do throws(TresorError) {
                    while let piece = belt.next() {
                        guard !Task.isCancelled else { throw .interrupted }
                        guard try await read(piece) else {
                            belt.end(piece)
                            break
                        }
                        group.addTask {
                            Result { () throws(TresorError) in
                                try work(piece); return piece
                            }
                        }
                    }
                    guard let result = await group.next() else { return belt.failure }
                    belt.waiting[try result.get().number] = try result.get()
                    while let piece = belt.nextFinished() {
                        try await write(piece)
                        belt.free.append(piece)
                    }
                } catch {
                    belt.failure = belt.failure ?? error
                }
            }
        }
        if let outcome { throw outcome }
    }

    /// The place of each buffer.
    private struct Belt {
        package var free: [ChunkBuffer]
        package var waiting: [Int: ChunkBuffer] = [:]
        package var failure: TresorError?
        private var readCount = 0
        private var writtenCount = 0
        private var hasEnded = false

        package init(free: [ChunkBuffer]) { self.free = free }

        package mutating func next() -> ChunkBuffer? {
            guard !hasEnded, failure == nil, let piece = free.popLast() else { return nil }
            piece.number = readCount
            piece.plainCount = 0
            piece.sealedCount = 0
            readCount += 1
            return piece
        }

        package mutating func end(_ piece: ChunkBuffer) {
            hasEnded = true
            free.append(piece)
        }

        mutating func nextFinished() -> ChunkBuffer? {
            guard failure == nil, let piece = waiting.removeValue(forKey: writtenCount) else { return nil }
            writtenCount += 1
            return piece
        }
    }
}
