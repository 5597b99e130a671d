// SPDX-License-Identifier: Apache-2.0

#if Server
    import Clibpq
    import Dispatch
    import Synchronization
    import TresorService

    /// The hints between processes: `LISTEN` and `NOTIFY` on a connection of their own.
    ///
    /// They do not travel with the transactions, because PostgreSQL lets transactions that notify commit one at a time.
    final class PostgresHints: @unchecked Sendable {
        /// The maximum number of hints in a notification, which PostgreSQL limits to 8000 bytes.
        private static let groupCount = 60

        let board = HintBoard()
        /// The waits of this connection for the server.
        let watch = PostgresWatch()
        private let location: PostgresLocation
        private let pending = Mutex(PendingHints())
        /// Everything below is used on this queue alone.
        private let queue = DispatchQueue(label: "tresor.postgres.hints")
        private var connection: OpaquePointer?
        private var source: (any DispatchSourceRead)?
        private var isClosed = false

        init(_ location: PostgresLocation) { self.location = location }

        /// Connects, and listens from when it returns.
        func listen() async {
            await withCheckedContinuation { continuation in
                queue.async {
                    self.connect()
                    continuation.resume()
                }
            }
        }

        /// Sends a hint: at once if none was sent lately, otherwise soon and together with others.
        func notify(_ hint: [UInt8]) {
            let delay = pending.withLock { $0.add(hint, at: .now) }
            switch delay {
            case nil: break
            case .zero?: queue.async { self.send() }
            case let delay?:
                queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay / .nanoseconds(1)))) { self.send() }
            }
        }

        func close() async {
            board.close()
            await withCheckedContinuation { continuation in
                queue.async {
                    self.isClosed = true
                    // Hints that wait to be sent together are not lost.
                    self.send()
                    self.disconnect()
                    continuation.resume()
                }
            }
        }

        private func connect() {
            guard !isClosed, connection == nil else { return }
            guard
                let opened = try? PostgresConnection.connect(
                    location, watch: watch,
                    settings: "SET synchronous_commit = off; SET statement_timeout = 5000; LISTEN tresor")
            else { return connectLater() }
            connection = opened
            let source = DispatchSource.makeReadSource(fileDescriptor: PQsocket(opened), queue: queue)
            source.setEventHandler { [weak self] in self?.receive() }
            source.setCancelHandler { PQfinish(opened) }
            self.source = source
            source.resume()
        }

        private func connectLater() {
            queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
                guard let self, !isClosed, connection == nil else { return }
                connect()
                guard connection != nil else { return }
                // Both here and elsewhere hints were lost.
                board.post([])
                send([[]])
            }
        }

        private func disconnect() {
            source?.cancel()
            source = nil
            connection = nil
        }

        private func reconnect() {
            disconnect()
            connectLater()
        }

        private func receive() {
            guard let connection else { return }
            // The last words of a server and its end can come as one event, so this reads until nothing is left.
            let isAlive = PostgresConnection.isAlive(connection, rounds: 1 << 16)
            takeNotifications(from: connection)
            if !isAlive { reconnect() }
        }

        private func takeNotifications(from connection: OpaquePointer) {
            while let notification = PQnotifies(connection) {
                defer { PQfreemem(notification) }
                guard let payload = notification.pointee.extra else { continue }
                for hint in Self.hints(in: String(cString: payload)) { board.post(hint) }
            }
        }

        private func send() {
            let hints = pending.withLock { $0.take(at: .now) }
            for start in stride(from: 0, to: hints.count, by: Self.groupCount) {
                send(hints[start..<min(start + Self.groupCount, hints.count)])
            }
        }

        private func send(_ hints: ArraySlice<[UInt8]>) {
            guard let connection, notify(hints, on: connection) else {
                // At least those in this process hear it.
                for hint in hints { board.post(hint) }
                if connection != nil { reconnect() }
                return
            }
            takeNotifications(from: connection)
        }

        private func notify(_ hints: ArraySlice<[UInt8]>, on connection: OpaquePointer) -> Bool {
            let payload = hints.map(Self.hexadecimal).joined(separator: ",")
            // The payload is hexadecimal digits and commas.
            guard (try? watch.begin(on: PQsocket(connection))) != nil else { return false }
            let answer = PQexec(connection, "NOTIFY tresor, '\(payload)'")
            _ = watch.end()
            defer { PQclear(answer) }
            return PQresultStatus(answer) == PGRES_COMMAND_OK
        }

        private static func hexadecimal(_ bytes: [UInt8]) -> String {
            bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }

        /// The hints of a payload. Another program may have sent it; what is not hexadecimal is left out.
        static func hints(in payload: String) -> [[UInt8]] {
            payload.split(separator: ",", omittingEmptySubsequences: false).compactMap { text in
                let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
                guard digits.count.isMultiple(of: 2), digits.count <= 128 else { return nil }
                var bytes: [UInt8] = []
                for position in stride(from: 0, to: digits.count, by: 2) {
                    guard let high = digits[position], let low = digits[position + 1] else { return nil }
                    bytes.append(UInt8(high << 4 | low))
                }
                return bytes
            }
        }
    }
#endif
