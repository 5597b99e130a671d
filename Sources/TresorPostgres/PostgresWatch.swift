// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization

    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif

    /// The wait of a connection for its server, which another thread can end.
    ///
    /// PostgreSQL limits statements and locks, but no commit: one that waits for a standby or for a disk has no end. So
    /// each commit is watched, and each statement unless its transaction may take as long as it takes.
    final class PostgresWatch: Sendable {
        /// The time that an exchange may take. It may have several statements, with 5 seconds each.
        static let limit: Duration = .seconds(20)

        private struct Wait {
            /// A duplicate of the socket.
            let socket: Int32
            let start: ContinuousClock.Instant
            var isEnded = false
        }

        private let wait = Mutex<Wait?>(nil)

        /// Begins a wait. It has a descriptor of its own: libpq closes its socket when the connection breaks, and the
        /// number may then be somebody else's.
        ///
        /// - Throws: ``PostgresFailure/broken`` where the process has no descriptor left: nothing would end the wait.
        func begin(on socket: Int32) throws(PostgresFailure) {
            let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { throw .broken }
            wait.withLock { $0 = Wait(socket: copy, start: .now) }
        }

        /// Ends the wait.
        ///
        /// - Returns: whether it took too long, so that its connection was broken.
        func end() -> Bool {
            wait.withLock { wait in
                guard let ended = wait else { return false }
                wait = nil
                close(ended.socket)
                return ended.isEnded
            }
        }

        /// Breaks the connection of a wait that began before a time. libpq then finds that its server has gone.
        func endWait(begunBefore time: ContinuousClock.Instant) {
            wait.withLock { wait in
                guard let late = wait, late.start < time, !late.isEnded else { return }
                wait?.isEnded = shutdown(late.socket, Int32(SHUT_RDWR)) == 0
            }
        }
    }
#endif
