// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import NIOCore
    import NIOPosix
    import Synchronization
    import TresorCrypto

    /// A thing that is said once a minute at most, however often it happens.
    final class MinuteReminder: Sendable {
        private let last = Mutex<ContinuousClock.Instant?>(nil)

        /// Whether to say it now.
        func isDue(at now: ContinuousClock.Instant = .now) -> Bool {
            last.withLock { last in
                guard last.map({ now - $0 >= .seconds(60) }) ?? true else { return false }
                last = now
                return true
            }
        }
    }

    extension WireServer.Address {
        var isSocket: Bool {
            if case .socket = self { true } else { false }
        }

        /// Listens here. Many clients may come at once.
        ///
        /// - Parameter connections: holds each connection while it is open.
        /// - Returns: the listening channel.
        /// - Throws: ``ServerFailure`` with the reason.
        func listen(
            _ strict: StrictChannel, _ connections: Connections
        ) async throws(ServerFailure) -> any Channel {
            let reminder = MinuteReminder()
            let bootstrap = ServerBootstrap(group: Self.loops)
                .serverChannelOption(.backlog, value: 4096)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        // Without descriptors it tries again after a second.
                        let backoff = AcceptBackoffHandler { error in
                            if Self.isOfDescriptors(error), reminder.isDue() {
                                strict.responder.report.say(.noDescriptors, .error)
                            }
                            return .seconds(1)
                        }
                        try channel.pipeline.syncOperations.addHandler(backoff)
                    }
                }
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try strict.setUp(channel)
                        connections.add(channel)
                    }
                }
            do {
                switch self {
                case .network(let host, let port): return try await bootstrap.bind(host: host, port: port).get()
                case .socket(let path):
                    guard await !Self.isServed(path) else {
                        throw ServerFailure(.failed(.inputOutput), "another program listens on \(path): stop it first")
                    }
                    let channel = try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true)
                        .get()
                    // The proxy need not be the same user, but one of the group.
                    chmod(path, 0o660)
                    return channel
                }
            } catch let failure as ServerFailure {
                throw failure
            } catch {
                throw ServerFailure(.failed(.inputOutput), "cannot listen on \(text): \(Self.reason(error))")
            }
        }

        /// Whether the process or the system has as many files and connections open as it may.
        static func isOfDescriptors(_ error: IOError) -> Bool { [EMFILE, ENFILE].contains(error.errnoCode) }

        private static var loops: MultiThreadedEventLoopGroup { .singleton }

        /// The address for messages.
        private var text: String {
            switch self {
            case .network(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            case .socket(let path): path
            }
        }

        /// A socket that a dead process left is replaced. That of a living one would be taken from it.
        private static func isServed(_ path: String) async -> Bool {
            let channel = try? await ClientBootstrap(group: loops).connect(unixDomainSocketPath: path).get()
            try? await channel?.close()
            return channel != nil
        }

        private static func reason(_ error: any Error) -> String {
            switch (error as? IOError)?.errnoCode {
            case EADDRINUSE: "another program listens there"
            case EADDRNOTAVAIL: "this machine has no such address"
            case EACCES, EPERM: "you may not; ports below 1024 need CAP_NET_BIND_SERVICE"
            case ENOENT: "its directory is missing"
            case nil where error is SocketAddressError: "the path of a socket has at most 103 bytes"
            case nil where error is UnixDomainSocketPathWrongType: "something else has this name: remove it first"
            default: "the system refuses it"
            }
        }
    }
#endif
