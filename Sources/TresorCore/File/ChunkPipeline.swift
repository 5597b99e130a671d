// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// A pipeline that reads the chunks of a stream in order, processes them on all cores, and writes them in order.
///
/// It has two buffers more than cores, so that reading and writing continue while the cores work. A fast reader waits
/// for a free buffer.
struct ChunkPipeline {
    private(set) var buffers: [ChunkBuffer]

    package init() {
        buffers = (0..<(Cores.count + 2)).map { _ in ChunkBuffer() }
    }

    /// A buffer for other use, never returned to the pipeline.
    package mutating func take() -> ChunkBuffer { buffers.popLast() ?? ChunkBuffer() }

    /// Runs until `read` ends or a step fails. After a failure nothing more is written.
    ///
    /// - Parameters:
    ///   - read: fills a buffer, whose number is set; returns `false` at the end.
    ///   - work: processes a buffer on some core; may wait for a source.
    ///   - write: takes a processed buffer, in the order of reading.
    /// - Throws: the first failure; ``TresorError/cancelled``.
    package func run(
        read: (ChunkBuffer) async throws(TresorError) -> Bool,
        work: @escaping @Sendable (ChunkBuffer) async throws(TresorError) -> Void,
        write: (ChunkBuffer) async throws(TresorError) -> Void
    ) async throws(TresorError) {
        let outcome = await withTaskGroup(of: Result<ChunkBuffer, TresorError>.self) { group -> TresorError? in
            var queue = Queue(free: buffers)
            while true {
                do throws(TresorError) {
                    while let buffer = queue.next() {
                        guard !Task.isCancelled else { throw .cancelled }
                        guard try await read(buffer) else {
                            queue.end(buffer)
                            break
                        }
                        group.addTask {
                            do throws(TresorError) {
                                try await work(buffer)
                                return .success(buffer)
                            } catch {
                                return .failure(error)
                            }
                        }
                    }
                    guard let result = await group.next() else { return queue.failure }
                    queue.waiting[try result.get().number] = try result.get()
                    while let buffer = queue.nextFinished() {
                        try await write(buffer)
                        queue.free.append(buffer)
                    }
                } catch {
                    queue.failure = queue.failure ?? error
                }
            }
        }
        // A source or a sink that fails because the task was cancelled has not failed.
        if let outcome { throw Task.isCancelled ? .cancelled : outcome }
    }

    /// The place of each buffer.
    private struct Queue {
        package var free: [ChunkBuffer]
        package var waiting: [Int: ChunkBuffer] = [:]
        package var failure: TresorError?
        private var readCount = 0
        private var writtenCount = 0
        private var hasEnded = false

        package init(free: [ChunkBuffer]) { self.free = free }

        package mutating func next() -> ChunkBuffer? {
            guard !hasEnded, failure == nil, let buffer = free.popLast() else { return nil }
            buffer.number = readCount
            buffer.plainCount = 0
            buffer.sealedCount = 0
            readCount += 1
            return buffer
        }

        package mutating func end(_ buffer: ChunkBuffer) {
            hasEnded = true
            free.append(buffer)
        }

        mutating func nextFinished() -> ChunkBuffer? {
            guard failure == nil, let buffer = waiting.removeValue(forKey: writtenCount) else { return nil }
            writtenCount += 1
            return buffer
        }
    }
}
