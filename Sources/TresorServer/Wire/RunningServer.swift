// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import Synchronization

    /// A service that listens, until it is stopped.
    struct RunningServer: Sendable {
        /// The port of the service; 0 for a socket of the file system.
        let port: Int
        let server: WireServer
        /// The room that bodies and answers take.
        let bodies: SharedBudget
        let listening: [any Channel]
        let connections: Connections

        /// Has an action run when an address is listened on no longer.
        func onEnd(_ action: @escaping @Sendable () -> Void) {
            for channel in listening { channel.closeFuture.whenComplete { _ in action() } }
        }

        /// Accepts nothing more, ends waits and finishes what runs, for as long as a stop may take. Returns when the last
        /// connection is closed.
        func stop() async {
            server.report.say(.stopping)
            server.stopping()
            // A connection that is not held when its address closes is closed with it.
            for channel in listening { try? await channel.close() }
            let open = connections.open
            for channel in open { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
            let end = open.first?.eventLoop.scheduleTask(in: server.limits.stop) {
                for channel in open { channel.close(promise: nil) }
            }
            for channel in open { try? await channel.closeFuture.get() }
            end?.cancel()
        }
    }

    /// The open connections of all addresses.
    final class Connections: Sendable {
        private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

        var open: [any Channel] { channels.withLock { Array($0.values) } }

        /// Holds a connection until it is closed.
        func add(_ channel: any Channel) {
            let id = ObjectIdentifier(channel)
            channels.withLock { $0[id] = channel }
            channel.closeFuture.whenComplete { [self] _ in channels.withLock { $0[id] = nil } }
        }
    }
#endif
