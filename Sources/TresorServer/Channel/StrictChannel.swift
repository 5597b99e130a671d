// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import NIOHTTP1
    import TresorCore

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

        /// The limits of a head.
        private static var decoderLimits: NIOHTTPDecoderLimitConfiguration {
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = WireForm.maximumHeaderByteCount
            limits.maxHeaderListSize = WireForm.maximumHeadByteCount
            limits.maxHeaderFieldCount = WireForm.maximumHeaderCount
            return limits
        }
    }
#endif
