// SPDX-License-Identifier: Apache-2.0

#if Server && !canImport(Darwin)
    import Foundation
    import Glibc
    import Synchronization
    import TestSupport
    import Testing
    import TresorTLS

    @testable import TresorRemote
    @testable import TresorServer

    /// A client whose service sends new keys of TLS that nobody asked for.
    @Suite(.serialized) struct FloodedClientTests {
        private static let request = TransportRequest(
            target: "/v1/server", authorization: nil, body: [], timeout: .seconds(20), maximumAnswerByteCount: 1 << 16)

        /// Asks such a service.
        private func run(
            _ flood: NewKeysFlood, _ body: (SocketTransport, TestServer) async throws -> Void
        ) async throws {
            let files = try await CertificateFiles.make("localhost")
            defer { files.remove() }
            let certificates = try files.certificates
            let server = try TestServer(over: { FloodingChannel($0, certificates, flood) }) {
                .answering(answer([UInt8($0.connection)]))
            }
            defer { server.stop() }
            let transport = try SocketTransport(
                to: ServiceAddress("https://localhost:\(server.port)"),
                authorities: Authorities(named: files.certificate.path), proxy: nil)
            try await body(transport, server)
        }

        /// A kept connection answers as often as one may ask, and holds nothing that piles up.
        @Test(arguments: [
            NewKeysFlood(32, asking: true, endsConnection: false), NewKeysFlood(40, asking: true, endsConnection: true),
            NewKeysFlood(3000, asking: true, endsConnection: true),
            NewKeysFlood(300, asking: false, endsConnection: false),
            NewKeysFlood(3000, asking: false, endsConnection: true),
        ])
        func A126_aKeptConnectionThatIsFloodedIsLeft(_ flood: NewKeysFlood) async throws {
            try await run(flood) { transport, server in
                #expect(try await transport.exchange(Self.request).body == [0])
                try await wait { flood.sentCount == 1 }
                let second = try await transport.exchange(Self.request).body
                #expect(second == [flood.endsConnection ? 1 : 0])
                #expect(server.connectionCount == (flood.endsConnection ? 2 : 1))
                #expect(server.seen.count == 2)
            }
        }

        @Test func A126_aFloodBeforeAnAnswerBreaksTheConnection() async throws {
            let flood = NewKeysFlood(700, asking: true, endsConnection: true, isBeforeAnswer: true)
            try await run(flood) { transport, server in
                do throws(TransportFailure) {
                    _ = try await transport.exchange(Self.request)
                    Issue.record("it was answered")
                } catch {
                    #expect(error == .broken)
                }
                #expect(server.seen.count == 1)
            }
        }
    }

    /// New keys that a service sends with each answer.
    final class NewKeysFlood: Sendable, CustomTestStringConvertible {
        let count: Int
        let isAsking: Bool
        /// Whether the client should leave the connection.
        let endsConnection: Bool
        let isBeforeAnswer: Bool
        private let sent = Mutex(0)

        /// How many floods were sent.
        var sentCount: Int { sent.withLock { $0 } }
        var testDescription: String { "\(count) \(isAsking ? "asking" : "not asking")" }

        init(_ count: Int, asking isAsking: Bool, endsConnection: Bool, isBeforeAnswer: Bool = false) {
            (self.count, self.isAsking, self.endsConnection) = (count, isAsking, endsConnection)
            self.isBeforeAnswer = isBeforeAnswer
        }

        func note() { sent.withLock { $0 += 1 } }
    }

    /// The service's side of a connection over TLS, with a flood at each answer.
    private struct FloodingChannel: TestServer.Channel {
        private let plain: PlainChannel
        private let side: TLSClient
        private let flood: NewKeysFlood

        init?(_ descriptor: Int32, _ certificates: Certificates, _ flood: NewKeysFlood) {
            guard let handler = try? certificates.makeHandler() else { return nil }
            (plain, side, self.flood) = (PlainChannel(descriptor: descriptor), TLSClient(handler.engine), flood)
            var progress = TLSEngine.Progress.needsBytes
            while progress == .needsBytes {
                guard let bytes = plain.receive() else { return nil }
                side.take(bytes)
                progress = side.engine.shakeHands()
                plain.send(side.engine.takeOutgoing())
            }
            guard side.engine.isShaken else { return nil }
        }

        func receive() -> [UInt8]? {
            while true {
                let (bytes, progress) = side.read()
                if !bytes.isEmpty { return bytes }
                guard progress == .needsBytes, let more = plain.receive() else { return nil }
                side.take(more)
            }
        }

        func send(_ bytes: [UInt8]) {
            if flood.isBeforeAnswer { sendFlood() }
            plain.send(side.record(of: bytes))
            if !flood.isBeforeAnswer { sendFlood() }
        }

        /// Waits until the system of the other side has all bytes, so that a look finds them.
        private func waitUntilTaken() {
            var info = tcp_info()
            repeat {
                sched_yield()
                var size = socklen_t(MemoryLayout<tcp_info>.size)
                guard getsockopt(plain.descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return }
            } while info.tcpi_unacked > 0
        }

        private func sendFlood() {
            plain.send((0..<flood.count).flatMap { _ in side.newKeys(asking: flood.isAsking) })
            waitUntilTaken()
            flood.note()
        }
    }
#endif
