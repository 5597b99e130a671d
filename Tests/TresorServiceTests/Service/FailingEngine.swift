// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCrypto

    @testable import TresorService

    /// An engine whose writes, their ends, or reads may fail.
    final class FailingEngine: SQLEngine {
        /// The failure of the next calls.
        private struct Failure {
            let error: TresorError
            /// The number of calls that fail.
            var count: Int
        }

        private struct State {
            var ofWrites: Failure?
            var ofReads: Failure?
            var ofEnds: Failure?
            var beforeWrite: (@Sendable () async -> Void)?
            var writes = 0
            var isDiskFull = false
        }

        private let engine: any SQLEngine
        private let state = Mutex(State())

        init(_ engine: any SQLEngine) { self.engine = engine }

        var dialect: SQLDialect { engine.dialect }
        /// The number of writes, also of those that failed.
        var writes: Int { state.withLock { $0.writes } }

        var isDiskFull: Bool { state.withLock { $0.isDiskFull } }

        /// Says of its disk from now on whether it is full.
        func fillDisk(_ isFull: Bool) { state.withLock { $0.isDiskFull = isFull } }

        /// Has so many writes fail; none for no error.
        func fail(_ error: TresorError?, count: Int = .max) {
            state.withLock { $0.ofWrites = error.map { Failure(error: $0, count: count) } }
        }

        /// Has so many reads fail.
        func failReads(_ error: TresorError, count: Int) {
            state.withLock { $0.ofReads = Failure(error: error, count: count) }
        }

        /// Has the ends of so many writes fail, when all their statements have run. Nothing of them stays.
        func failEnds(_ error: TresorError, count: Int) {
            state.withLock { $0.ofEnds = Failure(error: error, count: count) }
        }

        /// Does something when the next write is asked for, before its transaction begins.
        func beforeNextWrite(_ act: @escaping @Sendable () async -> Void) {
            state.withLock { $0.beforeWrite = act }
        }

        private static func take(_ failure: inout Failure?) -> TresorError? {
            guard let error = failure?.error, let count = failure?.count, count > 0 else { return nil }
            failure?.count = count - 1
            return error
        }

        func write<Value: Sendable>(
            erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            let (failure, act) = state.withLock { state in
                state.writes += 1
                defer { state.beforeWrite = nil }
                return (Self.take(&state.ofWrites), state.beforeWrite)
            }
            if let failure { throw failure }
            await act?()
            guard let end = state.withLock({ Self.take(&$0.ofEnds) }) else {
                return try await engine.write(erasing: erasing, body)
            }
            return try await engine.write(erasing: erasing) { (transaction) throws(TresorError) -> Value in
                _ = try body(transaction)
                throw end
            }
        }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            if let failure = state.withLock({ Self.take(&$0.ofReads) }) { throw failure }
            return try await engine.read(body)
        }

        func notify(_ hint: [UInt8]) {}
        func hints() -> AsyncStream<[UInt8]> { engine.hints() }
        func close() async { await engine.close() }
    }
#endif
