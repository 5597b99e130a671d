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

        let engine: TLSEngine
        /// The bytes that are encrypted at the next flush after the handshake.
        private var waiting: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
        private var hasFlushed = false
        private var hasShaken = false
        /// Whether the client said that nothing more comes, or cannot be read any more. OpenSSL takes nothing then.
        private var isInputEnded = false
        /// Whether the client was told that nothing more comes.
        private var hasEnded = false

        init(_ engine: TLSEngine) {
            self.engine = engine
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            // OpenSSL keeps the largest room that it ever needed, so it gets as much as a record has at once.
            while !isInputEnded, bytes.readableBytes > 0,
                let part = bytes.readSlice(length: min(bytes.readableBytes, 16 << 10))
            {
                take(part, context)
            }
        }

        private func take(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
            guard bytes.withUnsafeReadableBytes({ engine.take($0) }) else { return fail(context) }
            if !hasShaken {
                let progress = engine.shakeHands()
                send(context)
                switch progress {
                case .done: hasShaken = true
                case .needsBytes: return
                case .ended, .failed: return fail(context)
                }
            }
            decrypt(context, atLeast: bytes.readableBytes)
            encryptWaiting(context)
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
            case .ended: endInput(context)
            case .failed: fail(context)
            case .done, .needsBytes: break
            }
        }

        /// Says once that the client sends nothing more.
        private func endInput(_ context: ChannelHandlerContext) {
            guard !isInputEnded else { return }
            isInputEnded = true
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if let event = event as? ChannelEvent, event == .inputClosed { return endInput(context) }
            context.fireUserInboundEventTriggered(event)
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
            guard engine.isShaken, hasFlushed, !hasEnded, !waiting.isEmpty else { return }
            let now = waiting
            waiting = []
            for (index, (bytes, promise)) in now.enumerated() {
                guard let records = encrypt(bytes, context) else {
                    for (_, promise) in now[index...] { promise?.fail(ChannelError.outputClosed) }
                    return fail(context)
                }
                context.write(wrapOutboundOut(records), promise: promise)
            }
            context.flush()
        }

        /// The records of bytes; `nil` if OpenSSL encrypts no more.
        private func encrypt(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) -> ByteBuffer? {
            var rest = bytes
            var records = context.channel.allocator.buffer(capacity: bytes.readableBytes)
            while rest.readableBytes > 0 {
                guard case .done(let count) = rest.withUnsafeReadableBytes({ engine.write($0) }) else { return nil }
                rest.moveReaderIndex(forwardBy: count)
                moveOutgoing(to: &records)
            }
            return records
        }

        private func moveOutgoing(to bytes: inout ByteBuffer) {
            let count = engine.outgoingCount
            guard count > 0 else { return }
            bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { engine.takeOutgoing(into: $0) }
        }

        /// Sends what OpenSSL has to say.
        private func send(_ context: ChannelHandlerContext) {
            var bytes = context.channel.allocator.buffer(capacity: 0)
            moveOutgoing(to: &bytes)
            if bytes.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }
        }

        /// Ends a connection whose peer does not speak TLS 1.3, or no longer.
        private func fail(_ context: ChannelHandlerContext) {
            isInputEnded = true
            send(context)
            hasEnded = true
            closeBehindWrites(context, .all, nil)
        }

        /// Closes after what runs now: a write within the completion of another one goes out behind it alone.
        private func closeBehindWrites(
            _ context: ChannelHandlerContext, _ mode: CloseMode, _ promise: EventLoopPromise<Void>?
        ) {
            context.eventLoop.assumeIsolated().execute { context.close(mode: mode, promise: promise) }
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            if mode != .input, !hasEnded {
                flush(context: context)
                engine.end()
                send(context)
                hasEnded = true
            }
            if mode == .all { isInputEnded = true }
            closeBehindWrites(context, mode, promise)
        }

        func channelInactive(context: ChannelHandlerContext) {
            drop()
            context.fireChannelInactive()
        }

        func handlerRemoved(context: ChannelHandlerContext) { drop() }

        private func drop() {
            isInputEnded = true
            for (_, promise) in waiting { promise?.fail(ChannelError.ioOnClosedChannel) }
            waiting = []
        }
    }
#endif
