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
        /// - Throws: ``ServerFailure``.
        static func open(
            _ place: StoreOptions, migrating: Bool = true, verifyingUpTo byteCount: Int64 = 1 << 30
        ) async throws -> (Service, any SQLEngine) {
            let engine = try await place.open(creating: false, migrating: migrating, verifyingUpTo: byteCount)
            guard let setup = try await ServiceSetup.read(from: engine) else {
                throw ServerFailure(
                    .notFound, "there is no service in \(place.shown): make one with tresor-server init")
            }
            let settings = setup.settings(policy: setup.policy) { UInt64(CalendarTime.now.seconds) }
            return (try Service(engine: engine, settings: settings), engine)
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
