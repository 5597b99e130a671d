// SPDX-License-Identifier: Apache-2.0

#if Server
    /// The requests for a sweep in a process. However often it is asked for, one sweep comes.
    struct SweepRequests: Sendable {
        let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

        func ask() { continuation.yield() }

        func close() { continuation.finish() }
    }
#endif
