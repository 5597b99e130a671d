// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import TresorCore
    import TresorCrypto
    import TresorService
    import TresorStore

    /// The file of revocations of a service, which no backup must undo.
    struct RevokedLogOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Write down what is revoked in this file; it is server.key.revoked, by the name of the server key, beside "
                    + "an SQLite file, or else beside the key.",
                valueName: "file"))
        var revokedLog: String?

        /// The path of the file.
        ///
        /// - Throws: ``ServerFailure`` if the arguments name no server key.
        func path(_ place: StoreOptions) throws(ServerFailure) -> String {
            if let revokedLog { return revokedLog }
            return try place.revokedPath()
        }

        /// Opens the file. The first process of a service makes it. If it is missing later, the database may come from a
        /// backup, and what was revoked since would hold again.
        ///
        /// - Parameters:
        ///   - server: the id of the service.
        ///   - opener: the command that opens it.
        ///   - creating: whether to make a missing one even so.
        /// - Throws: ``ServerFailure``, and the errors of the engine.
        func open(
            of server: Hash256, _ place: StoreOptions, _ engine: any SQLEngine, by opener: Opener,
            creating: Bool = false
        ) async throws -> RevokedLog {
            let path = try path(place)
            let isBegun = try await ServiceSetup.notesRevocations(in: engine)
            let isMade = creating || !isBegun
            let log: RevokedLog
            do throws(TresorError) {
                log = try RevokedLog.open(at: path, of: server, creating: isMade)
            } catch {
                let words = opener.words(for: error, isMade: isMade)
                throw ServerFailure(error, "cannot open the file of revocations \(path): \(words)")
            }
            if !isBegun { try await ServiceSetup.beginRevocations(in: engine) }
            return log
        }

        /// Takes out of the database what was revoked, as a start of the service does: the database may come from a backup.
        /// A service that never ran has revoked nothing, unless there is a file.
        ///
        /// - Throws: ``ServerFailure``, and the errors of the engine.
        func takeBack(from service: Service, _ place: StoreOptions, _ engine: any SQLEngine) async throws {
            if try await !ServiceSetup.notesRevocations(in: engine) {
                let path = try path(place)
                guard FileIdentity(path: path) != nil else {
                    return print(
                        "read no file of revocations: there is none at \(path); if the service ever ran, name the file that "
                            + "it used with --revoked-log")
                }
            }
            let log = try await open(of: service.id, place, engine, by: .another)
            try await Opener.another.takeBack(log, from: service, in: place)
        }

        /// The command that opens the file. It says what helps when it cannot.
        enum Opener: Sendable {
            /// `run`, which may begin again without the file. That loses much.
            case run
            /// A command beside it, whose operator may have left out an option of `run`.
            case another

            /// Takes out of the database what a file names.
            ///
            /// - Throws: ``ServerFailure``, which tells a fault of the file from one of the database.
            func takeBack(
                _ log: RevokedLog, from service: Service, in place: StoreOptions
            ) async throws(ServerFailure) {
                var isOfFile = true
                do throws(TresorError) {
                    try await log.read { (revocations) throws(TresorError) in
                        isOfFile = false
                        try await service.apply(revocations)
                        isOfFile = true
                    }
                } catch {
                    guard isOfFile else {
                        let reason =
                            switch error {
                            case .store(.full): "no space left; make room on its disk, and start this again"
                            case .store(let fault): fault.rawValue
                            default: ServerFailure(error).message
                            }
                        throw ServerFailure(
                            error, "cannot take what was revoked out of the database \(place.shown): \(reason)")
                    }
                    throw ServerFailure(error, "cannot read the file of revocations: \(words(for: error))")
                }
            }

            /// The reason why a file cannot be opened or read, and what to do.
            ///
            /// - Parameter isMade: whether a missing one is made.
            func words(for error: TresorError, isMade: Bool = false) -> String {
                switch (error, self) {
                case (.notFound, _) where isMade:
                    "its directory is missing; make it, or name another place with --revoked-log"
                case (.notFound, .run):
                    "it is missing; restore it from where the service ran, or name it with --revoked-log if it lies "
                        + "elsewhere; start once with --restored only if it is lost"
                case (.notFound, .another): "it is missing; \(Self.fileOfRun)"
                case (.altered, .run):
                    "it is damaged, or no file of revocations; name it with --revoked-log if it lies elsewhere, or restore "
                        + "a copy of it; only if there is none, move it away and start once with --restored"
                case (.altered, .another): "it is damaged, or no file of revocations; \(Self.fileOfRun)"
                case (.forked, _):
                    "it belongs to another service, which needs it: leave it there, and name the file of this one with "
                        + "--revoked-log"
                case (.unsupported, _): "a newer release wrote into it; install that release again"
                case (.failed(.readOnly), _) where isMade, (.failed(.notNoted), _) where isMade:
                    "look at its directory, and who owns both, or name another with --revoked-log"
                case (.failed(.readOnly), .run), (.failed(.notNoted), .run):
                    "look at its directory, and who owns both; run this as that user"
                case (.failed(.readOnly), .another), (.failed(.notNoted), .another):
                    "run this as the user of the service; \(Self.fileOfRun)"
                case (.store(let fault), _): fault.rawValue
                default: ServerFailure(error).message
                }
            }

            fileprivate static let fileOfRun =
                "name the file that run uses, with the same --revoked-log or --server-key as there"
        }
    }

    /// The file that counts. A start of the service notes its number in the file that it uses, and in the database.
    extension RevokedLogOptions {
        /// Notes a start, when the file was read. On a full disk, where people only read, the number before stays.
        ///
        /// - Throws: ``ServerFailure``, and the errors of the engine.
        func noteStart(_ log: RevokedLog, _ place: StoreOptions, _ engine: any SQLEngine) async throws {
            let last = try await ServiceSetup.lastStart(in: engine) ?? 0
            let newest = try await log.starts().max() ?? 0
            if newest > 0, Self.count(of: newest) < Self.count(of: last), case .sqlite = try place.place() {
                StandardError.write(
                    "tresor-server: \(try path(place)) is older than the file of revocations with which the service last "
                        + "started, and lacks what was revoked then; if that one lies elsewhere, name it with "
                        + "--revoked-log\n")
            }
            // Two copies of a file can have the same count of starts.
            var mark = ByteDecoder(try randomBytes(4))
            let number = (Self.count(of: max(last, newest)) + 1) << 32 | UInt64(try mark.integer(UInt32.self))
            do throws(TresorError) {
                try log.append(.start(number))
            } catch {
                guard error != .store(.full) else { return }
                let words = Opener.run.words(for: error)
                throw ServerFailure(error, "cannot write the file of revocations \(try path(place)): \(words)")
            }
            do throws(TresorError) {
                try await ServiceSetup.noteStart(number, in: engine)
            } catch {
                guard error == .store(.full) else { throw error }
            }
        }

        /// Refuses a file that no later start of the service need read. A process on another machine may have started last,
        /// with a copy of its own: the file that a process uses counts too where the database takes several.
        ///
        /// - Throws: ``ServerFailure``, and the errors of the engine.
        func checkLast(_ log: RevokedLog, _ place: StoreOptions, _ engine: any SQLEngine) async throws {
            guard let last = try await ServiceSetup.lastStart(in: engine) else { return }
            if log.isShared, case .postgres = try place.place() { return }
            // The record that cannot be written says what a damaged file needs.
            guard (try? await log.contains(.start(last))) == false else { return }
            throw ServerFailure(
                .forked,
                "the service last started with another file of revocations than \(try path(place)): \(Opener.fileOfRun); "
                    + "behind a restore, start the service first")
        }

        private static func count(of start: UInt64) -> UInt64 { start >> 32 }
    }

    extension RevokedLog {
        /// The numbers of the starts that stand there.
        fileprivate func starts() async throws(TresorError) -> [UInt64] {
            var starts: [UInt64] = []
            try await read { (page) throws(TresorError) in
                for case .start(let number) in page { starts.append(number) }
            }
            return starts
        }
    }
#endif
