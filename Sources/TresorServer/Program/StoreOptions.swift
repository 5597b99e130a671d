// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
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
            let form =
                "the database is the path of an SQLite file, as ./NAME.db, or an address postgresql://HOST/NAME "
                + "without blanks"
            guard store.first?.isWhitespace == false, store.last?.isWhitespace == false else { throw .usage(form) }
            guard let mark = store.firstRange(of: "://") else {
                guard Self.isPath(store), StorePath.isMeant(by: store) else { throw .usage(form) }
                return .sqlite(path: store)
            }
            let scheme = store[..<mark.lowerBound].lowercased()
            guard ["postgresql", "postgres"].contains(scheme) else { throw .usage(form) }
            guard let location = PostgresLocation(scheme + store[mark.lowerBound...]) else {
                throw .usage(
                    "the address of the database is none that PostgreSQL understands, or has unusual characters: "
                        + "postgresql://HOST/NAME, with %40 for an @ in a name, and the password in the file that "
                        + "PGPASSFILE names")
            }
            guard !location.hasPassword else {
                throw .usage(
                    "refusing a password in the address of the database: other processes can read arguments; "
                        + "put it into the file that PGPASSFILE names")
            }
            return .postgres(location)
        }

        /// The database, as messages name it.
        var shown: String {
            guard case .postgres(let location) = try? place() else { return store }
            return location.shown
        }

        /// Whether a text is a path rather than a badly written address.
        static func isPath(_ text: String) -> Bool {
            !text.contains("://") && !isConnection(text) && !hasCredentials(text)
        }

        /// Whether a text is in libpq's other form, as in `host=… dbname=…`, well or badly written.
        private static func isConnection(_ text: String) -> Bool {
            let keywords = [
                "host", "hostaddr", "port", "dbname", "user", "password", "passwd", "service", "sslmode", "passfile",
            ]
            return text.split(separator: "=", omittingEmptySubsequences: false).dropLast().contains { piece in
                piece.split(whereSeparator: { $0.isWhitespace || $0 == ";" }).last
                    .map { keywords.contains($0.lowercased()) } ?? false
            }
        }

        /// Whether a text has the credentials of an address, whose beginning is badly written.
        private static func hasCredentials(_ text: String) -> Bool {
            let isPath = text.hasPrefix(".") || text.hasPrefix("/") && !text.hasPrefix("//")
            guard !isPath, let mark = text.firstIndex(of: "@") else { return false }
            return text[..<mark].contains(":")
        }

        /// The path of the server key.
        ///
        /// - Throws: ``ServerFailure`` if the arguments name none.
        func keyPath() throws(ServerFailure) -> String {
            if let serverKey { return serverKey }
            guard case .sqlite(let path) = try place() else {
                throw .usage("name the file of the server key: --server-key FILE")
            }
            return Self.path(of: "server.key", beside: path)
        }

        /// The path of the file of revocations, unless the arguments name another: it has the name of the server key, so
        /// that each service has its own, and lies beside an SQLite file, or else beside the key.
        ///
        /// - Throws: ``ServerFailure`` if the arguments name no server key.
        func revokedPath() throws(ServerFailure) -> String {
            let key = try keyPath()
            let name = AtomicFile.split(key).name + ".revoked"
            guard case .sqlite(let path) = try place() else { return Self.path(of: name, beside: key) }
            return Self.path(of: name, beside: path)
        }

        private static func path(of name: String, beside path: String) -> String {
            let directory = AtomicFile.split(path).directory
            return directory == "." ? name : directory + "/" + name
        }

        /// Opens the database.
        ///
        /// - Parameters:
        ///   - migrating: whether its schema is brought to this release, after a copy of an SQLite file; a command that
        ///     only looks refuses another one.
        ///   - byteCount: the size of the largest SQLite file whose pages are compared first, a second or two each GiB
        ///     beside the time to read it.
        /// - Throws: ``ServerFailure``.
        func open(
            creating: Bool, migrating: Bool = true, verifyingUpTo byteCount: Int64 = 1 << 30
        ) async throws(ServerFailure) -> any SQLEngine {
            let place = try place()
            // To open a file makes one beside it.
            let hadLog = place.hasLog
            var isOpen = false
            do throws(TresorError) {
                let engine: any SQLEngine
                switch place {
                case .sqlite(let path): engine = try await SQLiteEngine.open(at: path, creating: creating)
                case .postgres(let location): engine = try await PostgresEngine.open(location)
                }
                isOpen = true
                if let file = engine as? SQLiteEngine { try await file.verify(upTo: byteCount) }
                let version = try await Schema.version(of: engine)
                if migrating {
                    if case .sqlite(let path) = place { try await copy(engine, of: version, at: path) }
                    try await Schema.current.migrate(engine)
                } else {
                    guard version > 0 else { throw .notFound }
                    guard version == Schema.current.version else { throw .store(.schema) }
                }
                return engine
            } catch {
                let words =
                    switch error {
                    case .store(.readOnly) where !isOpen: place.wordsForReadOnly
                    case .store(.damaged) where hadLog: place.wordsForLog
                    default: place.words(for: error)
                    }
                throw ServerFailure(error, "cannot open the database \(shown): \(words)")
            }
        }

        /// Copies a database that an older release made, so that there is a way back to that release.
        private func copy(_ engine: any SQLEngine, of version: Int64, at path: String) async throws(TresorError) {
            guard (1..<Schema.current.version).contains(version), let engine = engine as? SQLiteEngine else { return }
            let copy = StoreOptions.Place.copy(of: path, at: version)
            try await engine.copy(to: copy)
            StandardError.write(
                "tresor-server: copied the database to \(copy), for the way back to the release before\n")
        }

        /// Takes a service in an SQLite file for this process, until the descriptor is closed. A service in PostgreSQL
        /// has any number of processes.
        ///
        /// - Throws: ``ServerFailure`` if another process has it.
        func claim() throws(ServerFailure) -> FileDescriptor? {
            guard case .sqlite = try place() else { return nil }
            let path = try keyPath()
            guard let file = try? FileDescriptor(path, O_RDONLY | O_NOCTTY) else { return nil }
            guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
                throw ServerFailure(
                    .busy, "another tresor-server runs the service in \(shown): stop it, or use PostgreSQL for several")
            }
            return file
        }
    }

    extension StoreOptions.Place {
        /// Why a database that does not even open is not writable, and what to do.
        fileprivate var wordsForReadOnly: String {
            guard case .postgres = self else { return words(for: .store(.readOnly)) }
            return "it is a read-only standby, and no other host of the address can be written; name the primary, or "
                + "all hosts: postgresql://HOST,HOST/NAME"
        }

        /// The copy of an SQLite file with the schema of a release, which a newer one made.
        fileprivate static func copy(of path: String, at version: Int64) -> String { "\(path).schema-\(version)" }

        /// How a database and this release come together again.
        private var wayBack: String {
            let ways =
                "tresor-server run brings an older one to this release; for a newer one install its release again, or"
            if case .sqlite(let path) = self {
                let copy = Self.copy(of: path, at: Schema.current.version)
                if access(copy, F_OK) == 0 {
                    let words = [copy, path].map { ShellWord.quoted($0) }
                    return "\(ways) lose what came since: rm -f \(Self.besides(path)); mv \(words[0]) \(words[1])"
                }
            }
            return "\(ways) restore a backup of before the upgrade"
        }

        /// The files that SQLite keeps beside a database, as words of a shell.
        private static func besides(_ path: String) -> String {
            ["\(path)-wal", "\(path)-shm"].map { ShellWord.quoted($0) }.joined(separator: " ")
        }

        /// Whether SQLite finds commits beside a database that are not in it.
        fileprivate var hasLog: Bool {
            guard case .sqlite(let path) = self else { return false }
            var status = stat()
            return stat("\(path)-wal", &status) == 0 && status.st_size > 0
        }

        /// Why a database is damaged that had commits beside it, and what to do.
        fileprivate var wordsForLog: String {
            guard case .sqlite(let path) = self else { return words(for: .store(.damaged)) }
            return "it is damaged, or no database, or \(path)-wal is not of this file; restore a backup, and first "
                + "remove what belongs to the lost state: rm -f \(Self.besides(path))"
        }

        /// The first file of a database that may not be written; `nil` for none.
        private static func unwritable(_ path: String) -> String? {
            [path, "\(path)-wal", "\(path)-shm"].first { access($0, F_OK) == 0 && access($0, W_OK) != 0 }
        }

        /// Whether a path is that of a directory.
        private static func isDirectory(_ path: String) -> Bool {
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        }

        /// Why a database cannot be opened, and what to do.
        fileprivate func words(for error: TresorError) -> String {
            switch (error, self) {
            case (.notFound, _): "it is missing; make it with tresor-server init"
            case (.busy, _): "another program holds it; try again"
            case (.store(.schema), _):
                "it belongs to another program, or to another release of this one; \(wayBack)"
            case (.store(.damaged), .sqlite(let path)) where Self.isDirectory(path):
                "it is a directory: name the file in it"
            case (.store(.damaged), _): "it is damaged, or no database; restore it from a backup"
            case (.store(.inputOutput), .postgres(let location)):
                "it does not answer, or refuses you\(location.outage.reason.map { ": \($0)" } ?? ""); try the same address "
                    + "with psql, as the user of the service and with its PGPASSFILE"
            case (.store(.readOnly), .postgres): "you may not make tables in it; run this as the role that owns it"
            case (.store(.full), .sqlite(let path)):
                "its disk is full: free at least 1 MiB on the disk of \(AtomicFile.split(path).directory), which SQLite needs "
                    + "to open it, and run this again"
            case (.store(.inputOutput), .sqlite(let path)), (.store(.readOnly), .sqlite(let path)):
                Self.unwritable(path).map {
                    "you may not write \($0): run this as the user of the service, and give the file to that user with chown"
                } ?? "look at its directory, and who owns both; run this as that user"
            case (.store(let fault), _): fault.rawValue
            default: ServerFailure(error).message
            }
        }
    }
#endif
