// SPDX-License-Identifier: Apache-2.0

/// Takes the pieces of a stream past all cores: read in order, worked on side by side, written in order.
///
/// There are two pieces more than cores, so that reading and writing go on while the cores work; a fast reader waits for a free piece.
struct ChunkPipeline {
    private(set) var pieces: [ChunkBuffer]

    package init() {
        pieces = (0..<(Cores.count + 2)).map { _ in ChunkBuffer() }
    }

    /// A piece for other use, never given to the conveyor again.
    package mutating func take() -> ChunkBuffer { pieces.popLast() ?? ChunkBuffer() }

    /// Runs until `read` finds no more, or anything fails; then nothing further is written.
    ///
    /// - Parameters:
    ///   - read: fills a piece, whose number is set; returns `false` when there was none left.
    ///   - work: what is done with a piece on some core.
    ///   - write: takes a finished piece, in the order in which they were read.
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

    /// Which pieces are where.
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
