// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// A connection to a service, in clear or over TLS. One exchange uses it at a time.
    final class Connection: Sendable {
        let socket: Socket
        private let tls: TLSStream?
        /// Connects within 5 seconds.
        init(to target: ConnectionTarget, for exchange: ExchangeControl) throws(TransportFailure) {
            let deadline = ContinuousClock.now + .seconds(5)
            let address = target.address
            let end = HostAndPort(host: address.host, port: address.port)
            let place = target.proxy ?? end
            let socket = try Socket.connect(
                to: place, as: Obstacle.Place(host: place.host, isProxy: target.proxy != nil),
                onlyLoopback: !address.isSecure, until: deadline, for: exchange)
            self.socket = socket
            do throws(TransportFailure) {
                if target.proxy != nil { try Self.tunnel(through: socket, to: end, until: deadline) }
                tls =
                    if let context = target.context {
                        try TLSStream(over: socket, to: address.host, in: context, until: deadline)
                    } else {
                        nil
                    }
            } catch {
                throw exchange.isCancelled ? .cancelled : error == .broken ? .unreachable : error
            }
        }

        /// Asks a proxy for a connection to the service (RFC 9110 §9.3.6). The proxy sees host and port.
        private static func tunnel(
            through socket: Socket, to end: HostAndPort, until deadline: Deadline
        ) throws(TransportFailure) {
            try socket.send(Array("CONNECT \(end.text) HTTP/1.1\r\nHost: \(end.text)\r\n\r\n".utf8), until: deadline)
            var bytes: [UInt8] = []
            let head = try AnswerReader.head(&bytes) { () throws(TransportFailure) in
                try socket.receive(until: deadline)
            }
            switch head.status {
            case 200...299: guard bytes.isEmpty else { throw .foreign }
            case 502...504: throw TransportFailure(.away(status: head.status))
            default: throw TransportFailure(.refusedByProxy(status: head.status))
            }
        }

        /// Sends a request and reads its answer.
        ///
        /// - Returns: the answer, and whether the connection may carry another exchange.
        func exchange(
            _ request: TransportRequest, host: String
        ) throws(TransportFailure) -> (answer: TransportAnswer, isReusable: Bool) {
            var allowance = Allowance(request.timeout, from: .now)
            let (head, body, rest): (AnswerHead, [UInt8], [UInt8])
            do throws(TransportFailure) {
                try send(request, host: host, by: &allowance)
                (head, body, rest) = try receive(request, by: &allowance)
            } catch {
                throw error == .unreachable ? TransportFailure(.slow) : error
            }
            let answer = TransportAnswer(
                status: head.status, isOfService: head.type == WireForm.mediaType, date: head.date,
                retryAfter: head.retryAfter, body: body)
            return (answer, !head.isLast && rest.isEmpty)
        }

        private func send(
            _ request: TransportRequest, host: String, by allowance: inout Allowance
        ) throws(TransportFailure) {
            let body = request.body
            do throws(TransportFailure) {
                try send(Self.beginning(of: request, host: host), until: allowance.deadline)
                for start in stride(from: 0, to: body.count, by: Self.pieceByteCount) {
                    let piece = body[start..<min(start + Self.pieceByteCount, body.count)]
                    if start > 0 { try send(Array(piece), until: allowance.deadline) }
                    allowance.moved(piece.count)
                    request.transfer(Transfer(isSent: true, byteCount: piece.endIndex, total: body.count))
                }
            } catch {
                // A server that refuses a request early closes the connection; its refusal may be here already.
                guard error == .broken else { throw error }
            }
        }

        private func receive(
            _ request: TransportRequest, by allowance: inout Allowance
        ) throws(TransportFailure) -> (AnswerHead, body: [UInt8], rest: [UInt8]) {
            var bytes: [UInt8] = []
            let (head, body) = try AnswerReader.answer(
                &bytes, maximumByteCount: request.maximumAnswerByteCount,
                report: { request.transfer(Transfer(isSent: false, byteCount: $0, total: $1)) }
            ) { () throws(TransportFailure) in
                let more = try receive(until: allowance.deadline)
                allowance.moved(more.count)
                return more
            }
            return (head, body, bytes)
        }

        private static let pieceByteCount = 16 << 10

        /// The head with the first piece of the body. Apart they would be two records of TLS, and wake the service twice.
        static func beginning(of request: TransportRequest, host: String) -> [UInt8] {
            head(of: request, host: host) + request.body.prefix(pieceByteCount)
        }

        private static func head(of request: TransportRequest, host: String) -> [UInt8] {
            var lines = ["POST \(request.target) HTTP/1.1", "Host: \(host)"]
            if let authorization = request.authorization { lines.append("Authorization: \(authorization)") }
            lines += ["Content-Type: \(WireForm.mediaType)", "Content-Length: \(request.body.count)", "", ""]
            return Array(lines.joined(separator: "\r\n").utf8)
        }

        private func send(_ bytes: [UInt8], until deadline: Deadline) throws(TransportFailure) {
            if let tls { try tls.send(bytes, until: deadline) } else { try socket.send(bytes, until: deadline) }
        }

        private func receive(until deadline: Deadline) throws(TransportFailure) -> [UInt8] {
            if let tls { try tls.receive(until: deadline) } else { try socket.receive(until: deadline) }
        }

        /// Whether nothing has come since the last answer: neither an end, nor bytes that nobody asked for.
        func isQuiet() -> Bool {
            if let tls { return tls.isQuiet() }
            do throws(TransportFailure) { return try socket.receiveNow() == nil } catch { return false }
        }
    }

    /// The address of a service and the way that leads there.
    struct ConnectionTarget: Sendable {
        let address: ServiceAddress
        let proxy: HostAndPort?
        /// `nil` for a connection in clear.
        let context: TLSContext?
    }

    /// The end of an exchange from outside: the cancellation of its task.
    final class ExchangeControl: Sendable {
        private struct State {
            /// The sockets in use: several while they race for the connection.
            var sockets: [Socket] = []
            var isCancelled = false
        }

        private let state = Mutex(State())

        var isCancelled: Bool { state.withLock { $0.isCancelled } }

        /// Names the socket that the exchange uses.
        ///
        /// - Throws: ``TransportFailure/cancelled`` if the exchange was cancelled.
        func use(_ socket: Socket) throws(TransportFailure) { try use([socket]) }

        /// Names the sockets that the exchange uses.
        ///
        /// - Throws: ``TransportFailure/cancelled`` if the exchange was cancelled.
        func use(_ sockets: [Socket]) throws(TransportFailure) {
            let isCancelled = state.withLock { state in
                state.sockets = sockets
                return state.isCancelled
            }
            if isCancelled { throw .cancelled }
        }

        func cancel() {
            let sockets = state.withLock { state in
                state.isCancelled = true
                return state.sockets
            }
            for socket in sockets { socket.shutDown() }
        }
    }
#endif
