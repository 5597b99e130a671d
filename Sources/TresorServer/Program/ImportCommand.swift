// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import TresorCore
    import TresorCrypto
    import TresorService
    import TresorSQLite
    import TresorStore

    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif

    /// Takes an embedded store into a service.
    struct ImportCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Take the store of a file, whole, into a service.",
            discussion: """
                Anybody who could write the file could put cards and logs into it. So the people in its logs are shown \
                with their safety numbers, and get accounts after a yes. Everybody else who has a card in it waits: \
                tresor approve lists them. Nobody gets an account that was closed, or under the handle of somebody else: \
                then the rest is taken. Each log is judged entry by entry. \
                The recovery kits of those who have accounts stay good. What the service has already stays as it is. \
                Each person trusts their devices again with tresor remember.
                """)

        @OptionGroup var place: StoreOptions

        @Argument(help: "The store of a file.")
        var from: String

        @OptionGroup var revocations: RevokedLogOptions

        @Flag(help: "Do not ask.")
        var yes = false

        func run() async throws {
            // An address with a password is not repeated.
            guard StoreOptions.isPath(from) else {
                throw ServerFailure.usage("the store to take is the path of a file")
            }
            let store = try await source()
            let (service, engine) = try await StoredService.open(place)
            try await revocations.takeBack(from: service, place, engine)
            let plan: ImportPlan
            do throws(TresorError) {
                plan = try await service.planImport(of: store)
            } catch {
                throw ServerFailure(error, "took nothing: \(ServerFailure(error).message)")
            }
            try ask(about: plan)
            let report: ImportReport
            do throws(TresorError) {
                report = try await service.importStore(store, by: plan)
            } catch {
                throw ServerFailure(
                    error, "import ended early: \(ServerFailure(error).message); what was taken stays, run it again")
            }
            await engine.close()
            say(report)
            try refuse(plan)
        }

        /// Says what stayed out, and how it comes in.
        private func refuse(_ plan: ImportPlan) throws(ServerFailure) {
            let names = plan.rivals.filter(\.isIn).map { ShownText.name($0.chain.handle) }
            guard !names.isEmpty else { return }
            throw ServerFailure(
                .unverified,
                "stayed out: \(names.joined(separator: ", ")), whose handle somebody else has, and \(plan.left.count) tresors "
                    + "that nobody else owns; they make an identity under another handle; in those that stayed out, in "
                    + "\(from), they share with that one and leave with the former one, and then run this again; in the others, "
                    + "at the service, an owner shares with the new one and revokes the former")
        }

        /// Shows who gets an account, and asks.
        private func ask(about plan: ImportPlan) throws {
            if !plan.closed.isEmpty {
                print("these accounts are closed, or have the handle of one that is; nobody gets one of them:")
                for chain in plan.closed { print("  \(try chain.number().grouped)  \(ShownText.name(chain.handle))") }
            }
            if !plan.rivals.isEmpty {
                print("these people get no account, because somebody else has their handle:")
                for rival in plan.rivals {
                    let (number, other) = (try rival.chain.number().grouped, try rival.other.number().grouped)
                    print("  \(number)  \(ShownText.name(rival.chain.handle)); the other one: \(other)")
                }
            }
            if !plan.left.isEmpty {
                print("these tresors stay out, because such people alone own them:")
                for tresor in plan.left { print("  \(tresor.description.prefix(10))") }
            }
            guard !plan.members.isEmpty else { return }
            print("these people are in logs of \(from), and get accounts:")
            for chain in plan.members { print("  \(try chain.number().grouped)  \(ShownText.name(chain.handle))") }
            try Confirmation.require(
                yes, "Are all of them known to you? ", after: "compare the safety numbers", refusing: "took nothing")
        }

        private func say(_ report: ImportReport) {
            print(
                "took \(report.accounts) accounts, \(report.kitCopies) kit copies, and \(report.tresors) tresors with "
                    + "\(report.entries) entries")
            if report.waiting > 0 { print("\(report.waiting) people wait for the operator: tresor approve") }
            if !report.present.isEmpty { print("the service had \(report.present.count) tresors already") }
            if report.missingBlobs > 0 {
                print("the store lacks \(report.missingBlobs) packs, attachments or volumes that its logs name")
            }
            if report.leftKitCopies > 0 {
                print("left \(report.leftKitCopies) kit copies of people without an account")
            }
            if report.leftWraps > 0 { print("left \(report.leftWraps) wraps that nobody needs") }
        }

        /// Whether a file is the database of a service, by the mark in its head. To open it as one would write into it.
        private func isOfService(_ path: String) -> Bool {
            var head = [UInt8](repeating: 0, count: 72)
            do {
                let file = try FileDescriptor(path, O_RDONLY)
                var bytes = head.mutableSpan
                try file.read(into: &bytes)
            } catch { return false }
            var mark = ByteDecoder(Array(head.suffix(4)))
            return (try? mark.integer(UInt32.self)) == UInt32(bitPattern: SQLiteEngine.applicationID)
        }

        private func source() async throws(ServerFailure) -> SQLiteStore {
            do throws(TresorError) {
                return try await SQLiteStore.open(at: from, creating: false)
            } catch {
                if error == .store(.schema), isOfService(from) {
                    throw ServerFailure(
                        error,
                        "\(from) is the database of a service, and not the store of a file: people move from one service to "
                            + "another by themselves, as docs/SERVER.md says (From SQLite to PostgreSQL)")
                }
                let reason =
                    switch error {
                    case .notFound: "it is missing"
                    case .store(let fault): fault.rawValue
                    default: ServerFailure(error).message
                    }
                throw ServerFailure(error, "cannot open the store \(from): \(reason)")
            }
        }
    }
#endif
