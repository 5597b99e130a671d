// SPDX-License-Identifier: Apache-2.0

#if Server
    import HummingbirdCore
    import Logging
    import NIOCore
    import NIOHTTP1

    /// The connections of an address, each with NIO's parser and a ``RequestHandler``, and nothing else that could read
    /// a request in another way.
    struct StrictChannel: ServerChildChannel {
        /// An open connection.
        struct Value: ServerChildChannelValue {
            let channel: any Channel
        }

        let responder: Responder

        func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                    withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: true,
                    withEncoderConfiguration: .init(), withDecoderLimitConfiguration: Self.decoderLimits)
                try channel.pipeline.syncOperations.addHandler(RequestHandler(responder: responder))
                return Value(channel: channel)
            }
        }

        func handle(value: Value, logger: Logger) async {
            await withTaskCancellationHandler {
                try? await value.channel.closeFuture.get()
            } onCancel: {
                value.channel.close(promise: nil)
            }
        }

        /// 32 headers of at most 4 KiB, together 16 KiB.
        private static var decoderLimits: NIOHTTPDecoderLimitConfiguration {
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = 4 << 10
            limits.maxHeaderListSize = 16 << 10
            limits.maxHeaderFieldCount = 32
            return limits
        }
    }
#endif
