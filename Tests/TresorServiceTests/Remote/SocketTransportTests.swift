// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Foundation
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorStore

    @testable import TresorRemote

    /// The transport over sockets, before servers that do what they should not.
    @Suite(.serialized, .longRun) struct SocketTransportTests {
        private static func request(
            _ body: [UInt8] = [], timeout: Duration = .seconds(20), authorization: String? = nil
        ) -> TransportRequest {
            TransportRequest(
                target: "/v1/server", authorization: authorization, body: body, timeout: timeout,
                maximumAnswerByteCount: 1 << 16)
        }

        private static func transport(
            to address: String, authority: String? = nil, proxy: UInt16? = nil
        ) throws -> SocketTransport {
            try SocketTransport(
                to: ServiceAddress(address), authorities: Authorities(named: authority),
                proxy: proxy.map { HostAndPort(host: "127.0.0.1", port: $0) })
        }

        /// The failure of an exchange, without what stood in the way.
        private static func failure(
            of transport: SocketTransport, _ request: TransportRequest = Self.request()
        ) async -> TransportFailure? {
            await whole(of: transport, request).map { TransportFailure($0.error, isBroken: $0.isBroken) }
        }

        /// The failure of an exchange.
        private static func whole(
            of transport: SocketTransport, _ request: TransportRequest = Self.request()
        ) async -> TransportFailure? {
            do throws(TransportFailure) {
                _ = try await transport.exchange(request)
                return nil
            } catch {
                return error
            }
        }

        @Test func aRequestIsExact() async throws {
            let server = try TestServer { _ in .answering(answer([1, 2, 3], headers: ["Retry-After: 5"])) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            let reply = try await transport.exchange(Self.request([7, 8], authorization: "Tresor a.b"))
            #expect(reply.body == [1, 2, 3])
            #expect(reply.status == 200)
            #expect(reply.isOfService)
            #expect(reply.retryAfter == 5)
            let head = """
                POST /v1/server HTTP/1.1\r
                Host: 127.0.0.1:\(server.port)\r
                Authorization: Tresor a.b\r
                Content-Type: application/vnd.tresor\r
                Content-Length: 2\r
                \r

                """
            #expect(server.seen.map(\.bytes) == [Array(head.utf8) + [7, 8]])
        }

        /// A small request is written at once, and a large one piece by piece, without a byte too many or too few.
        @Test func aBodyBeginsInTheWriteOfItsHead() async throws {
            let server = try TestServer { .answering(answer([UInt8($0.bytes.last ?? 0)])) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            for byteCount in [0, 1, 16 << 10, 16 << 10 + 1, 40 << 10] {
                let request = Self.request((0..<byteCount).map { UInt8(truncatingIfNeeded: $0 % 251) })
                let whole = Connection.beginning(of: request, host: "127.0.0.1:\(server.port)")
                let rest = request.body.dropFirst(16 << 10)
                #expect(whole.suffix(min(byteCount, 16 << 10)) == request.body.prefix(16 << 10))
                _ = try await transport.exchange(request)
                #expect(server.seen.last?.bytes == whole + rest, "\(byteCount)")
            }
        }

        @Test func oneConnectionServesManyRequests() async throws {
            let server = try TestServer { request in .answering(answer([UInt8(request.bytes.last ?? 0)])) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://localhost:\(server.port)")
            for number in UInt8(0)..<20 {
                #expect(try await transport.exchange(Self.request([number])).body == [number])
            }
            #expect(server.connectionCount == 1)
        }

        @Test func aConnectionThatTheServerClosedIsNotUsedAgain() async throws {
            let server = try TestServer { _ in .answering(answer([1])) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            _ = try await transport.exchange(Self.request())
            server.dropConnections()
            try await Task.sleep(for: .milliseconds(50))
            #expect(try await transport.exchange(Self.request()).body == [1])
            #expect(server.connectionCount == 2)
        }

        /// Bytes that nobody asked for are never the answer to the next request.
        @Test(arguments: [answer([1]) + answer([2]), answer([1]) + [0], answer([1], headers: ["Connection: close"])])
        func aConnectionWithMoreThanAnAnswerIsDropped(_ bytes: [UInt8]) async throws {
            let server = try TestServer { $0.connection == 0 ? .answering(bytes) : .answering(answer([9])) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            #expect(try await transport.exchange(Self.request()).body == [1])
            try await Task.sleep(for: .milliseconds(50))
            #expect(try await transport.exchange(Self.request()).body == [9])
        }

        @Test func anAnswerThatIsCutAnywhereIsABrokenConnection() async throws {
            let whole = answer([1, 2, 3])
            let server = try TestServer { .closing(Array(whole[..<$0.connection])) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            for count in 0..<whole.count {
                #expect(await Self.failure(of: transport) == .broken, "\(count)")
            }
            #expect(server.connectionCount == whole.count)
        }

        @Test(arguments: [
            Array("<html>hello</html>\r\n\r\n".utf8), Array("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n".utf8),
            Array("HTTP/1.1 200 OK\r\n\r\n".utf8), Array("HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n".utf8),
            Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".utf8),
            Array("HTTP/1.1 101 Switching\r\n\r\n".utf8) + answer([1]), [UInt8](repeating: 0x41, count: 20_000),
        ])
        func anythingElseIsForeign(_ bytes: [UInt8]) async throws {
            let server = try TestServer { _ in .answering(bytes) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            #expect(await Self.failure(of: transport) == .foreign)
        }

        @Test func interimAnswersAreSkipped() async throws {
            let early = Array("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n".utf8)
            let server = try TestServer { _ in .answering(early + early + answer([1])) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            for _ in 0..<2 { #expect(try await transport.exchange(Self.request()).body == [1]) }
            #expect(server.connectionCount == 1)
        }

        /// A service that is away behind its proxy is a connection that broke.
        @Test(arguments: [502, 503, 504]) func aStoppedServiceIsUnreachable(_ status: Int) async throws {
            let page = "HTTP/1.1 \(status) Word\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"
            let server = try TestServer { _ in .answering(Array(page.utf8)) }
            defer { server.stop() }
            let failure = await Self.whole(of: try Self.transport(to: "http://127.0.0.1:\(server.port)"))
            #expect(failure == TransportFailure(.away(status: status)))
            #expect(failure?.error == .store(.unreachable))
            #expect(failure?.isBroken == true)
        }

        /// A server may refuse a request before it has read it.
        @Test func anEarlyRefusalIsRead() async throws {
            let server = try TestServer { _ in .closing(answer([1], status: 413)) }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            #expect(try await transport.exchange(Self.request([0])).status == 413)
        }

        @Test func aSilentServerIsLeft() async throws {
            let server = try TestServer { _ in .hanging }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            let start = ContinuousClock.now
            let failed = await Self.failure(of: transport, Self.request(timeout: .milliseconds(300)))
            #expect(failed == .unreachable)
            #expect(start.duration(to: .now) < .seconds(10))
        }

        @Test func aCancelledTaskEndsItsConnection() async throws {
            let server = try TestServer { _ in .hanging }
            defer { server.stop() }
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            let task = Task { await Self.failure(of: transport, Self.request(timeout: .seconds(600))) }
            while server.seen.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(await task.value != .broken)
        }

        @Test func nobodyThereIsUnreachable() async throws {
            let server = try TestServer { _ in .hanging }
            server.stop()
            let transport = try Self.transport(to: "http://127.0.0.1:\(server.port)")
            #expect(await Self.failure(of: transport) == .unreachable)
            let name = Obstacle.Place(host: "127.0.0.1", isProxy: false)
            #expect(await Self.whole(of: transport)?.obstacle == .noConnection(name, addressCount: 1))
            let proxied = try Self.transport(to: "https://tresor.example", proxy: server.port)
            let proxy = Obstacle.Place(host: "127.0.0.1", isProxy: true)
            #expect(await Self.whole(of: proxied)?.obstacle == .noConnection(proxy, addressCount: 1))
        }

        @Test(.enabled(if: TLSFront.isPossible), arguments: ["localhost", "127.0.0.1"])
        func tlsCarriesRequests(_ host: String) async throws {
            let server = try TestServer { .answering(answer(Array($0.bytes.suffix(40_000)))) }
            defer { server.stop() }
            let front = try TLSFront(to: server.port)
            let transport = try Self.transport(to: "https://\(host):\(front.port)", authority: front.authority)
            for number in UInt8(0)..<4 {
                let body = [UInt8](repeating: number, count: 40_000)
                #expect(try await transport.exchange(Self.request(body)).body == body)
            }
            #expect(server.connectionCount == 1)
            server.dropConnections()
            try await Task.sleep(for: .milliseconds(100))
            let body = [UInt8](repeating: 9, count: 40_000)
            #expect(try await transport.exchange(Self.request(body)).body == body)
        }

        @Test(.enabled(if: TLSFront.isPossible), arguments: [TLSFront.Certificate.expired, .other])
        func aWrongCertificateIsRefused(_ certificate: TLSFront.Certificate) async throws {
            let server = try TestServer { _ in .answering(answer([1])) }
            defer { server.stop() }
            let front = try TLSFront(to: server.port, showing: certificate)
            for host in ["localhost", "127.0.0.1"] {
                let transport = try Self.transport(to: "https://\(host):\(front.port)", authority: front.authority)
                #expect(await Self.failure(of: transport) == .certificate)
                let fault = await Self.fault(of: transport)
                switch (certificate, fault) {
                case (.other, .name(["other.example", "192.0.2.1"], host)): break
                case (_, .expired(let end, let now)): #expect(certificate == .expired && end < now)
                default: Issue.record("\(String(describing: fault))")
                }
            }
            #expect(server.seen.isEmpty)
        }

        private static func fault(of transport: SocketTransport) async -> CertificateFault? {
            guard case .certificate(let fault)? = await whole(of: transport)?.obstacle else { return nil }
            return fault
        }

        @Test(.enabled(if: TLSFront.isPossible))
        func anAuthorityThatNobodyTrustsIsRefused() async throws {
            let server = try TestServer { _ in .answering(answer([1])) }
            defer { server.stop() }
            let (front, other) = (try TLSFront(to: server.port), try TLSFront(to: server.port))
            for authority in [nil, other.authority] {
                let transport = try Self.transport(to: "https://localhost:\(front.port)", authority: authority)
                #expect(await Self.failure(of: transport) == .certificate)
                guard case .authority("/CN=t", let trusted)? = await Self.fault(of: transport) else {
                    Issue.record("another fault")
                    continue
                }
                if let authority { #expect(trusted == [authority]) }
            }
            #expect(server.seen.isEmpty)
        }

        @Test(.enabled(if: TLSFront.isPossible))
        func anOlderTLSIsRefused() async throws {
            let server = try TestServer { _ in .answering(answer([1])) }
            defer { server.stop() }
            let front = try TLSFront(to: server.port, onlyTLS12: true)
            let transport = try Self.transport(to: "https://localhost:\(front.port)", authority: front.authority)
            #expect(await Self.failure(of: transport) == .unreachable)
            #expect(await Self.whole(of: transport)?.obstacle == .noTLS)
            #expect(server.seen.isEmpty)
        }

        @Test func aServerWithoutTLSIsUnreachable() async throws {
            let server = try TestServer { _ in .closing(answer([1])) }
            defer { server.stop() }
            let transport = try Self.transport(to: "https://localhost:\(server.port)")
            server.dropConnections()
            #expect(await Self.failure(of: transport, Self.request(timeout: .seconds(1))) == .unreachable)
        }

        @Test(arguments: [nil, "/nonexistent/authority", "/dev/null"] as [String?])
        func aFileWithoutCertificatesIsAFailure(_ path: String?) throws {
            if let path {
                #expect(throws: TresorError.failed(.inputOutput)) {
                    try Self.transport(to: "https://localhost", authority: path)
                }
            } else {
                _ = try Self.transport(to: "https://localhost")
            }
        }

        @Test(
            arguments: [
                (403, .refusedByProxy(status: 403)), (407, .refusedByProxy(status: 407)), (502, .away(status: 502)),
            ] as [(Int, Obstacle)])
        func aProxyThatRefusesIsNamed(_ status: Int, _ obstacle: Obstacle) async throws {
            let proxy = try TestServer { _ in .answering(answer([], status: status)) }
            defer { proxy.stop() }
            let transport = try Self.transport(to: "https://tresor.example:8443", proxy: proxy.port)
            #expect(await Self.whole(of: transport) == TransportFailure(obstacle))
            #expect(
                proxy.seen.map(\.text) == [
                    "CONNECT tresor.example:8443 HTTP/1.1\r\nHost: tresor.example:8443\r\n\r\n"
                ])
        }

        /// Many proxies answer a CONNECT in HTTP/1.0.
        @Test(.enabled(if: TLSFront.isPossible), arguments: ["HTTP/1.1 200 OK", "HTTP/1.0 200 Connection established"])
        func aProxyMakesAConnection(_ line: String) async throws {
            let server = try TestServer { .answering(answer(Array($0.bytes.suffix(40_000)))) }
            defer { server.stop() }
            let front = try TLSFront(to: server.port)
            let proxy = try ConnectProxy(answering: line)
            let transport = try Self.transport(
                to: "https://localhost:\(front.port)", authority: front.authority, proxy: proxy.port)
            for number in UInt8(0)..<3 {
                let body = [UInt8](repeating: number, count: 40_000)
                #expect(try await transport.exchange(Self.request(body)).body == body)
            }
            #expect(server.connectionCount == 1)
        }

        /// An address that swallows everything costs a quarter of a second, not all the time there is.
        @Test func theNextAddressIsTriedSoon() throws {
            let (hole, server) = (try BlackHole(), try TestServer { _ in .hanging })
            defer { server.stop() }
            let places = [hole.port, server.port].map { HostAndPort(host: "127.0.0.1", port: $0) }
            let addresses = places.flatMap { Resolver.addresses(of: $0, until: .now + .seconds(1)) }
            let alone = ContinuousClock.now
            let name = Obstacle.Place(host: "tresor.example", isProxy: false)
            #expect(throws: TransportFailure(.noConnection(name, addressCount: 1))) {
                try Socket.connect(
                    to: [addresses[0]], of: name, until: .now + .milliseconds(600), for: ExchangeControl())
            }
            #expect(alone.duration(to: .now) >= .milliseconds(600))
            let start = ContinuousClock.now
            _ = try Socket.connect(to: addresses, of: name, until: .now + .seconds(5), for: ExchangeControl())
            #expect(start.duration(to: .now) < .seconds(2))
            server.stop()
            #expect(throws: TransportFailure(.noConnection(name, addressCount: 3))) {
                try Socket.connect(
                    to: [addresses[1], addresses[0], addresses[1]], of: name, until: .now + .seconds(1),
                    for: ExchangeControl())
            }
        }

        /// The search for a name is left at the deadline.
        @Test func aNameServerThatIsSilentIsLeft() {
            let start = ContinuousClock.now
            let found = Resolver.found(until: .now + .milliseconds(200)) {
                sleep(4)
                return []
            }
            #expect(found.isEmpty)
            #expect(start.duration(to: .now) < .seconds(3))
        }

        /// However many tasks wait for news, other work goes on.
        @Test func waitsForNewsHoldUpNothing() async throws {
            let server = try TestServer { $0.text.contains("/v1/news") ? .hanging : .answering(answer([7])) }
            defer { server.stop() }
            let address = "http://127.0.0.1:\(server.port)"
            let count = 4 * Cores.count + 8
            let waits = (0..<count).map { _ in
                Task {
                    let transport = try Self.transport(to: address)
                    var request = TransportRequest(
                        target: "/v1/news", authorization: nil, body: [], timeout: .seconds(60),
                        maximumAnswerByteCount: 1 << 16)
                    request.isLongPoll = true
                    return await Self.failure(of: transport, request)
                }
            }
            while server.seen.count < count { try await Task.sleep(for: .milliseconds(10)) }
            let start = ContinuousClock.now
            #expect(try await Self.transport(to: address).exchange(Self.request()).body == [7])
            #expect(start.duration(to: .now) < .seconds(5))
            for wait in waits { wait.cancel() }
            for wait in waits { #expect(try await wait.value == .cancelled) }
        }

        @Test func aProxyInFrontOfThisMachineIsRefused() {
            #expect(throws: TresorError.usage(.address)) { try Self.transport(to: "http://127.0.0.1", proxy: 1) }
        }
    }
#endif
