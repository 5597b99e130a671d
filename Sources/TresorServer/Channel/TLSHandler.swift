// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import TresorTLS

    /// TLS between the socket and the parser of HTTP: it decrypts what comes, and encrypts what goes.
    final class TLSHandler: ChannelDuplexHandler {
        typealias InboundIn = ByteBuffer
        typealias InboundOut = ByteBuffer
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let engine: TLSEngine
        /// What is encrypted at the next flush after the handshake.
        private var waiting: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
        private var hasFlushed = false
        /// Whether the client was told that nothing more comes.
        private var hasEnded = false

        init(_ engine: TLSEngine) {
            self.engine = engine
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            guard bytes.withUnsafeReadableBytes({ engine.take($0) }) else { return fail(context) }
            if !engine.isShaken {
                let progress = engine.shakeHands()
                send(context)
                switch progress {
                case .done: encryptWaiting(context)
                case .needsBytes: return
                case .ended, .failed: return fail(context)
                }
            }
            decrypt(context, atLeast: bytes.readableBytes)
        }

        /// Hands on all that can be decrypted.
        private func decrypt(_ context: ChannelHandlerContext, atLeast count: Int) {
            var clear = context.channel.allocator.buffer(capacity: count)
            var progress = TLSEngine.Progress.done(0)
            while case .done = progress {
                clear.writeWithUnsafeMutableBytes(minimumWritableBytes: 16 << 10) { memory in
                    progress = engine.read(into: memory)
                    if case .done(let count) = progress { return count }
                    return 0
                }
            }
            send(context)
            if clear.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(clear)) }
            switch progress {
            case .ended: context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
            case .failed: fail(context)
            case .done, .needsBytes: break
            }
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard !hasEnded else {
                promise?.fail(ChannelError.outputClosed)
                return
            }
            waiting.append((unwrapOutboundIn(data), promise))
            hasFlushed = false
        }

        func flush(context: ChannelHandlerContext) {
            hasFlushed = true
            encryptWaiting(context)
        }

        private func encryptWaiting(_ context: ChannelHandlerContext) {
            guard engine.isShaken, hasFlushed else { return }
            for (bytes, promise) in waiting {
                var rest = bytes
                while rest.readableBytes > 0 {
                    guard case .done(let count) = rest.withUnsafeReadableBytes({ engine.write($0) }) else {
                        promise?.fail(ChannelError.outputClosed)
                        return fail(context)
                    }
                    rest.moveReaderIndex(forwardBy: count)
                }
                context.write(wrapOutboundOut(outgoing(context)), promise: promise)
            }
            waiting = []
            context.flush()
        }

        private func outgoing(_ context: ChannelHandlerContext) -> ByteBuffer {
            context.channel.allocator.buffer(bytes: engine.takeOutgoing())
        }

        /// Sends what OpenSSL has to say.
        private func send(_ context: ChannelHandlerContext) {
            let bytes = outgoing(context)
            if bytes.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
        }

        /// Ends a connection whose peer does not speak TLS 1.3, or no longer.
        private func fail(_ context: ChannelHandlerContext) {
            send(context)
            hasEnded = true
            context.close(promise: nil)
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            if mode != .input, !hasEnded {
                flush(context: context)
                engine.end()
                send(context)
                hasEnded = true
            }
            context.close(mode: mode, promise: promise)
        }

        func channelInactive(context: ChannelHandlerContext) {
            drop()
            context.fireChannelInactive()
        }

        func handlerRemoved(context: ChannelHandlerContext) { drop() }

        private func drop() {
            for (_, promise) in waiting { promise?.fail(ChannelError.ioOnClosedChannel) }
            waiting = []
        }
    }
#endif
