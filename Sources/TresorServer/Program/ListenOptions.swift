// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import NIOCore

    /// Where a service listens, and under which names.
    struct ListenOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Listen here; 127.0.0.1:8443 if you do not say.", valueName: "address:port"))
        var listen: String?

        @Flag(help: "Let --listen name an address that other machines reach.")
        var listenAnywhere = false

        @Option(
            help: ArgumentHelp("Answer with this certificate: PEM, with those that vouch for it.", valueName: "file"))
        var certificate: String?

        @Option(help: ArgumentHelp("Use this key of the certificate: PEM.", valueName: "file"))
        var key: String?

        @Option(
            help: ArgumentHelp(
                "Listen on a socket in the file system, behind a proxy that does TLS.", valueName: "socket"))
        var behindProxy: String?

        @Option(
            help: ArgumentHelp(
                "Answer clients that dial this host, on the port of --listen or on another one; repeat it.",
                valueName: "host[:port]"),
            transform: HostName.typed)
        var name: [HostName] = []

        @Option(
            help: ArgumentHelp("Show metrics for Prometheus on this address of loopback.", valueName: "address:port"))
        var metrics: String?

        @Option(
            help: ArgumentHelp(
                "Let one address have this many connections on which nobody has shown an account yet, and its accounts ten "
                    + "times as many, but at least 7500; 200 if you do not say.", valueName: "number"))
        var connectionsPerAddress: Int?

        /// The limits of connections and bodies.
        var limits: ServerLimits {
            var limits = ServerLimits()
            if let connectionsPerAddress { limits.allow(ofSource: connectionsPerAddress) }
            return limits
        }

        func validate() throws {
            guard connectionsPerAddress.map({ (1...ServerLimits().connectionsOfStrangers).contains($0) }) ?? true else {
                throw ValidationError(
                    "--connections-per-address takes a number from 1 to \(ServerLimits().connectionsOfStrangers)")
            }
            guard (certificate == nil) == (key == nil) else {
                throw ValidationError("--certificate and --key go together")
            }
            guard behindProxy == nil || listen == nil && !listenAnywhere else {
                throw ValidationError(
                    "behind a proxy the service listens on the socket alone: leave out --listen and --listen-anywhere, or "
                        + "--behind-proxy")
            }
            guard behindProxy == nil || certificate == nil else {
                throw ValidationError(
                    "behind a proxy the proxy has the certificate: leave out --certificate or --behind-proxy")
            }
        }

        /// The addresses of the service and of its metrics.
        ///
        /// - Throws: ``ServerFailure`` for an address that is none, or that needs another option.
        func addresses() throws(ServerFailure) -> (service: WireServer.Address, metrics: WireServer.Address?) {
            var metricsAddress: WireServer.Address?
            if let metrics {
                let address = try Self.address(metrics, of: "--metrics")
                guard address.isLoopback else {
                    throw .usage("--metrics takes an address of loopback, as 127.0.0.1:9090")
                }
                metricsAddress = address
            }
            if let behindProxy {
                try requireName()
                return (.socket(path: behindProxy), metricsAddress)
            }
            let listen = listen ?? "127.0.0.1:8443"
            let address = try Self.address(listen, of: "--listen")
            if address == metricsAddress, !address.isOfAnyPort {
                throw .usage("--listen and --metrics name one address, \(listen): give the metrics a port of their own")
            }
            if !address.isLoopback {
                guard listenAnywhere else {
                    throw .usage(
                        "\(listen) can be reached by other machines: say --listen-anywhere too, or listen on 127.0.0.1")
                }
                guard certificate != nil else {
                    throw .usage("without TLS the service listens on loopback alone: give --certificate and --key")
                }
                try requireName()
            }
            return (address, metricsAddress)
        }

        /// The certificate; `nil` for none.
        func certificates() throws(ServerFailure) -> Certificates? {
            guard let certificate, let key else { return nil }
            return try Certificates(certificate: certificate, key: key)
        }

        private func requireName() throws(ServerFailure) {
            guard !name.isEmpty else { throw .usage("say by which host name clients know the service: --name HOST") }
        }

        /// Reads `127.0.0.1:8443`, `[::1]:8443` or `localhost:8443`.
        private static func address(_ text: String, of option: String) throws(ServerFailure) -> WireServer.Address {
            let failure = ServerFailure.usage("\(option) takes ADDRESS:PORT, as 127.0.0.1:8443 or [::1]:8443")
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                throw failure
            }
            var host = String(text[..<colon])
            if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
            if host == "localhost" { host = "127.0.0.1" }
            guard (try? SocketAddress(ipAddress: host, port: Int(port))) != nil else { throw failure }
            return .network(host: host, port: Int(port))
        }
    }

    extension WireServer.Address {
        /// Whether the system chooses the port.
        fileprivate var isOfAnyPort: Bool {
            if case .network(_, 0) = self { true } else { false }
        }

        /// Whether only this machine reaches the address.
        var isLoopback: Bool {
            switch self {
            case .socket: true
            case .network(let host, _): host.hasPrefix("127.") || host == "::1"
            }
        }
    }
#endif
