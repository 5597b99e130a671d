// SPDX-License-Identifier: Apache-2.0

#if Server
    /// The state of a connection.
    enum ConnectionState {
        /// A head has to come.
        case waiting
        /// The head of the exchange is judged. What follows it waits at the socket, but for what came with it.
        case judging
        /// The body of the exchange is read.
        case reading
        /// The answer to the exchange is worked out or written.
        case answering
        /// Nothing more is answered.
        case closing

        /// Whether the service waits for the client: for a head, for the rest of a body, or until it takes an answer.
        func isIdle(_ exchange: HTTPExchange) -> Bool {
            switch self {
            case .waiting, .reading, .closing: true
            case .judging: false
            case .answering: exchange.isAnswered
            }
        }
    }
#endif
