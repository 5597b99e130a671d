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
            discussion: "It changes nothing, and may run beside the service.")

        @OptionGroup var place: StoreOptions

        func run() async throws {
            let (service, engine) = try await StoredService.open(place, migrating: false, verifyingUpTo: .max)
            let report = try await service.check()
            await engine.close()
            for finding in report.findings { print(finding.sentence) }
            print(
                "checked \(report.tresors) tresors with \(report.entries) entries: \(report.findings.count) findings"
            )
            guard report.isClean else {
                throw ServerFailure(
                    .store(.damaged), "the database does not agree with its logs; restore it from a backup")
            }
        }
    }

    /// A service that does not listen.
    enum StoredService {
        /// Opens the database of a service.
        ///
        /// - Parameter revocations: the file of revocations, for a command that revokes something.
        /// - Throws: ``ServerFailure``.
        static func open(
            _ place: StoreOptions, migrating: Bool = true, verifyingUpTo byteCount: Int64 = 1 << 30,
            noting revocations: RevokedLogOptions? = nil
        ) async throws -> (Service, any SQLEngine) {
            let engine = try await place.open(creating: false, migrating: migrating, verifyingUpTo: byteCount)
            guard let setup = try await ServiceSetup.read(from: engine) else {
                throw ServerFailure(
                    .notFound, "there is no service in \(place.shown): make one with tresor-server init")
            }
            var settings = setup.settings(policy: setup.policy) { UInt64(CalendarTime.now.seconds) }
            if let revocations {
                settings.revocations = try await revocations.open(of: setup.server.id(), place, engine)
            }
            return (try Service(engine: engine, settings: settings), engine)
        }

        /// Why a command changed nothing.
        static func words(for error: TresorError) -> String {
            switch error {
            case .noAccess: "it has changed in between; look at the list again"
            case .failed(.notNoted):
                "the file of revocations cannot be written, or a service that starts now has put a newer one in its place; "
                    + "look at its directory, and try again"
            default: ServerFailure(error).message
            }
        }

        /// Writes a line of the log to standard error. It names nobody.
        static func report(_ event: LogLine.Event) {
            Report(logsSources: false) { StandardError.write($0.text) }.say(event)
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
                case .blobs(let count): "\(count) packs, attachments or volumes are not there"
                }
            return "tresor \(Hex.text(tresor.digest.bytes.prefix(8))): \(reason)"
        }
    }
#endif
