// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Synchronization
    import TresorCore
    import TresorCrypto

    @testable import TresorService

    /// A place in a transaction at which it waits.
    struct Pause: Sendable {
        /// The beginning of the statement behind which the place is.
        let text: String
        private let reached = DispatchSemaphore(value: 0)
        private let ended = DispatchSemaphore(value: 0)

        init(behind text: String) { self.text = text }

        /// Waits until a transaction is there.
        func reach() async throws { try await Cores.apart { reached.wait() } }

        /// Lets the transaction go on.
        func end() { ended.signal() }

        fileprivate func wait() {
            reached.signal()
            ended.wait()
        }
    }

    /// An engine that lets something else happen at one place, as another process would, and notes what it runs.
    final class MeddlingEngine: SQLEngine {
        private struct Plan {
            var before: (@Sendable () async -> Void)?
            var behindRead: [SQL] = []
            var pause: Pause?
            var texts: [String] = []
            var readTexts: [String] = []
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

        /// Stops the next transaction that writes this statement behind it.
        func pause(behind text: String) -> Pause {
            let pause = Pause(behind: text)
            plan.withLock { $0.pause = pause }
            return pause
        }

        /// Returns the texts of the statements that transactions which write have run since the last call.
        func takeTexts() -> [String] {
            plan.withLock { plan in
                let texts = plan.texts
                plan.texts = []
                return texts
            }
        }

        /// Returns the texts of the statements that transactions which only read have run since the last call.
        func takeReadTexts() -> [String] {
            plan.withLock { plan in
                let texts = plan.readTexts
                plan.readTexts = []
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
        ) async throws(TresorError) -> Value {
            try await engine.read { [self] (transaction) throws(TresorError) in
                try body(ReadTransaction(base: transaction, engine: self))
            }
        }

        func notify(_ hint: [UInt8]) { engine.notify(hint) }
        func hints() -> AsyncStream<[UInt8]> { engine.hints() }
        func close() async { await engine.close() }

        /// A transaction that notes the statements with which it reads.
        private struct ReadTransaction: SQLTransaction {
            let base: any SQLTransaction
            let engine: MeddlingEngine

            func run(_ statements: [SQL], finishing: Bool) throws(TresorError) -> [SQLResult] {
                engine.plan.withLock { $0.readTexts += statements.map(\.text) }
                return try base.run(statements, finishing: finishing)
            }
        }

        /// A transaction that notes its statements.
        private struct Transaction: SQLTransaction {
            let base: any SQLTransaction
            let engine: MeddlingEngine

            func run(_ statements: [SQL], finishing: Bool) throws(TresorError) -> [SQLResult] {
                let (meddling, pause) = engine.plan.withLock { plan in
                    plan.texts += statements.map(\.text)
                    let meddling = plan.behindRead
                    plan.behindRead = []
                    let pause = plan.pause.flatMap { pause in
                        statements.contains { $0.text.hasPrefix(pause.text) } ? pause : nil
                    }
                    if pause != nil { plan.pause = nil }
                    return (meddling, pause)
                }
                let results = try base.run(statements, finishing: finishing && meddling.isEmpty)
                if !meddling.isEmpty { _ = try base.run(meddling, finishing: finishing) }
                pause?.wait()
                return results
            }
        }
    }
#endif
