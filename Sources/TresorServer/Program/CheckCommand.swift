// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import TresorCore
    import TresorCrypto
    import TresorService

    /// Compares the database of a service with its logs.
    struct CheckCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Fold every log of a service and compare the database with it.",
            discussion: """
                It changes nothing, and may run beside the service. A server key that is named, or lies beside the database, \
                has to be that of the service.
                """)

        @OptionGroup var place: StoreOptions

        func run() async throws {
            let (service, engine) = try await StoredService.open(place, migrating: false, verifyingUpTo: .max)
            let report = try await service.check()
            let fault = try await faultOfKey(in: engine)
            await engine.close()
            for finding in report.findings { print(finding.sentence) }
            for user in report.logins {
                print("account \(user): what is kept for the log-in is not what the person has signed")
            }
            let count = report.findings.count + report.logins.count
            print("checked \(report.tresors) tresors with \(report.entries) entries: \(count) findings")
            guard report.isClean else {
                throw ServerFailure(
                    .store(.damaged),
                    report.lacksBlobsAlone
                        ? "the database lacks what its logs name, as after a restore: a backup that has it brings it back, "
                            + "or people do, as said above"
                        : "the database does not agree with its logs; restore it from a backup")
            }
            guard let fault else {
                if (try? place.keyPath()) == nil {
                    StandardError.write("tresor-server: looked at no server key: name it with --server-key\n")
                }
                return
            }
            // A trial of a restore may do without the key.
            guard fault.error == .notFound, place.serverKey == nil else { throw fault }
            StandardError.write("tresor-server: \(fault.message)\n")
        }

        /// The fault of the server key, without which the service does not start; `nil` for none, and where no option names
        /// a key and none lies beside the database that this user reads.
        private func faultOfKey(in engine: any SQLEngine) async throws -> ServerFailure? {
            guard let path = try? place.keyPath(), let setup = try await ServiceSetup.read(from: engine) else {
                return nil
            }
            do throws(ServerFailure) {
                let key = try ServerKey.read(at: path)
                guard key.publicKey != setup.server.key else { return nil }
                return ServerFailure(
                    .forked, "the server key \(path) belongs to another service than that in \(place.shown)")
            } catch {
                return place.serverKey != nil || [.notFound, .altered].contains(error.error) ? error : nil
            }
        }
    }

    /// A service that does not listen.
    enum StoredService {
        /// Opens the database of a service.
        ///
        /// - Throws: ``ServerFailure``.
        static func open(
            _ place: StoreOptions, migrating: Bool = true, verifyingUpTo byteCount: Int64 = 1 << 30
        ) async throws -> (Service, any SQLEngine) {
            let engine = try await place.open(creating: false, migrating: migrating, verifyingUpTo: byteCount)
            return (try Service(engine: engine, settings: try await settings(of: engine, place)), engine)
        }

        /// Opens the database of a service, and the file of revocations, for a command that revokes something.
        ///
        /// - Throws: ``ServerFailure``.
        static func open(
            _ place: StoreOptions, noting revocations: RevokedLogOptions
        ) async throws -> (Service, any SQLEngine, RevokedLog) {
            let engine = try await place.open(creating: false, migrating: false, verifyingUpTo: 0)
            var settings = try await settings(of: engine, place)
            let log = try await revocations.open(of: settings.server.id(), place, engine, by: .another)
            try await revocations.checkLast(log, place, engine)
            settings.revocations = log
            return (try Service(engine: engine, settings: settings), engine, log)
        }

        private static func settings(of engine: any SQLEngine, _ place: StoreOptions) async throws -> ServiceSettings {
            guard let setup = try await ServiceSetup.read(from: engine) else {
                throw ServerFailure(
                    .notFound, "there is no service in \(place.shown): make one with tresor-server init")
            }
            return setup.settings(policy: setup.policy) { UInt64(CalendarTime.now.seconds) }
        }

        /// The failure of a command that revokes something. Once that stands in the file of revocations, nobody knows what
        /// became of it: it is done, or the next start does it.
        ///
        /// - Parameters:
        ///   - nothing: the words for a command that did nothing.
        ///   - perhaps: the words for one that may have done it.
        ///   - list: the command that shows what is so.
        static func failure(
            _ error: TresorError, after log: RevokedLog, _ nothing: String, _ perhaps: String, list: String
        ) -> ServerFailure {
            let reason =
                switch error {
                case .noAccess: "it has changed in between"
                case .failed(.notNoted) where log.isDamaged: "the file of revocations is damaged: \(RevokedLog.wayOut)"
                case .failed(.notNoted):
                    "the file of revocations cannot be written, or a service that starts now has put a newer one in its "
                        + "place; look at its directory"
                default: ServerFailure(error).message
                }
            guard log.hasWritten else {
                return ServerFailure(error, "\(nothing): \(reason); look at \(list), and try again")
            }
            return ServerFailure(
                error,
                "\(perhaps), now or at the next start of the service: \(reason); look at \(list), and run it again")
        }

        /// Writes a line of the log to standard error. It names nobody.
        static func report(_ event: LogLine.Event, _ level: LogLine.Level = .info, reason: String? = nil) {
            Report(logsSources: false) { StandardError.write($0.text) }.say(event, level, reason: reason)
        }
    }

    extension CheckReport {
        /// Whether nothing is wrong but that blobs are not there, which people put again.
        fileprivate var lacksBlobsAlone: Bool {
            logins.isEmpty
                && findings.allSatisfy { finding in
                    if case .blobs = finding.fault { true } else { false }
                }
        }
    }

    extension CheckReport.Finding {
        /// The sentence that tells the operator what was found.
        fileprivate var sentence: String {
            let reason =
                switch fault {
                case .log: "the entries do not fold"
                case .end: "the row of the tresor names another end or founder"
                case .access(let count): "access differs for \(count) people"
                case .wraps(let count): "\(count) members lack the wrap of the epoch"
                case .size: "the row of the tresor names another size"
                case .blobs(let count):
                    (count == 1
                        ? "1 pack, attachment or volume is" : "\(count) packs, attachments or volumes are")
                        + " not there: a member runs tresor check --repair -t \(id), and "
                        + "puts the contents that it names again; then an owner runs tresor compact -t \(id)"
                }
            return "tresor \(id): \(reason)"
        }

        /// The id as the commands of people show it.
        private var id: Substring { tresor.description.prefix(10) }
    }
#endif
