// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import TresorCrypto
    import TresorPostgres
    import TresorService
    import TresorStore

    /// The database of a service, and its key.
    struct StoreOptions: ParsableArguments {
        @Argument(
            help: ArgumentHelp(
                "The database: the path of an SQLite file, or an address postgresql://…",
                discussion: "Put the password of PostgreSQL into the file that PGPASSFILE names."))
        var store: String

        @Option(
            help: ArgumentHelp(
                "Keep the server key in this file; beside an SQLite file it is server.key.",
                valueName: "file"))
        var serverKey: String?

        /// Where the database is.
        enum Place: Sendable {
            case sqlite(path: String)
            case postgres(PostgresLocation)
        }

        /// Where the database is.
        ///
        /// - Throws: ``ServerFailure`` for an address that libpq does not understand, or that has a password.
        func place() throws(ServerFailure) -> Place {
            guard store.hasPrefix("postgresql://") || store.hasPrefix("postgres://") else {
                return .sqlite(path: store)
            }
            guard let location = PostgresLocation(store) else {
                throw .usage(
                    "the address of the database is none that PostgreSQL understands: postgresql://HOST/NAME")
            }
            guard !location.hasPassword else {
                throw .usage(
                    "refusing a password in the address of the database: other processes can read arguments; "
                        + "put it into the file that PGPASSFILE names")
            }
            return .postgres(location)
        }

        /// The path of the server key.
        ///
        /// - Throws: ``ServerFailure`` if the arguments name none.
        func keyPath() throws(ServerFailure) -> String {
            if let serverKey { return serverKey }
            guard case .sqlite(let path) = try place() else {
                throw .usage("name the file of the server key: --server-key FILE")
            }
            let directory = AtomicFile.split(path).directory
            return directory == "." ? "server.key" : directory + "/server.key"
        }

        /// Opens the database and brings its schema to this release.
        ///
        /// - Throws: ``ServerFailure``.
        func open(creating: Bool) async throws(ServerFailure) -> any SQLEngine {
            let place = try place()
            do throws(TresorError) {
                switch place {
                case .sqlite(let path):
                    let engine = try await SQLiteEngine.open(at: path, creating: creating)
                    try await Schema.current.migrate(engine)
                    return engine
                case .postgres(let location):
                    let engine = try await PostgresEngine.open(location)
                    try await Schema.current.migrate(engine)
                    return engine
                }
            } catch {
                throw ServerFailure(error, "cannot open the database: \(ServerFailure(error).message)")
            }
        }
    }
#endif
