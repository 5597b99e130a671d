// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import NIOHTTP1

    /// The connections of an address, each with NIO's parser and a ``RequestHandler``, and nothing else that could read
    /// a request in another way.
    struct StrictChannel: Sendable {
        let responder: Responder
        /// The certificate for TLS; `nil` for connections without it.
        var certificates: Certificates?

        /// Sets up a new connection.
        func setUp(_ channel: any Channel) throws {
            let pipeline = channel.pipeline.syncOperations
            if let certificates { try pipeline.addHandler(try certificates.makeHandler()) }
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: true,
                withEncoderConfiguration: .init(), withDecoderLimitConfiguration: Self.decoderLimits)
            try pipeline.addHandler(RequestHandler(responder: responder))
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
