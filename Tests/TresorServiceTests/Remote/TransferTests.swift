// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Foundation
    import Synchronization
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorRemote

    /// The transport over sockets on slow lines, and with authorities in each place.
    @Suite(.serialized, .longRun) struct TransferTests {
        private static func request(timeout: Duration = .seconds(20)) -> TransportRequest {
            TransportRequest(
                target: "/v1/server", authorization: nil, body: [], timeout: timeout, maximumAnswerByteCount: 1 << 16)
        }

        private static func transport(to relay: SlowRelay) throws -> SocketTransport {
            try SocketTransport(
                to: ServiceAddress("http://127.0.0.1:\(relay.port)"), authorities: Authorities(named: nil), proxy: nil)
        }

        private static func failure(
            of transport: SocketTransport, _ request: TransportRequest = Self.request()
        ) async -> TransportFailure? {
            do throws(TransportFailure) {
                _ = try await transport.exchange(request)
                return nil
            } catch {
                return error
            }
        }

        /// A body that takes longer than the wait comes whole, as long as it comes.
        @Test func aSlowLineCarriesALargeBody() async throws {
            let server = try TestServer { .answering(answer([UInt8](repeating: 5, count: $0.bytes.count / 2))) }
            defer { server.stop() }
            let relay = try SlowRelay(to: server.port, bytesPerSecond: 40 << 10)
            var request = TransportRequest(
                target: "/v1/server", authorization: nil, body: [UInt8](repeating: 3, count: 160 << 10),
                timeout: .seconds(1), maximumAnswerByteCount: 1 << 20)
            let seen = Mutex<[Transfer]>([])
            request.transfer = { transfer in seen.withLock { $0.append(transfer) } }
            let start = ContinuousClock.now
            let reply = try await Self.transport(to: relay).exchange(request)
            #expect(reply.body.count >= 80 << 10)
            #expect(start.duration(to: .now) > .seconds(3))
            let transfers = seen.withLock { $0 }
            #expect(transfers.last { $0.isSent }?.byteCount == 160 << 10)
            #expect(transfers.last == Transfer(isSent: false, byteCount: reply.body.count, total: reply.body.count))
        }

        /// A server that answers a byte at a time is left.
        @Test func aTrickleIsLeft() async throws {
            let server = try TestServer { _ in .answering(answer([UInt8](repeating: 5, count: 1 << 10))) }
            defer { server.stop() }
            let relay = try SlowRelay(to: server.port, bytesPerSecond: 100)
            let transport = try Self.transport(to: relay)
            let failure = await Self.failure(of: transport, Self.request(timeout: .seconds(3)))
            #expect(failure == TransportFailure(.slow))
        }

        /// SSL_CERT_FILE, SSL_CERT_DIR, and a bundle where the directory has nothing that fits.
        @Test(.enabled(if: TLSFront.isPossible)) func authoritiesAreFoundInEachPlace() async throws {
            let server = try TestServer { _ in .answering(answer([1])) }
            defer { server.stop() }
            let (front, other) = (try TLSFront(to: server.port), try TLSFront(to: server.port))
            func transport(_ authorities: Authorities) throws -> SocketTransport {
                try SocketTransport(
                    to: ServiceAddress("https://localhost:\(front.port)"), authorities: authorities, proxy: nil)
            }
            let directory = try front.hashedDirectory()
            let environments = [
                ["SSL_CERT_FILE": front.authority], ["SSL_CERT_DIR": directory],
                ["SSL_CERT_DIR": "/nonexistent:" + directory],
                ["SSL_CERT_FILE": other.authority, "SSL_CERT_DIR": directory],
            ]
            for environment in environments {
                let authorities = Authorities(named: nil, environment: { environment[$0] }, systemDirectory: "/none")
                #expect(try await transport(authorities).exchange(Self.request()).body == [1])
            }
            var system = Authorities(
                named: nil, environment: { _ in nil }, systemDirectory: try other.hashedDirectory())
            system.bundles = ["/nonexistent", front.authority]
            #expect(try await transport(system).exchange(Self.request()).body == [1])
            system.bundles = ["/nonexistent"]
            system.directory = "/nonexistent"
            #expect(
                await Self.failure(of: try transport(system))
                    == TransportFailure(.certificate(.authority(issuer: "/CN=t", trusted: []))))
        }
    }
#endif
