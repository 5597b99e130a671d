// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCrypto
    import TresorService

    /// A transaction of PostgreSQL. It begins with its first statements, in the same exchange.
    final class PostgresTransaction: SQLTransaction {
        enum Kind {
            /// Each statement sees what was committed before it.
            case write
            /// All statements see one state.
            case read
        }

        private enum Phase {
            case fresh
            case open
            case ended
        }

        private let connection: PostgresConnection
        private let kind: Kind
        private var phase = Phase.fresh
        private var isLimited = true
        /// The failure that ended the transaction.
        private(set) var failure: PostgresFailure?
        /// Whether the commit was sent, so that after a break nobody knows whether it happened.
        private(set) var mayBeCommitted = false

        init(on connection: PostgresConnection, _ kind: Kind) {
            self.connection = connection
            self.kind = kind
        }

        func run(_ statements: [SQL], finishing: Bool) throws(TresorError) -> [SQLResult] {
            guard phase != .ended else { throw failure?.error ?? .store(.other) }
            guard !statements.isEmpty || phase == .open else {
                if finishing { phase = .ended }
                return []
            }
            if statements.contains(where: \.liftsLimits) { isLimited = false }
            let beginning = phase == .fresh ? kind : nil
            phase = finishing ? .ended : .open
            if finishing, kind == .write { mayBeCommitted = true }
            do {
                // However long the statements take, an exchange with the commit has its limit.
                return try connection.exchange(
                    statements, beginning: beginning, committing: finishing, isLimited: isLimited || finishing)
            } catch {
                failure = error
                phase = .ended
                throw error.error
            }
        }

        /// Commits what the body did, unless it did so itself.
        ///
        /// - Throws: also the failure that a body ignored.
        func end() throws(TresorError) {
            if let failure { throw failure.error }
            if phase == .open { _ = try run([], finishing: true) }
        }
    }

    extension PostgresConnection {
        /// The number of times that a transaction is tried again when others come between.
        private static let retryCount = 3

        /// Runs a body in a transaction, on this thread. Tries again after a collision, and once after the connection
        /// broke before the commit was sent.
        func perform<Value>(
            _ kind: PostgresTransaction.Kind, _ body: (any SQLTransaction) throws(TresorError) -> Value
        ) throws(TresorError) -> Value {
            var collisions = 0
            var isBroken = false
            lastCommit = nil
            while true {
                do { try prepare() } catch { throw error.error }
                let transaction = PostgresTransaction(on: self, kind)
                let failure: TresorError
                do throws(TresorError) {
                    let value = try body(transaction)
                    try transaction.end()
                    if transaction.mayBeCommitted { lastCommit = .done }
                    return value
                } catch {
                    failure = error
                }
                switch transaction.failure {
                case .collision where collisions < Self.retryCount:
                    collisions += 1
                    rollBack()
                case .broken where !isBroken && !transaction.mayBeCommitted:
                    isBroken = true
                    close()
                case .broken, .late:
                    if case .late = transaction.failure { lastCommit = .hung }
                    close()
                    throw transaction.failure?.error ?? failure
                default:
                    rollBack()
                    throw failure
                }
            }
        }
    }
#endif
