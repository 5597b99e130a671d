// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import ArgumentParser
    import TresorCore
    import TresorCrypto
    import TresorPostgres
    import TresorService
    import TresorStore

    /// Runs a service until a signal stops it.
    struct RunCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run", abstract: "Run a service.",
            discussion: """
                It writes one line of JSON a request to standard error. SIGTERM and SIGINT stop it: it finishes what \
                runs, for at most 10 seconds. SIGHUP makes it read the certificate again. It writes down what is revoked \
                beside the database, and takes that out of a database that was restored from a backup.
                """)

        @OptionGroup var place: StoreOptions
        @OptionGroup var listening: ListenOptions
        @OptionGroup var policy: PolicyOptions

        @Option(
            help: ArgumentHelp(
                "Refuse shares of tresors that do not name the person of this card as an approver; may be given several times.",
                valueName: "card"))
        var approver: [String] = []

        @Flag(help: "Write the addresses of clients into the log.")
        var logSources = false

        @OptionGroup var revocations: RevokedLogOptions

        @Flag(
            help: ArgumentHelp(
                "Once, after a restore without the file of revocations: end all sessions, and drop all server shares and "
                    + "invitations. The operator then decides about the next card of each account."))
        var restored = false

        @Option(
            help: ArgumentHelp(
                "With --restored: the card of the operator, if they have made new keys since the backup.",
                valueName: "card"))
        var `operator`: String?

        func run() async throws {
            guard restored || `operator` == nil else { throw ServerFailure.usage("--operator goes with --restored") }
            let chain = try `operator`.map { (path) throws(ServerFailure) in try OperatorCard.read(path) }
            let addresses = try listening.addresses()
            try OpenFiles.check()
            let certificates = try listening.certificates()
            let key = try ServerKey.read(at: place.keyPath())
            let claim = try await claim(for: key.publicKey)
            let engine = try await place.open(creating: false)
            let setup = try await setup(in: engine, of: key.publicKey)
            var applied = policy.applied(to: setup.policy)
            for path in approver { applied.approvers.append(try OperatorCard.read(path, of: "approver")) }
            guard applied.approvers.count <= Approver.maximumCount else {
                throw ServerFailure.usage("--approver takes at most \(Approver.maximumCount) cards")
            }
            var settings = setup.settings(policy: applied) { UInt64(CalendarTime.now.seconds) }
            settings.logins = try key.loginSecret()
            let id = try setup.server.id()
            RevokedLog.dropSuperseded(at: try revocations.path(place), of: id)
            let revoked = try await revocations.open(of: id, place, engine, by: .run, creating: restored)
            settings.revocations = revoked
            let service = try Service(engine: engine, settings: settings)
            try await takeBack(revoked, service, operator: chain)
            try await revocations.noteStart(revoked, place, engine)
            try await warn(of: applied.approvers, service.directory)
            let lines = LineWriter(StandardError.write)
            defer { lines.finish() }
            let report = Report(logsSources: logSources, write: lines.write)
            let server = WireServer(
                handler: service, address: addresses.service, names: listening.name,
                certificates: certificates,
                metrics: addresses.metrics, limits: listening.limits, report: report,
                stopping: { service.shutDown() })
            report.say(.starting)
            let outage = (engine as? PostgresEngine)?.outage ?? (engine as? SQLiteEngine)?.outage
            outage?.onChange { reason in
                report.say(
                    reason == nil ? .databaseBack : .databaseLost, reason == nil ? .info : .error, reason: reason)
            }
            if restored { report.say(.restored) }
            try await serve(service, through: server)
            await engine.close()
            _ = consume claim
            report.say(.stopped)
        }

        /// Takes the service for this process. Where another process has the key, the database may be another one than that
        /// of the process, or none, and then that is the fault.
        private func claim(for key: Hash256) async throws -> FileDescriptor? {
            do throws(ServerFailure) {
                return try place.claim()
            } catch {
                let other: any SQLEngine
                do throws(ServerFailure) {
                    other = try await place.open(creating: false, migrating: false, verifyingUpTo: 0)
                } catch let fault {
                    // One of an older release may well be that of the process.
                    throw fault.error == .store(.schema) ? error : fault
                }
                _ = try await setup(in: other, of: key)
                throw error
            }
        }

        /// Reads what a service was made with.
        ///
        /// - Throws: ``ServerFailure`` for a database without a service, and for that of another key.
        private func setup(in engine: any SQLEngine, of key: Hash256) async throws -> ServiceSetup {
            guard let setup = try await ServiceSetup.read(from: engine) else {
                throw ServerFailure(
                    .notFound, "there is no service in \(place.shown): make one with tresor-server init")
            }
            guard setup.server.key == key else {
                throw ServerFailure(
                    .forked,
                    "the server key \(try place.keyPath()) belongs to another service than that in \(place.shown)")
            }
            return setup
        }

        /// Says of demanded approvers whose accounts are closed that they approve nothing any more.
        private func warn(of approvers: [CardChain], _ directory: AccountDirectory) async throws {
            for (path, chain) in zip(approver, approvers) {
                guard try await directory.isClosed(chain.user) else { continue }
                StandardError.write(
                    "tresor-server: the account of \(ShownText.name(chain.handle)) (--approver \(path)) is closed: they "
                        + "approve nothing any more, and tresors have to name them; give the card of somebody else\n")
            }
        }

        /// Serves until a signal stops it, and drops what the service keeps for a time only.
        private func serve(_ service: Service, through server: WireServer) async throws {
            let signals = await Signals(taking: SIGHUP, SIGINT, SIGTERM)
            let running = try await server.start()
            running.onEnd { signals.finish() }
            async let _: Void = sweep(service, server)
            var isStopped = false
            for await number in signals.numbers {
                isStopped = number != SIGHUP
                if isStopped { break }
                server.readCertificate()
            }
            await running.stop()
            guard isStopped else { throw ServerFailure(.failed(.other), "the service ended early") }
        }

        /// Sweeps at the start, every ten minutes, and when something was deleted.
        private func sweep(_ service: Service, _ server: WireServer) async {
            async let _: Void = remind(service, server)
            for await _ in service.dueSweeps {
                do {
                    try await service.sweep()
                } catch {
                    if !Task.isCancelled { server.report.say(.sweepFailed, .error) }
                }
            }
        }

        private func remind(_ service: Service, _ server: WireServer) async {
            repeat {
                service.askForSweep()
                server.remind()
            } while (try? await Task.sleep(for: .seconds(600))) != nil
        }
    }

    /// The revocations, which no backup must undo.
    extension RunCommand {
        /// Takes out of the database what was revoked, and with `--restored` all that may have been.
        private func takeBack(
            _ log: RevokedLog, _ service: TresorService.Service, operator chain: CardChain?
        ) async throws {
            try await RevokedLogOptions.Opener.run.takeBack(log, from: service, in: place)
            guard restored else { return }
            do throws(TresorError) {
                try await service.distrust(operator: chain)
            } catch {
                guard error == .unverified else { throw ServerFailure(error) }
                throw ServerFailure(
                    error, "the card of --operator does not continue that of the operator in the database")
            }
        }
    }
#endif
