// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing

    @testable import TresorPostgres

    /// The wait for a server, on two sockets that are connected to each other.
    @Suite struct PostgresWatchTests {
        /// The two ends of a connection.
        private final class Pair {
            private var own: Int32
            private let other: Int32

            var socket: Int32 { own }

            init() throws {
                var ends: [Int32] = [-1, -1]
                #if canImport(Glibc)
                    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
                #else
                    try #require(socketpair(AF_UNIX, SOCK_STREAM, 0, &ends) == 0)
                #endif
                (own, other) = (ends[0], ends[1])
            }

            deinit {
                closeOwn()
                close(other)
            }

            /// Closes the end of the client, as libpq does by itself.
            func closeOwn() {
                if own >= 0 { close(own) }
                own = -1
            }

            /// Whether the server has not seen the end.
            var isOpen: Bool {
                var byte: UInt8 = 0
                return recv(other, &byte, 1, Int32(MSG_DONTWAIT)) < 0 && errno == EAGAIN
            }
        }

        @Test func aWaitThatBeganBeforeATimeIsEnded() throws {
            let (watch, pair) = (PostgresWatch(), try Pair())
            let before = ContinuousClock.now
            let later = before + .seconds(600)
            watch.endWait(begunBefore: later)
            try watch.begin(on: pair.socket)
            watch.endWait(begunBefore: before)
            #expect(pair.isOpen)
            watch.endWait(begunBefore: later)
            #expect(!pair.isOpen)
            #expect(watch.end())
            #expect(!watch.end())
        }

        @Test func whatHasEndedIsLeftAlone() throws {
            let (watch, pair) = (PostgresWatch(), try Pair())
            try watch.begin(on: pair.socket)
            #expect(!watch.end())
            watch.endWait(begunBefore: .now + .seconds(600))
            #expect(pair.isOpen)
        }

        /// The number of a socket that libpq has closed may be that of another one by now.
        @Test func aSocketThatWasClosedIsNobodyElses() throws {
            let (watch, pair) = (PostgresWatch(), try Pair())
            try watch.begin(on: pair.socket)
            pair.closeOwn()
            #expect(pair.isOpen)
            watch.endWait(begunBefore: .now + .seconds(600))
            #expect(!pair.isOpen)
            #expect(watch.end())
        }
    }
#endif
