// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    package import TresorCrypto
    package import TresorService

    /// A database of PostgreSQL. Any number of processes may use it at the same time.
    ///
    /// A connection that broke is opened again with the next call. Connections go through a pooler only if it keeps them
    /// for a whole session, because they have prepared statements.
    package final class PostgresEngine: SQLEngine {
        package let dialect = SQLDialect.postgres
        /// Whether the server takes connections.
        package let outage: Outage
        private let pool: PostgresPool
        private let notifications: PostgresHints
        private let watching: Task<Void, Never>

        private init(
            _ location: PostgresLocation, connectionCount: Int,
            clock: @escaping @Sendable () -> ContinuousClock.Instant
        ) {
            outage = location.outage
            let pool = PostgresPool(location, count: connectionCount)
            let notifications = PostgresHints(location)
            (self.pool, self.notifications) = (pool, notifications)
            watching = Task {
                while (try? await Task.sleep(for: .seconds(1))) != nil {
                    let time = clock() - PostgresWatch.limit
                    pool.endWaits(begunBefore: time)
                    notifications.watch.endWait(begunBefore: time)
                }
            }
        }

        deinit { watching.cancel() }

        /// Gives up what has waited for the server since before a time, as the engine does by itself after
        /// ``PostgresWatch/limit``.
        func endWaits(begunBefore time: ContinuousClock.Instant) { pool.endWaits(begunBefore: time) }

        /// Connects to a database.
        ///
        /// - Parameters:
        ///   - connectionCount: the maximum number of connections, beside one for hints; by default two for each
        ///     processor, and two. A quarter, and at least one of several, is for reads alone.
        ///   - clock: the clock that says what has waited for too long.
        /// - Throws: `TresorError.store(_:)` with `inputOutput` for a server that cannot be reached or refuses this
        ///   program, and with `readOnly` for a standby.
        package static func open(
            _ location: PostgresLocation, connectionCount: Int = 2 * Cores.count + 2,
            clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
        ) async throws(TresorError) -> PostgresEngine {
            let engine = PostgresEngine(location, connectionCount: connectionCount, clock: clock)
            do throws(TresorError) {
                _ = try await engine.read(SQL("SELECT 1"))
            } catch {
                await engine.close()
                throw error
            }
            await engine.notifications.listen()
            return engine
        }

        package func write<Value: Sendable>(
            erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            try await pool.run(.write) { (connection) throws(TresorError) in try connection.perform(.write, body) }
        }

        package func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            try await pool.run(.read) { (connection) throws(TresorError) in try connection.perform(.read, body) }
        }

        package func notify(_ hint: [UInt8]) { notifications.notify(hint) }

        package func hints() -> AsyncStream<[UInt8]> { notifications.board.hints() }

        package func close() async {
            await notifications.close()
            await pool.close()
            watching.cancel()
        }
    }
#endif
