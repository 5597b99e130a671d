// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import NIOHTTP1
    import TresorCore
    import TresorCrypto

    /// One connection: has each head judged, reads its body at its pace, has it answered, and writes the answer.
    ///
    /// One request runs at a time. A request that begins before the last one is answered ends the connection with that
    /// answer, so that nobody can hide a request behind another one. Lives on the event loop of its channel.
    final class RequestHandler: ChannelDuplexHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundIn = HTTPServerResponsePart
        typealias OutboundOut = HTTPServerResponsePart

        private let responder: Responder
        /// The source of the connection; `nil` while it has not begun.
        private var source: [UInt8]?
        /// The place of the connection or, behind a proxy, of the request.
        private var place: HeldPlace
        private var state = ConnectionState.waiting {
            didSet {
                readOn()
                place.mark(isIdle: state.isIdle(exchange))
            }
        }
        /// The request that is read or answered; the last one after it is answered.
        private var exchange: HTTPExchange
        private var task: Task<Void, Never>?
        private var timer: Scheduled<Void>?
        private var pace: BodyPace
        private var closesAfterAnswer = false
        private var isInputClosed = false
        /// Whether the connection has let go of what it holds.
        private var hasEnded = false
        /// Why the connection ends before the head that has to come; `nil` as long as it does not.
        private var headCut: Cut?
        /// Whether a wait for news ends with what it has.
        private var endsWaits = false
        /// Whether the channel asked for bytes while a head was judged.
        private var isReadPending = false
        private var context: ChannelHandlerContext?

        init(responder: Responder) {
            self.responder = responder
            place = HeldPlace(in: responder.places)
            exchange = HTTPExchange(source: [], budget: responder.bodies)
            pace = responder.limits.body
        }

        func handlerAdded(context: ChannelHandlerContext) {
            self.context = context
            if context.channel.isActive { begin() }
        }

        func channelActive(context: ChannelHandlerContext) {
            begin()
            context.fireChannelActive()
        }

        /// Begins the connection, or ends it without a place. Behind a proxy each request takes one.
        private func begin() {
            let source = SourceAddress.bytes(context?.remoteAddress)
            guard self.source == nil else { return }
            guard responder.isBehindProxy || takePlace(for: source) else {
                responder.report.turnedAway()
                return close()
            }
            self.source = source
            responder.report.connections(1)
            wait()
        }

        private func takePlace(for source: [UInt8]) -> Bool {
            guard let loop = context?.eventLoop else { return false }
            let bound = NIOLoopBound(self, eventLoop: loop)
            return place.take(for: source) { number in loop.execute { bound.value.displace(number) } }
        }

        /// Ends the connection at once: another one has its place.
        private func displace(_ number: UInt64) {
            guard place.isLost(number) else { return }
            responder.report.turnedAway()
            cut(.displaced)
            close()
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            end()
            self.context = nil
        }

        func channelInactive(context: ChannelHandlerContext) {
            end()
            context.fireChannelInactive()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch (unwrapInboundIn(data), state) {
            case (.head(let head), .waiting): begin(head)
            case (.body(let bytes), .judging), (.body(let bytes), .reading):
                if !exchange.append(bytes) { refuse(Refusal(.busy)) }
            case (.end, .judging): exchange.isWhole = true
            case (.end, .reading): answer()
            case (.head, .judging), (.head, .answering): closesAfterAnswer = true
            default: break
            }
        }

        func read(context: ChannelHandlerContext) {
            if case .judging = state { isReadPending = true } else { context.read() }
        }

        /// Reads what waited for the verdict on a head.
        private func readOn() {
            if case .judging = state { return }
            guard isReadPending else { return }
            isReadPending = false
            context?.read()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            guard let error = error as? HTTPParserError else { return context.close(promise: nil) }
            // The parser says so before the channel says that its input, or itself, is closed.
            if error == .invalidEOFState { return cutHead() }
            switch state {
            case .judging where exchange.isWhole: closesAfterAnswer = true
            case .answering: closesAfterAnswer = true
            case .waiting, .judging, .reading: refuse(error == .headerOverflow ? .headersTooLarge : .malformed)
            case .closing: break
            }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event {
            case ChannelEvent.inputClosed: inputClosed()
            case is ChannelShouldQuiesceEvent: quiesce()
            default: context.fireUserInboundEventTriggered(event)
            }
        }

        /// The client sends nothing more. An answer that it may still read is written; a long poll ends.
        private func inputClosed() {
            isInputClosed = true
            closesAfterAnswer = true
            switch state {
            case .judging where exchange.isWhole: endWaits()
            case .answering: endWaits()
            case .waiting, .judging, .reading, .closing: close()
            }
        }

        /// The service stops. What runs comes to its end; a long poll ends with what it has.
        private func quiesce() {
            closesAfterAnswer = true
            if case .waiting = state { close() }
            endWaits()
        }

        private func endWaits() {
            endsWaits = true
            if case .answering = state, exchange.isLongPoll { task?.cancel() }
        }
    }

    // MARK: - One exchange

    extension RequestHandler {
        private func wait() {
            if responder.isBehindProxy { place.giveBack() }
            state = .waiting
            start(responder.limits.head) { handler in
                handler.headCut = .slow
                handler.close()
            }
        }

        private func begin(_ head: HTTPRequestHead) {
            exchange = HTTPExchange(source: source ?? [], budget: responder.bodies)
            do throws(Refusal) {
                let accepted = try responder.rule.accept(head)
                closesAfterAnswer = closesAfterAnswer || accepted.closes
                exchange = HTTPExchange(source: exchange.source, head: accepted, budget: responder.bodies)
                exchange.source = try responder.source(of: accepted, on: exchange.source)
                guard case .operation = accepted.endpoint else { return readBody() }
                guard !responder.isBehindProxy || takePlace(for: exchange.source) else { throw Refusal(.busy) }
                exchange.audiences = responder.audiences(of: accepted, on: context?.localAddress?.port)
                judge(accepted)
            } catch {
                refuse(error)
            }
        }

        /// Has a head judged.
        private func judge(_ head: AcceptedHead) {
            guard let context else { return close() }
            state = .judging
            timer?.cancel()
            let (source, audiences) = (exchange.source, exchange.audiences)
            if let known = responder.verdict(on: head, from: source, to: audiences) {
                return judged(exchange, .success(known))
            }
            let loop = context.eventLoop
            let bound = NIOLoopBound((handler: self, exchange: exchange), eventLoop: loop)
            task = Task { [responder] in
                let verdict: Result<Responder.Verdict, Refusal>
                do throws(Refusal) {
                    verdict = .success(try await responder.judge(head, from: source, to: audiences))
                } catch {
                    verdict = .failure(error)
                }
                loop.execute { bound.value.handler.judged(bound.value.exchange, verdict) }
            }
        }

        private func judged(_ exchange: HTTPExchange, _ verdict: Result<Responder.Verdict, Refusal>) {
            guard exchange === self.exchange, case .judging = state else {
                // The client has left, or was refused, while its head was judged.
                return exchange.giveBack()
            }
            task = nil
            do throws(Refusal) {
                let verdict = try verdict.get()
                if let account = verdict.account { place.give(to: account) }
                guard exchange.move(to: verdict) else { throw Refusal(.busy) }
                readBody()
            } catch {
                refuse(error)
            }
        }

        /// Reads the body, or has the request answered if it is there.
        private func readBody() {
            if exchange.isWhole { return answer() }
            state = .reading
            pace = responder.limits.body
            watch()
        }

        /// Ends a body that hardly moves. One of a stranger that hardly comes counts as a failure of its source.
        private func watch() {
            start(pace.span) { handler in
                let exchange = handler.exchange
                let moved = exchange.isAnswered ? exchange.sentByteCount : exchange.byteCount
                guard handler.pace.isKept(by: moved) else {
                    if !exchange.isAnswered, !exchange.isProved {
                        handler.responder.noteFailure(of: exchange.source)
                    }
                    handler.cut(.slow)
                    return handler.close()
                }
                handler.watch()
            }
        }

        /// Reports that the request ends without all of its answer, once.
        private func cut(_ cause: Cut) {
            guard exchange.head != nil, !exchange.isDone else { return }
            exchange.isDone = true
            responder.report.cut(exchange, cause)
        }

        /// Reports a head of which the parser had a part when its input ended: the client left, or was too slow.
        private func cutHead() {
            if case .waiting = state { headCut = .left }
            guard let headCut else { return }
            responder.report.cut(HTTPExchange(source: source ?? [], budget: responder.bodies), headCut)
        }

        /// Has a whole request answered.
        private func answer() {
            guard let context, let head = exchange.head, exchange.isComplete else { return close() }
            state = .answering
            timer?.cancel()
            let exchange = exchange
            let call = exchange.call
            let loop = context.eventLoop
            let bound = NIOLoopBound((handler: self, exchange: exchange), eventLoop: loop)
            task = Task(executorPreference: exchange.isShort ? LoopExecutor(loop) : nil) { [responder] in
                let reply = await responder.reply(to: call, at: head.endpoint)
                loop.execute { bound.value.handler.finish(bound.value.exchange, reply) }
            }
            if endsWaits, exchange.isLongPoll { task?.cancel() }
            if head.endpoint == .health {
                start(responder.limits.health) { $0.finish(exchange, .unavailable) }
            }
        }

        private func finish(_ exchange: HTTPExchange, _ reply: ServiceReply) {
            guard exchange === self.exchange, case .answering = state, !exchange.isAnswered else {
                // The client has left while its request was worked on, which held its body.
                return exchange.giveBack()
            }
            task = nil
            // The account may be closed by now, or its sessions ended: the connection is no longer that of the account.
            if reply.status == 401, place.isAccounts { closesAfterAnswer = true }
            // The answer to a change that has no room is kept: the client gets it when it asks again.
            write(exchange.takeRoom(reply.body.count) ? reply : .noRoom)
        }

        /// Answers a request that is not read on, and ends the connection.
        private func refuse(_ refusal: Refusal) {
            exchange.giveBack()
            if exchange.isAnswered { exchange = HTTPExchange(source: source ?? [], budget: responder.bodies) }
            state = .answering
            closesAfterAnswer = true
            let isForNow = refusal.status == .tooManyRequests || refusal.status == .unavailable
            write(ServiceReply(refusal, retryAfter: isForNow ? 1 : nil))
        }

        private func write(_ reply: ServiceReply) {
            guard let context else { return }
            exchange.isAnswered = true
            place.mark(isIdle: state.isIdle(exchange))
            responder.report.answered(exchange, reply, responder.cause(reply.cause, of: exchange.head))
            let isLast = closesAfterAnswer
            let head = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: reply.status),
                headers: reply.headers(isLast: isLast))
            pace = responder.limits.answer
            watch()
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            write(body: ByteBuffer(bytes: reply.body))
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let end = context.eventLoop.makePromise(of: Void.self)
            end.futureResult.whenComplete { bound.value.written($0, isLast: isLast) }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: end)
        }

        /// Writes a body in pieces, so that the pace of the client is seen.
        private func write(body: ByteBuffer) {
            guard let context else { return }
            let bound = NIOLoopBound(exchange, eventLoop: context.eventLoop)
            var body = body
            while let piece = body.readSlice(length: min(body.readableBytes, 64 << 10)), piece.readableBytes > 0 {
                let taken = context.eventLoop.makePromise(of: Void.self)
                taken.futureResult.whenSuccess { bound.value.sentByteCount += piece.readableBytes }
                context.write(wrapOutboundOut(.body(.byteBuffer(piece))), promise: taken)
            }
        }

        private func written(_ result: Result<Void, any Error>, isLast: Bool) {
            guard case .answering = state else { return }
            exchange.giveBack()
            guard case .success = result else {
                cut(.left)
                return close()
            }
            exchange.isDone = true
            guard isLast || closesAfterAnswer else { return wait() }
            leave()
        }

        /// Says that nothing more comes, and drops what the client still sends for a while: a connection that is closed
        /// over unread bytes is reset, and the client may not see its answer.
        private func leave() {
            guard !isInputClosed else { return close() }
            state = .closing
            context?.close(mode: .output, promise: nil)
            start(responder.limits.farewell) { $0.close() }
        }

        private func close() {
            state = .closing
            context?.close(promise: nil)
        }

        /// Lets go of what the connection holds, once. A request that is worked on keeps the room of its body.
        private func end() {
            guard !hasEnded else { return }
            hasEnded = true
            cut(.left)
            if task == nil { exchange.giveBack() }
            if exchange.isLongPoll { task?.cancel() }
            place.giveBack()
            if source != nil { responder.report.connections(-1) }
            source = nil
            state = .closing
            timer?.cancel()
            timer = nil
            task = nil
        }

        /// Starts the one clock of the connection.
        private func start(_ time: TimeAmount, _ action: @escaping (RequestHandler) -> Void) {
            timer?.cancel()
            guard let context else { return }
            timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { action(self) }
        }
    }
#endif
