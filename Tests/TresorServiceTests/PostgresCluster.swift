// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import TresorCore
    import TresorCrypto
    import TresorPostgres

    /// A cluster of PostgreSQL of these tests alone: in a directory of its own, on a Unix socket, with `fsync`.
    ///
    /// A shell starts it, as an unprivileged user if the tests run as root. When the tests end, however they end, the
    /// shell's input closes; it then stops its PostgreSQL by its process id and removes the directory.
    final class PostgresCluster: Sendable {
        /// The directory with the programs of the newest PostgreSQL; `nil` if none is installed.
        static let programs: String? = {
            let root = "/usr/lib/postgresql"
            let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
            let newest = versions.compactMap { Int($0) }.max()
            let path = newest.map { "\(root)/\($0)/bin" }
            guard let path, FileManager.default.isExecutableFile(atPath: "\(path)/initdb") else {
                print("PostgreSQL is not installed: its tests are skipped. scripts/setup postgresql installs it.")
                return nil
            }
            return path
        }()

        /// The cluster that tests share, each with a database of its own.
        static let shared = Mutex<PostgresCluster?>(nil)

        private let process: Process
        private let input: Pipe
        /// The directory of the socket.
        let directory: String
        private let databaseCount = Atomic(0)

        /// Starts a cluster and waits until it answers.
        ///
        /// - Parameter options: more arguments of `postgres`.
        init(options: [String] = []) throws {
            guard let programs = Self.programs else { throw TresorError.notFound }
            let script = """
                set -e
                bin=$1; shift
                directory=$(mktemp -d /tmp/tresor-postgres.XXXXXX)
                trap 'rm -rf "$directory"' EXIT
                cd "$directory"
                "$bin/initdb" -D data -A trust -U tresor --no-sync -E UTF8 --locale C >log 2>&1
                "$bin/postgres" -D "$directory/data" -k "$directory" -c listen_addresses= \
                    -c max_connections=400 "$@" >>log 2>&1 </dev/null &
                pid=$!
                for second in $(seq 300); do
                    "$bin/pg_isready" -q -h "$directory" && break
                    kill -0 $pid || { cat log >&2; exit 1; }
                    sleep 0.1
                done
                chmod 711 "$directory"
                echo "$directory"
                cat >/dev/null
                kill -INT $pid
                wait $pid || true
                """
            let isRoot = getuid() == 0
            process = Process()
            process.executableURL = URL(fileURLWithPath: isRoot ? "/usr/bin/setpriv" : "/bin/sh")
            let user = isRoot ? ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "/bin/sh"] : []
            process.arguments = user + ["-c", script, "sh", programs] + options
            process.currentDirectoryURL = URL(fileURLWithPath: "/")
            input = Pipe()
            let output = Pipe()
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            var line: [UInt8] = []
            while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
            directory = String(decoding: line, as: UTF8.self)
            guard directory.hasPrefix("/") else { throw TresorError.store(.other) }
        }

        deinit { stop() }

        /// Stops the cluster and waits for its end.
        func stop() {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }

        /// Creates a database and returns where it is.
        ///
        /// - Parameters:
        ///   - name: its name; `nil` for one of no meaning.
        ///   - template: the name of a database to copy, to which nobody is connected.
        ///   - options: settings for each connection, such as `-c name=value`.
        func database(
            named name: String? = nil, copying template: String? = nil, options: String = ""
        ) throws -> PostgresLocation {
            let name = name ?? "test\(databaseCount.add(1, ordering: .relaxed).newValue)"
            let copying = template.map { ["-T", $0] } ?? []
            try run("createdb", ["-h", directory, "-U", "tresor"] + copying + [name])
            guard let location = PostgresLocation("dbname=\(name) host=\(directory) user=tresor options='\(options)'")
            else {
                throw TresorError.failed(.other)
            }
            return location
        }

        /// Runs a program of PostgreSQL.
        private func run(_ program: String, _ arguments: [String]) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "\(Self.programs ?? "")/\(program)")
            process.arguments = arguments
            process.currentDirectoryURL = URL(fileURLWithPath: "/")
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw TresorError.store(.other) }
        }

        /// Returns a new database in the cluster that tests share.
        static func newDatabase(
            named name: String? = nil, copying template: String? = nil, options: String = ""
        ) throws -> PostgresLocation {
            let cluster = try shared.withLock { shared in
                let cluster = try shared ?? PostgresCluster()
                shared = cluster
                return cluster
            }
            return try cluster.database(named: name, copying: template, options: options)
        }
    }
#endif
