// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import ServiceLifecycle
    import TresorCore
    import TresorCrypto
    import TresorService
    import UnixSignals

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
                stopping: { service.shutDown() }, companions: [Sweeper(service: service, report: report)])
            server.report.say(.starting)
            let group = try server.group(stoppedBy: [.sigterm, .sigint])
            do {
                try await group.run()
            } catch let failure as ServerFailure {
                throw failure
            } catch {
                throw ServerFailure(.failed(.other), "the service ended early")
            }
            await engine.close()
            _ = consume claim
            server.report.say(.stopped)
        }
    }

    /// Drops every ten minutes what the service keeps for a time only.
    private struct Sweeper: ServiceLifecycle.Service {
        let service: TresorService.Service
        let report: Report

        func run() async throws {
            await cancelWhenGracefulShutdown {
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
    }
#endif
