// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import TresorCore
    import TresorCrypto
    import TresorService
    import TresorStore

    /// Makes a new service.
    struct InitCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "init",
            abstract: "Make a new service: its database, its key and the account of its operator.",
            discussion: """
                The operator is a person with an identity of their own. They invite and admit people with tresor, from \
                their own machine. The service holds no key of theirs.
                """)

        @OptionGroup var place: StoreOptions

        @Option(
            help: ArgumentHelp(
                "Take this card as that of the operator; tresor card writes it.", valueName: "card"))
        var `operator`: String

        @OptionGroup var policy: PolicyOptions

        @Option(
            name: .customLong("argon2id"),
            help: ArgumentHelp(
                "Ask this memory, in KiB, and so many passes of who logs in with a password. It cannot change later.",
                valueName: "memory,passes"))
        var cost = Argon2idArgument.standard

        func run() async throws {
            guard (try? Argon2id.Cost(memoryKiB: cost.memoryKiB, passes: cost.passes)) != nil else {
                throw ServerFailure.usage(
                    "--argon2id takes 65536 to 4194304 KiB and 3 to 16 passes: 262144,3")
            }
            let chain = try OperatorCard.read(`operator`)
            let keyPath = try place.keyPath()
            do throws(ServerFailure) {
                try ServerKey.checkPlace(keyPath)
            } catch {
                // A service that is there says more than its key.
                throw await isMade ? isThere : error
            }
            let engine = try await place.open(creating: true)
            guard try await ServiceSetup.read(from: engine) == nil else { throw isThere }
            let key = try ServerKey.draw()
            // The key is on the disk before anything names it.
            try key.write(to: keyPath)
            let setup = ServiceSetup(
                server: Server(key: key.publicKey, memoryKiB: cost.memoryKiB, passes: cost.passes),
                operator: chain.user, policy: policy.applied(to: Policy()))
            do throws(TresorError) {
                try await setup.write(to: engine, with: chain, at: UInt64(CalendarTime.now.seconds))
            } catch {
                if let failure = await self.failure(error, of: setup, keyPath, engine) { throw failure }
            }
            await engine.close()
            try say(chain, keyPath)
        }

        /// Removes the key of a service that was not made. After a connection that broke, the database says whether it
        /// was; if it does not, the key stays.
        ///
        /// - Returns: the failure; `nil` if the service was made.
        private func failure(
            _ error: TresorError, of setup: ServiceSetup, _ keyPath: String, _ engine: any SQLEngine
        ) async -> ServerFailure? {
            let reason = ServerFailure(error).message
            let present: ServiceSetup?
            do throws(TresorError) {
                present = try await ServiceSetup.read(from: engine)
            } catch {
                return ServerFailure(
                    error, "\(reason); nobody knows whether the service was made: keep \(keyPath) and try run")
            }
            guard present?.server != setup.server else { return nil }
            unlink(keyPath)
            return present == nil ? ServerFailure(error, "made no service: \(reason)") : isThere
        }

        /// Whether the database is that of a service. Makes none.
        private var isMade: Bool {
            get async {
                guard let engine = try? await place.open(creating: false, migrating: false) else { return false }
                let setup = try? await ServiceSetup.read(from: engine)
                await engine.close()
                return setup != nil
            }
        }

        private var isThere: ServerFailure {
            ServerFailure(
                .failed(.other),
                "the database \(place.shown) holds a service already: run it, or name another database")
        }

        /// Whether everybody may remove and replace what lies in a directory.
        private static func isOpen(_ directory: String) -> Bool {
            var status = stat()
            return stat(directory, &status) == 0 && status.st_mode & 0o1002 == 0o0002
        }

        /// Says what is there, and what to do next.
        private func say(_ chain: CardChain, _ keyPath: String) throws {
            print("made a service in \(place.shown)")
            print("operator: safety number \(try chain.number().grouped)")
            print("server key: \(keyPath); back it up apart from the database")
            let directory = AtomicFile.split(keyPath).directory
            if Self.isOpen(directory) {
                print("everybody on this machine can replace the server key: chmod 700 \(ShellWord.quoted(directory))")
            }
            if case .postgres = try? place.place() {
                print(
                    "PostgreSQL does not overwrite what it deletes: deleted shares stay in its log and its backups"
                )
            }
            let key = place.serverKey.map { " --server-key \(ShellWord.quoted($0))" } ?? ""
            print("next: tresor-server run \(ShellWord.quoted(place.store))\(key)")
        }
    }

    /// The card of the operator, or of an approver.
    enum OperatorCard {
        /// Reads a card file, armoured or not.
        ///
        /// - Parameter person: the one who writes it.
        /// - Throws: ``ServerFailure``.
        static func read(_ path: String, of person: String = "operator") throws(ServerFailure) -> CardChain {
            let bytes: [UInt8]?
            do throws(SystemError) {
                bytes = try FileDescriptor(path, O_RDONLY | O_NOCTTY).read(
                    limit: 2 * CardChain.maximumByteCount)
            } catch {
                throw ServerFailure(
                    error.number == ENOENT ? .notFound : .failed(error.fault),
                    error.number == ENOENT
                        ? "there is no card \(path); the \(person) writes one with tresor card -o \(person).card"
                        : "you cannot read the card \(path)")
            }
            guard var card = bytes else { throw ServerFailure(.altered, "\(path) is no card, or is damaged") }
            do throws(TresorError) {
                if Armour.isArmoured(card) { card = try Armour.card.dearmour(card) }
                return try CardChain(card)
            } catch {
                // Another object, such as a server key, reads as one of a newer release too.
                guard error == .unsupported, card.starts(with: Magic.card.bytes.dropLast()) else {
                    throw ServerFailure(error == .unsupported ? .altered : error, "\(path) is no card, or is damaged")
                }
                throw ServerFailure(error, "\(path) is of a newer release; install that one")
            }
        }
    }
#endif
