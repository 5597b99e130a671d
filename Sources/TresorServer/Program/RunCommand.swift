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
            let service = try Service(
                engine: engine,
                settings: setup.settings(policy: policy.applied(to: setup.policy)) {
                    UInt64(CalendarTime.now.seconds)
                })
            let server = WireServer(
                handler: service, address: addresses.service, names: listening.name,
                certificates: certificates,
                metrics: addresses.metrics,
                report: Report(logsSources: logSources, write: StandardError.write),
                stopping: { service.shutDown() }, companions: [Sweeper(service: service)])
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

        func run() async throws {
            await cancelWhenGracefulShutdown {
                while !Task.isCancelled {
                    try? await service.sweep()
                    try? await Task.sleep(for: .seconds(600))
                }
            }
        }
    }
#endif
