// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif
    import HummingbirdCore
    import HummingbirdTLS
    import Logging
    import NIOCore
    import NIOPosix
    import ServiceLifecycle
    import TresorCore
    import TresorCrypto
    import UnixSignals

    /// The service on its addresses, from the start to the graceful stop.
    struct WireServer: Sendable {
        /// Where the service listens.
        enum Address: Hashable, Sendable {
            case network(host: String, port: Int)
            /// A socket in the file system, behind a proxy.
            case socket(path: String)
        }

        let handler: any ServiceHandler
        let address: Address
        /// The names under which clients know the service. One without a port has that on which the service listens, or 443
        /// behind a proxy.
        let names: [HostName]
        /// The certificate; `nil` for none, on loopback or behind a proxy.
        var certificates: Certificates?
        /// Where the metrics are, on loopback; `nil` for nowhere.
        var metrics: Address?
        var limits = ServerLimits()
        let report: Report
        /// Ends all waits, when the service begins to stop.
        var stopping: @Sendable () -> Void = {}
        /// What runs beside the service, and ends after it.
        var companions: [any Service] = []

        /// Makes the group of everything that runs.
        ///
        /// - Parameters:
        ///   - signals: the signals that stop it. It then accepts nothing, ends waits, finishes what runs, and returns.
        ///   - listening: is told the port once the service listens; 0 for a socket of the file system.
        func group(
            stoppedBy signals: [UnixSignal], listening: @escaping @Sendable (Int) -> Void = { _ in }
        ) throws -> ServiceGroup {
            let logger = Logger(label: "tresor-server") { _ in SwiftLogNoOpLogHandler() }
            let loops = MultiThreadedEventLoopGroup.singleton
            let responder = Responder(
                target: .service(handler), rule: .service(names: names), limits: limits, report: report,
                isBehindProxy: address.isSocket, isSecure: certificates != nil)
            let channel = StrictChannel(responder: responder)
            let report = report
            let running: @Sendable (any Channel) async -> Void = { [address] channel in
                address.openToGroup()
                let port = channel.localAddress?.port
                report.say(.listening, port: port)
                listening(port ?? 0)
            }
            var services = companions
            if let metrics {
                let responder = Responder(
                    target: .metrics(report.registry), rule: .metrics, limits: limits, report: report,
                    isBehindProxy: false)
                let server = StrictChannel(responder: responder).server(
                    configuration: metrics.configuration, eventLoopGroup: loops, logger: logger)
                services.append(Listener(server: server, address: metrics))
            }
            // Without a certificate the signal must not end the program either.
            if certificates != nil || !signals.isEmpty {
                services.append(HangupListener(certificates: certificates, report: report))
            }
            if let certificates {
                let server = try TLSChannel(channel, tlsConfiguration: certificates.configuration).server(
                    configuration: address.configuration, onServerRunning: running, eventLoopGroup: loops,
                    logger: logger)
                services.append(Listener(server: server, address: address))
            } else {
                let server = channel.server(
                    configuration: address.configuration, onServerRunning: running, eventLoopGroup: loops,
                    logger: logger)
                services.append(Listener(server: server, address: address))
            }
            services.append(Ending(report: report, stopping: stopping))
            var configuration = ServiceGroupConfiguration(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: signals, logger: logger)
            configuration.maximumGracefulShutdownDuration = limits.stop
            return ServiceGroup(configuration: configuration)
        }
    }

    extension WireServer.Address {
        var isSocket: Bool {
            if case .socket = self { true } else { false }
        }

        /// The address for messages.
        fileprivate var text: String {
            switch self {
            case .network(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            case .socket(let path): path
            }
        }

        /// Lets the group of the process use the socket, so that the proxy need not be the same user.
        fileprivate func openToGroup() {
            if case .socket(let path) = self { chmod(path, 0o660) }
        }

        /// The configuration of the listening socket. Many clients may come at once.
        fileprivate var configuration: ServerConfiguration {
            let address: BindAddress =
                switch self {
                case .network(let host, let port): .hostname(host, port: port)
                case .socket(let path): .unixDomainSocket(path: path)
                }
            return ServerConfiguration(address: address, backlog: 4096)
        }
    }

    /// A server that says on which address it cannot listen, and why.
    private struct Listener: Service {
        let server: any Service
        let address: WireServer.Address

        func run() async throws {
            if case .socket(let path) = address, await isServed(path) {
                throw ServerFailure(.failed(.inputOutput), "another program listens on \(path): stop it first")
            }
            do {
                try await server.run()
            } catch let error as IOError {
                throw ServerFailure(.failed(.inputOutput), "cannot listen on \(address.text): \(reason(error))")
            } catch is SocketAddressError {
                throw ServerFailure(
                    .failed(.inputOutput),
                    "cannot listen on \(address.text): the path of a socket has at most 103 bytes")
            }
        }

        /// A socket that a dead process left is replaced. That of a living one would be taken from it.
        private func isServed(_ path: String) async -> Bool {
            let loops = MultiThreadedEventLoopGroup.singleton
            let channel = try? await ClientBootstrap(group: loops).connect(unixDomainSocketPath: path).get()
            try? await channel?.close()
            return channel != nil
        }

        private func reason(_ error: IOError) -> String {
            switch error.errnoCode {
            case EADDRINUSE: "another program listens there"
            case EADDRNOTAVAIL: "this machine has no such address"
            case EACCES, EPERM: "you may not; ports below 1024 need CAP_NET_BIND_SERVICE"
            case ENOENT: "its directory is missing"
            default: "the system refuses it"
            }
        }
    }

    /// Is stopped first, before the connections are.
    private struct Ending: Service {
        let report: Report
        let stopping: @Sendable () -> Void

        func run() async throws {
            try? await gracefulShutdown()
            report.say(.stopping)
            stopping()
        }
    }

    /// Reads the certificate again at SIGHUP, if there is one.
    private struct HangupListener: Service {
        let certificates: Certificates?
        let report: Report

        func run() async throws {
            await cancelWhenGracefulShutdown {
                for await _ in await UnixSignalsSequence(trapping: .sighup) {
                    guard let certificates else { continue }
                    do throws(ServerFailure) {
                        try certificates.reload()
                        report.say(.certificate)
                    } catch {
                        report.say(.certificate, .error)
                    }
                }
            }
        }
    }
#endif
