// SPDX-License-Identifier: Apache-2.0

#if Server
    import Copenssl
    import NIOCore
    import NIOEmbedded
    import Testing
    import TresorTLS

    @testable import TresorServer

    /// The handler of TLS with a client that has shaken hands with it.
    struct TLSPair {
        let channel = EmbeddedChannel()
        let client: TLSClient
        let handler: TLSHandler
        let note = EventNote()

        init(_ certificates: Certificates) throws {
            client = try TLSClient()
            handler = try certificates.makeHandler()
            try channel.pipeline.syncOperations.addHandlers([handler, note])
            for _ in 0..<2 {
                _ = client.engine.shakeHands()
                try send(client.engine.takeOutgoing())
                client.take(try sent())
            }
            try #require(client.engine.isShaken && handler.engine.isShaken)
        }

        /// Gives the handler bytes.
        func send(_ bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

        /// The bytes that the handler sent.
        func sent() throws -> [UInt8] {
            var bytes: [UInt8] = []
            while let part = try channel.readOutbound(as: ByteBuffer.self) { bytes += part.readableBytesView }
            return bytes
        }

        /// The bytes that the handler decrypted.
        func decrypted() throws -> [UInt8] {
            var bytes: [UInt8] = []
            while let part = try channel.readInbound(as: ByteBuffer.self) { bytes += part.readableBytesView }
            return bytes
        }

        /// The memory that OpenSSL holds to carry bytes to and from the handler.
        func room() -> Int {
            [SSL_get_rbio(handler.engine.connection), SSL_get_wbio(handler.engine.connection)].map { pipe in
                var memory: UnsafeMutablePointer<BUF_MEM>?
                _ = withUnsafeMutablePointer(to: &memory) { BIO_ctrl(pipe, BIO_C_GET_BUF_MEM_PTR, 0, $0) }
                return memory.map { Int($0.pointee.max) } ?? 0
            }.reduce(0, +)
        }

        /// Runs a test with a pair.
        static func run<Value>(_ body: (TLSPair) throws -> Value) async throws -> Value {
            let files = try await CertificateFiles.make("localhost")
            defer { files.remove() }
            return try body(try TLSPair(files.certificates))
        }

        /// Notes how a connection ends.
        final class EventNote: ChannelInboundHandler {
            typealias InboundIn = ByteBuffer
            private(set) var inputEndCount = 0
            private(set) var isGone = false

            func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
                if let event = event as? ChannelEvent, event == .inputClosed { inputEndCount += 1 }
            }

            func channelInactive(context: ChannelHandlerContext) { isGone = true }
        }
    }
#endif
