// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCrypto

    @testable import TresorService

    /// An engine that lets something else happen at one place, as another process would, and notes what it runs.
    final class MeddlingEngine: SQLEngine {
        private struct Plan {
            var before: (@Sendable () async -> Void)?
            var behindRead: [SQL] = []
            var texts: [String] = []
        }

        private let engine: any SQLEngine
        private let plan = Mutex(Plan())

        init(_ engine: any SQLEngine) { self.engine = engine }

        /// Does something before the next transaction that writes.
        func beforeNextWrite(_ action: @escaping @Sendable () async -> Void) {
            plan.withLock { $0.before = action }
        }

        /// Runs statements behind the first ones of the next transaction that writes, as if somebody else had committed
        /// them.
        func behindNextRead(_ statements: [SQL]) { plan.withLock { $0.behindRead = statements } }

        /// Returns the texts of the statements that transactions which write have run since the last call.
        func takeTexts() -> [String] {
            plan.withLock { plan in
                let texts = plan.texts
                plan.texts = []
                return texts
            }
        }

        var dialect: SQLDialect { engine.dialect }

        func write<Value: Sendable>(
            erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            let action = plan.withLock { plan in
                let action = plan.before
                plan.before = nil
                return action
            }
            await action?()
            return try await engine.write(erasing: erasing) { [self] (transaction) throws(TresorError) in
                try body(Transaction(base: transaction, engine: self))
            }
        }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value { try await engine.read(body) }

        func notify(_ hint: [UInt8]) { engine.notify(hint) }
        func hints() -> AsyncStream<[UInt8]> { engine.hints() }
        func close() async { await engine.close() }

        /// A transaction that notes its statements.
        private struct Transaction: SQLTransaction {
            let base: any SQLTransaction
            let engine: MeddlingEngine

            func run(_ statements: [SQL], finishing: Bool) throws(TresorError) -> [SQLResult] {
                let meddling = engine.plan.withLock { plan in
                    plan.texts += statements.map(\.text)
                    let meddling = plan.behindRead
                    plan.behindRead = []
                    return meddling
                }
                let results = try base.run(statements, finishing: finishing && meddling.isEmpty)
                if !meddling.isEmpty { _ = try base.run(meddling, finishing: finishing) }
                return results
            }
        }
    }
#endif
