// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #endif
    import Dispatch

    /// The signals that reach the program. They are taken for as long as it lives, so that a second one does not cut off
    /// a stop that goes on.
    struct Signals: Sendable {
        /// Their numbers, as they come.
        let numbers: AsyncStream<Int32>
        private let continuation: AsyncStream<Int32>.Continuation

        /// Takes the signals from here on.
        init(taking taken: Int32...) async {
            let (numbers, continuation) = AsyncStream.makeStream(of: Int32.self)
            (self.numbers, self.continuation) = (numbers, continuation)
            for number in taken {
                #if canImport(Darwin)
                    signal(number, SIG_IGN)
                #endif
                let source = DispatchSource.makeSignalSource(signal: number)
                source.setEventHandler {
                    // Nothing else keeps the source.
                    _ = source
                    continuation.yield(number)
                }
                await withCheckedContinuation { registered in
                    source.setRegistrationHandler { registered.resume() }
                    source.resume()
                }
            }
        }

        /// Ends ``numbers``.
        func finish() { continuation.finish() }
    }
#endif
