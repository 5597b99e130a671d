// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import TresorCore
    import TresorCrypto
    import TresorService

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
        ///   - creating: whether to make a missing one even so.
        /// - Throws: ``ServerFailure``, and the errors of the engine.
        func open(
            of server: Hash256, _ place: StoreOptions, _ engine: any SQLEngine, creating: Bool = false
        ) async throws -> RevokedLog {
            let path = try path(place)
            let isBegun = try await ServiceSetup.notesRevocations(in: engine)
            let log: RevokedLog
            do throws(TresorError) {
                log = try RevokedLog.open(at: path, of: server, creating: creating || !isBegun)
            } catch {
                throw ServerFailure(error, "cannot open the file of revocations \(path): \(Self.words(for: error))")
            }
            if !isBegun { try await ServiceSetup.beginRevocations(in: engine) }
            return log
        }

        static func words(for error: TresorError) -> String {
            switch error {
            case .notFound:
                "it is missing; restore it from where the service ran, or start once with --restored if it is lost"
            case .altered:
                "it is damaged, or no file of revocations; restore a copy of it, or if there is none, move it away and "
                    + "start once with --restored"
            case .forked:
                "it belongs to another service, which needs it: leave it there, and name the file of this one with "
                    + "--revoked-log"
            case .failed(.readOnly), .failed(.notNoted):
                "look at its directory, and who owns both, or name another with --revoked-log"
            default: ServerFailure(error).message
            }
        }
    }
#endif
