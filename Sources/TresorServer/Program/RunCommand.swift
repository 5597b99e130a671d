// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif
    import ArgumentParser
    import TresorCore
    import TresorCrypto
    import TresorService

    /// Runs a service until a signal stops it.
    struct RunCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run", abstract: "Run a service.",
            discussion: """
                It writes one line of JSON a request to standard error. SIGTERM and SIGINT stop it: it finishes what \
                runs, for at most 10 seconds. SIGHUP makes it read the certificate again.
                """)

        @OptionGroup var place: StoreOptions
        @OptionGroup var listening: ListenOptions
        @OptionGroup var policy: PolicyOptions

        @Option(
            help: ArgumentHelp(
                "Refuse tresors that do not name the person of this card as an approver; may be given several times.",
                valueName: "card"))
        var approver: [String] = []

        @Flag(help: "Write the addresses of clients into the log.")
        var logSources = false

        func run() async throws {
            let addresses = try listening.addresses()
            let certificates = try listening.certificates()
            let key = try ServerKey.read(at: place.keyPath())
            let claim = try place.claim()
            let engine = try await place.open(creating: false)
            guard let setup = try await ServiceSetup.read(from: engine) else {
                throw ServerFailure(
                    .notFound, "there is no service in \(place.store): make one with tresor-server init")
            }
            guard setup.server.key == key.publicKey else {
                throw ServerFailure(
                    .forked, "the server key \(try place.keyPath()) belongs to another service")
            }
            var applied = policy.applied(to: setup.policy)
            for path in approver { applied.approvers.append(try OperatorCard.read(path)) }
            guard applied.approvers.count <= Approver.maximumCount else {
                throw ServerFailure.usage("--approver takes at most \(Approver.maximumCount) cards")
            }
            let service = try Service(
                engine: engine,
                settings: setup.settings(policy: applied) {
                    UInt64(CalendarTime.now.seconds)
                })
            let lines = LineWriter(StandardError.write)
            defer { lines.finish() }
            let report = Report(logsSources: logSources, write: lines.write)
            let server = WireServer(
                handler: service, address: addresses.service, names: listening.name,
                certificates: certificates,
                metrics: addresses.metrics, limits: listening.limits, report: report,
                stopping: { service.shutDown() })
            report.say(.starting)
            try await serve(service, through: server)
            await engine.close()
            _ = consume claim
            report.say(.stopped)
        }

        /// Serves until a signal stops it, and drops every ten minutes what the service keeps for a time only.
        private func serve(_ service: Service, through server: WireServer) async throws {
            let signals = await Signals(taking: SIGHUP, SIGINT, SIGTERM)
            let running = try await server.start()
            running.onEnd { signals.finish() }
            async let _: Void = sweep(service, server.report)
            var isStopped = false
            for await number in signals.numbers {
                isStopped = number != SIGHUP
                if isStopped { break }
                server.readCertificate()
            }
            await running.stop()
            guard isStopped else { throw ServerFailure(.failed(.other), "the service ended early") }
        }

        private func sweep(_ service: Service, _ report: Report) async {
            while !Task.isCancelled {
                do {
                    try await service.sweep()
                } catch {
                    if !Task.isCancelled { report.say(.sweepFailed, .error) }
                }
                try? await Task.sleep(for: .seconds(600))
            }
        }
    }
#endif
