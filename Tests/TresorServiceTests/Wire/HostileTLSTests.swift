// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import NIOEmbedded
    import TestSupport
    import Testing
    import TresorCore
    import TresorTLS

    @testable import TresorServer

    /// Clients that misuse TLS, before its handler alone and before the service.
    @Suite struct HostileTLSTests {
        @Test func A126_bytesBehindTheFarewellFillNoMemory() async throws {
            try await TLSPair.run { pair in
                let junk = [UInt8](repeating: 0, count: 64 << 10)
                try pair.send(pair.client.record(of: [1, 2, 3]) + pair.client.farewell() + junk)
                for _ in 0..<16 { try pair.send(junk) }
                #expect(pair.handler.engine.unreadCount <= 16 << 10)
                #expect(try pair.decrypted() == [1, 2, 3])
                pair.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
                #expect(pair.note.inputEndCount == 1)
                try pair.channel.writeOutbound(ByteBuffer(bytes: [4, 5]))
                pair.client.take(try pair.sent())
                #expect(pair.client.read().bytes == [4, 5])
                #expect(!pair.note.isGone)
            }
        }

        @Test func A126_aFloodOfNewKeysEndsTheConnection() async throws {
            try await TLSPair.run { pair in
                for number: UInt8 in 1...32 {
                    try pair.send(pair.client.newKeys() + pair.client.record(of: [number]))
                    #expect(try pair.decrypted() == [number])
                }
                #expect(!pair.note.isGone)
                for _ in 0..<8 { try pair.send(pair.client.newKeys()) }
                pair.channel.embeddedEventLoop.run()
                #expect(pair.note.isGone)
                #expect(try pair.sent().count < 40 * pair.client.newKeys().count)
                try pair.send(pair.client.newKeys())
                #expect(try pair.sent().isEmpty)
            }
        }

        @Test func A126_aFloodOfNewKeysInOnePieceEndsTheConnection() async throws {
            try await TLSPair.run { pair in
                let flood = (0..<2000).flatMap { _ in pair.client.newKeys() }
                try pair.send(flood)
                pair.channel.embeddedEventLoop.run()
                #expect(pair.note.isGone)
                // The handler looks at 16 KiB at once: so many are answered, and no more.
                let count = try pair.sent().count
                #expect(count > 0 && count <= 606 * (flood.count / 2000))
            }
        }

        @Test func A126_newKeysThatAskForNoAnswerFillNoMemory() async throws {
            try await TLSPair.run { pair in
                for _ in 0..<20 {
                    try pair.send((0..<1000).flatMap { _ in pair.client.newKeys(asking: false) })
                    #expect(pair.handler.engine.unreadCount < 16 << 10)
                }
                pair.channel.embeddedEventLoop.run()
                #expect(try pair.sent().isEmpty && pair.decrypted().isEmpty && !pair.note.isGone)
                #expect(pair.room() <= 64 << 10)
                try pair.send(pair.client.record(of: [1, 2, 3]))
                #expect(try pair.decrypted() == [1, 2, 3])
                // They are not counted with those that ask.
                try pair.send((0..<32).flatMap { _ in pair.client.newKeys() } + pair.client.record(of: [4]))
                #expect(try pair.decrypted() == [4])
                #expect(!pair.note.isGone)
            }
        }

        @Test func largeBodiesLeaveNoLargeMemoryBehind() async throws {
            try await TLSPair.run { pair in
                let records = (0..<64).flatMap { _ in pair.client.record(of: [UInt8](repeating: 7, count: 16 << 10)) }
                try pair.send(records)
                #expect(try pair.decrypted().count == 1 << 20)
                try pair.channel.writeOutbound(ByteBuffer(repeating: 8, count: 1 << 20))
                pair.client.take(try pair.sent())
                #expect(pair.client.read().bytes.count == 1 << 20)
                #expect(pair.room() <= 64 << 10)
            }
        }

        /// A client that has shaken hands with the service.
        private func connect(_ wire: Wire) async throws -> (socket: RawClient, client: TLSClient) {
            let socket = try RawClient(port: wire.port)
            let client = try TLSClient()
            while true {
                let progress = client.engine.shakeHands()
                await socket.send(client.engine.takeOutgoing())
                if case .done = progress { return (socket, client) }
                let bytes = await socket.receive()
                try #require(!bytes.isEmpty)
                client.take(bytes)
            }
        }

        @Test func anAnswerComesWholeBehindTheClientsFarewell() async throws {
            let files = try await CertificateFiles.make("localhost")
            defer { files.remove() }
            let handler = NotingHandler(growth: 1000, holding: .card)
            try await Wire.run(certificates: files.certificates, handler: handler) { wire in
                let (socket, client) = try await connect(wire)
                let request = client.record(of: Wire.request("card", body: [1, 2, 3]))
                await socket.send(request + client.farewell())
                try await wait { handler.heldCount == 1 }
                handler.release()
                let (sent, isClosed) = await socket.readToEnd()
                #expect(isClosed)
                client.take(sent)
                let (bytes, progress) = client.read()
                #expect(Answer(bytes)?.status == 200)
                #expect(Answer(bytes)?.body.count == 3000)
                #expect(progress == .ended)
            }
        }

        @Test func anEndInsideARecordIsNoRequest() async throws {
            let files = try await CertificateFiles.make("localhost")
            defer { files.remove() }
            try await Wire.run(certificates: files.certificates) { wire in
                let (socket, client) = try await connect(wire)
                await socket.send(client.record(of: Wire.request("card")).dropLast(1))
                socket.finish()
                #expect(await socket.readToEnd().isClosed)
                #expect(wire.handler.calls.isEmpty)
            }
        }

        @Test func aClientWithoutHTTP1IsRefused() async throws {
            let files = try await CertificateFiles.make("localhost")
            defer { files.remove() }
            let request = String(decoding: Wire.request("card", headers: ["Connection: close"]), as: UTF8.self)
            try await Wire.run(certificates: files.certificates) { wire in
                #expect(!(await OpenSSL.connect(wire.port, ["-alpn", "h2"], request)).contains("HTTP/1.1"))
                #expect(wire.handler.calls.isEmpty)
                let both = await OpenSSL.connect(wire.port, ["-alpn", "h2,http/1.1"], request)
                #expect(both.contains("HTTP/1.1 200 OK"))
                #expect(both.contains("ALPN protocol: http/1.1"))
            }
        }
    }
#endif
