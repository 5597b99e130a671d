// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Musl)
        import Musl
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
            let engine = try await place.open(creating: true)
            guard try await ServiceSetup.read(from: engine) == nil else {
                throw ServerFailure(.failed(.other), "the database \(place.store) holds a service already")
            }
            let key = try ServerKey.draw()
            try key.write(to: keyPath)
            try await OperatorsOffice.open(for: chain, in: engine, at: UInt64(CalendarTime.now.seconds))
            try await ServiceSetup(
                server: Server(key: key.publicKey, memoryKiB: cost.memoryKiB, passes: cost.passes),
                operator: chain.user, policy: policy.applied(to: Policy())
            ).write(to: engine)
            await engine.close()
            try say(chain, keyPath)
        }

        /// Says what is there, and what to do next.
        private func say(_ chain: CardChain, _ keyPath: String) throws {
            print("made a service in \(place.store)")
            print("operator: safety number \(try chain.number().grouped)")
            print("server key: \(keyPath); back it up apart from the database")
            if case .postgres = try? place.place() {
                print(
                    "PostgreSQL does not overwrite what it deletes: deleted shares stay in its log and its backups"
                )
            }
            print("next: tresor-server run \(place.store)")
        }
    }

    /// The card of the operator.
    enum OperatorCard {
        /// Reads a card file, armoured or not.
        ///
        /// - Throws: ``ServerFailure``.
        static func read(_ path: String) throws(ServerFailure) -> CardChain {
            let bytes: [UInt8]?
            do throws(SystemError) {
                bytes = try FileDescriptor(path, O_RDONLY | O_NOCTTY).read(
                    limit: 2 * CardChain.maximumByteCount)
            } catch {
                throw ServerFailure(
                    error.number == ENOENT ? .notFound : .failed(error.fault), "cannot read the card \(path)")
            }
            guard let bytes else { throw ServerFailure(.altered, "\(path) is no card, or is damaged") }
            do throws(TresorError) {
                guard Armour.isArmoured(bytes) else { return try CardChain(bytes) }
                return try CardChain(armoured: bytes)
            } catch {
                throw ServerFailure(error, "\(path) is no card, or is damaged")
            }
        }
    }
#endif
