// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import Synchronization
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

    /// A service on a port of loopback, or on a socket, with a handler that notes what reaches it.
    struct Wire {
        let handler: NotingHandler
        let log: LogLines
        let report: Report
        let server: RunningServer

        var port: Int { server.port }

        /// The limits of a service that gives its clients minutes: what ends before was ended for another reason.
        static var patientLimits: ServerLimits {
            var limits = ServerLimits()
            limits.head = .minutes(10)
            limits.body = BodyPace(0, in: .minutes(10))
            return limits
        }

        /// Runs a service while `body` does.
        static func run(
            at address: WireServer.Address = .network(host: "127.0.0.1", port: 0),
            names: [String] = ["tresor.example"], limits: ServerLimits = Wire.patientLimits,
            certificates: Certificates? = nil, handler: NotingHandler = NotingHandler(),
            _ body: (Wire) async throws -> Void
        ) async throws {
            let log = LogLines()
            let report = Report(logsSources: false) { log.add($0) }
            let server = try await WireServer(
                handler: handler, address: address, names: names.compactMap { HostName($0) },
                certificates: certificates, limits: limits, report: report
            ).start()
            do {
                try await body(Wire(handler: handler, log: log, report: report, server: server))
            } catch {
                await server.stop()
                throw error
            }
            await server.stop()
        }

        /// Sends bytes on a connection of their own, and reads what comes until it is closed.
        func send(_ bytes: [UInt8]) async throws -> (answer: Answer?, bytes: [UInt8], isClosed: Bool) {
            let client = try RawClient(port: port)
            await client.send(bytes)
            let (bytes, isClosed) = await client.readToEnd()
            return (Answer(bytes), bytes, isClosed)
        }

        /// Whether another client is served: an operation reaches the handler.
        func serves() async throws -> Bool {
            let client = try RawClient(port: port)
            await client.send(Self.request("server"))
            return await client.readAnswer()?.status == 200
        }

        /// A request as an honest client sends it.
        static func request(_ operation: String, body: [UInt8] = [], headers: [String] = []) -> [UInt8] {
            let lines =
                [
                    "POST /v1/\(operation) HTTP/1.1", "Host: tresor.example", "Content-Length: \(body.count)",
                    "Content-Type: application/vnd.tresor",
                ] + headers
            return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
        }
    }

    /// Notes the calls that reach it, and answers each with its own body, once or several times.
    final class NotingHandler: ServiceHandler {
        private let noted = Mutex<[ServiceCall]>([])
        private let health = Mutex(true)
        private let cancelled = Mutex(0)
        /// The number of times that an answer repeats its body.
        private let growth: Int
        /// The operation whose calls wait until they are released; `nil` for none.
        private let holding: ServiceOperation?
        private let held = Mutex<[CheckedContinuation<Void, Never>]>([])
        /// The authorization by which a head proves who asks; `nil` if each head does.
        private let known: String?
        /// Whether it knows that authorization at once, and not later.
        private let knowsAtOnce: Bool
        /// The operation that proves nothing to it; `nil` for none.
        private let refusing: ServiceOperation?
        private let refusal: Refusal
        private let failed = Mutex<[[UInt8]]>([])

        init(
            growth: Int = 1, holding: ServiceOperation? = nil, knowing known: String? = nil,
            atOnce knowsAtOnce: Bool = false, refusing: ServiceOperation? = nil,
            by refusal: Refusal = Refusal(.unauthorized, .noAccess)
        ) {
            self.growth = growth
            self.holding = holding
            self.known = known
            self.knowsAtOnce = knowsAtOnce
            self.refusing = refusing
            self.refusal = refusal
        }

        /// The number of calls that wait.
        var heldCount: Int { held.withLock { $0.count } }

        /// Lets the calls go on that wait.
        func release() {
            let waiting = held.withLock { held in
                defer { held = [] }
                return held
            }
            for call in waiting { call.resume() }
        }

        func proves(_ head: ServiceHead) async throws(Refusal) -> UserID? {
            if known == nil || head.authorization == known && !knowsAtOnce { return UserID(.zero) }
            if head.isLarge { throw Refusal(.unauthorized, .noAccess) }
            return nil
        }

        func knows(_ head: ServiceHead) -> UserID? {
            knowsAtOnce && head.authorization == known && !head.isLarge ? UserID(.zero) : nil
        }

        func noteFailure(of source: [UInt8]) { failed.withLock { $0.append(source) } }

        /// The sources of failures that were noted.
        var failures: [[UInt8]] { failed.withLock { $0 } }
        var calls: [ServiceCall] { noted.withLock { $0 } }
        /// The waits for news that ended since their client left, or the service stopped.
        var endedWaits: Int { cancelled.withLock { $0 } }
        func setHealthy(_ value: Bool) { health.withLock { $0 = value } }

        func answer(_ call: ServiceCall) async -> ServiceReply {
            noted.withLock { $0.append(call) }
            if call.operation == .news {
                do {
                    try await Task.sleep(for: .seconds(55))
                } catch {
                    cancelled.withLock { $0 += 1 }
                }
            }
            if call.operation == holding {
                await withCheckedContinuation { call in held.withLock { $0.append(call) } }
            }
            if call.operation == refusing { return ServiceReply(refusal) }
            if call.operation == .account { return ServiceReply(.forbidden) }
            return ServiceReply(body: repeatElement(call.body, count: growth).reduce([], +))
        }

        func isHealthy() async -> Bool {
            guard health.withLock({ $0 }) else {
                try? await Task.sleep(for: .seconds(20))
                return false
            }
            return true
        }
    }

    extension HeadRule {
        /// The rule of a service with one name.
        static func service(named name: String) -> HeadRule { .service(names: [HostName(name)].compactMap { $0 }) }
    }

    /// The lines of a log.
    final class LogLines: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        func add(_ line: LogLine) { add(line.text) }
    }
#endif
