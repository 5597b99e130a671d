// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCrypto

    @testable import TresorService

    /// An engine that counts its transactions and their statements.
    final class CountingEngine: SQLEngine {
        private let engine: any SQLEngine
        private let transactions = Atomic(0)
        private let statements = Atomic(0)
        private let writes = Atomic(0)
        private let erasures = Atomic(0)
        private let written = Atomic(0)
        private let bytes = Atomic(0)
        private let exchanges = Atomic(0)
        private let beforeRead = Mutex<(@Sendable () async -> Void)?>(nil)

        init(_ engine: any SQLEngine) { self.engine = engine }

        /// The number of transactions that were begun.
        var count: Int { transactions.load(ordering: .relaxed) }
        /// The number of statements that read-only transactions have run.
        var statementCount: Int { statements.load(ordering: .relaxed) }
        /// The number of transactions that write, and of those that erase.
        var writeCount: Int { writes.load(ordering: .relaxed) }
        var erasureCount: Int { erasures.load(ordering: .relaxed) }
        /// The number of statements that transactions have run which write.
        var writtenStatementCount: Int { written.load(ordering: .relaxed) }
        /// The number of exchanges with a server of the database: one for statements that run together, and one for a commit
        /// that comes alone.
        var exchangeCount: Int { exchanges.load(ordering: .relaxed) }
        /// The number of bytes that all statements were given as values.
        var byteCount: Int { bytes.load(ordering: .relaxed) }
        var dialect: SQLDialect { engine.dialect }

        /// Has something happen before the next read-only transaction.
        func beforeNextRead(_ act: @escaping @Sendable () async -> Void) { beforeRead.withLock { $0 = act } }

        func write<Value: Sendable>(
            erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            transactions.add(1, ordering: .relaxed)
            writes.add(1, ordering: .relaxed)
            if erasing { erasures.add(1, ordering: .relaxed) }
            return try await engine.write(erasing: erasing) { [self] (transaction) throws(TresorError) in
                try perform(body, in: transaction, isWriting: true)
            }
        }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            await beforeRead.withLock { $0.take() }?()
            transactions.add(1, ordering: .relaxed)
            return try await engine.read { [self] (transaction) throws(TresorError) in
                try perform(body, in: transaction, isWriting: false)
            }
        }

        private func perform<Value>(
            _ body: (any SQLTransaction) throws(TresorError) -> Value, in transaction: any SQLTransaction,
            isWriting: Bool
        ) throws(TresorError) -> Value {
            let counting = Transaction(base: transaction, engine: self, isWriting: isWriting)
            let value = try body(counting)
            if counting.isOpen { exchanges.add(1, ordering: .relaxed) }
            return value
        }

        func notify(_ hint: [UInt8]) { engine.notify(hint) }
        func hints() -> AsyncStream<[UInt8]> { engine.hints() }
        func close() async { await engine.close() }

        /// A transaction that counts its statements.
        private final class Transaction: SQLTransaction {
            let base: any SQLTransaction
            let engine: CountingEngine
            let isWriting: Bool
            /// Whether statements have run that no commit came with.
            private(set) var isOpen = false

            init(base: any SQLTransaction, engine: CountingEngine, isWriting: Bool) {
                (self.base, self.engine, self.isWriting) = (base, engine, isWriting)
            }

            func run(_ statements: [SQL], finishing: Bool) throws(TresorError) -> [SQLResult] {
                engine.exchanges.add(1, ordering: .relaxed)
                isOpen = !finishing
                if isWriting {
                    engine.written.add(statements.count, ordering: .relaxed)
                } else {
                    engine.statements.add(statements.count, ordering: .relaxed)
                }
                for case .bytes(let value) in statements.flatMap(\.values) {
                    engine.bytes.add(value.count, ordering: .relaxed)
                }
                return try base.run(statements, finishing: finishing)
            }
        }
    }
#endif
