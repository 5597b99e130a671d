// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import TestSupport
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
        private let output: Pipe
        /// The directory of the socket.
        let directory: String
        private let databaseCount = Atomic(0)

        /// Starts a cluster and waits until it answers.
        ///
        /// - Parameters:
        ///   - options: more arguments of `postgres`.
        ///   - disk: the size of a disk of its own, as `mount` takes it; root alone mounts one. `nil` for none.
        init(options: [String] = [], disk: String? = nil) throws {
            guard let programs = Self.programs else { throw TresorError.notFound }
            let script = """
                set -e
                bin=$1; shift
                directory=$(mktemp -d /tmp/tresor-postgres.XXXXXX)
                trap 'rm -rf "$directory"' EXIT
                cd "$directory"
                "$bin/initdb" -D data -A trust -U tresor --no-sync -E UTF8 --locale C >log 2>&1
                start() {
                    for second in $(seq 600); do
                        kill -0 $pid 2>>log || {
                            "$bin/postgres" -D "$directory/data" -k "$directory" -c listen_addresses= \
                                -c max_connections=400 "$@" >>log 2>&1 </dev/null &
                            pid=$!
                        }
                        sleep 0.1
                        "$bin/pg_isready" -q -h "$directory" && { echo "$directory"; return; }
                    done
                    cat log >&2
                    exit 1
                }
                chmod 711 "$directory"
                pid=none
                start "$@"
                while read -r again; do
                    wait $pid || true
                    start "$@"
                done
                kill -INT $pid
                wait $pid || true
                """
            let isRoot = getuid() == 0
            process = Process()
            let mounting = disk.map {
                [
                    "/usr/bin/unshare", "-m", "/bin/sh", "-c",
                    "mount -t tmpfs -o size=\($0),mode=1777 none /tmp && exec \"$@\"", "sh",
                ]
            }
            let user = isRoot ? ["/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
            let words = (mounting ?? []) + user + ["/bin/sh", "-c", script, "sh", programs] + options
            process.executableURL = URL(fileURLWithPath: words[0])
            process.arguments = Array(words.dropFirst())
            process.currentDirectoryURL = URL(fileURLWithPath: "/")
            input = Pipe()
            output = Pipe()
            process.standardInput = input
            process.standardOutput = output
            try process.start()
            let line = try Self.line(from: output)
            guard line.hasPrefix("/") else { throw TresorError.store(.other) }
            // The disk is mounted for its programs alone; this is the way to it from outside.
            directory = (disk == nil ? "" : "/proc/\(process.processIdentifier)/root") + line
        }

        private static func line(from output: Pipe) throws -> String {
            var line: [UInt8] = []
            while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
            return String(decoding: line, as: UTF8.self)
        }

        /// Starts PostgreSQL again after somebody has killed it, and waits until it answers.
        func restart() throws {
            try input.fileHandleForWriting.write(contentsOf: [10])
            guard try directory.hasSuffix(Self.line(from: output)) else { throw TresorError.store(.other) }
        }

        /// The process that started the others, in whose mounts they live.
        var id: pid_t { process.processIdentifier }

        /// The process ids of PostgreSQL: the first is that of the postmaster, the others come from it.
        var processes: [pid_t] {
            let note = try? String(contentsOfFile: directory + "/data/postmaster.pid", encoding: .utf8)
            guard let postmaster = note?.split(separator: "\n").first.flatMap({ pid_t($0) }) else { return [] }
            let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { pid_t($0) } ?? []
            return [postmaster]
                + all.filter { process in
                    let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
                    // The name stands in brackets, and may hold blanks: "1 (a b) S 2 …".
                    let fields = status?.split(separator: ")").last?.split(separator: " ")
                    return fields.flatMap { $0.count > 1 ? pid_t($0[1]) : nil } == postmaster
                }.sorted()
        }

        /// Those of which one may end at any time, and PostgreSQL recovers. If the one that recovers is ended,
        /// PostgreSQL stops by its own rule, and an operator has to start it.
        var endableProcesses: [pid_t] {
            processes.dropFirst().filter { process in
                let words = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
                // A process that has no title yet may become the one that recovers.
                return words.map { $0.hasPrefix("postgres: ") && !$0.hasPrefix("postgres: startup") } ?? false
            }
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

        /// Creates a database and returns its address, as the program takes it.
        func address() throws -> String { "postgresql:///\(try newName())?host=\(directory)&user=tresor" }

        private func newName() throws -> String {
            let name = "test\(databaseCount.add(1, ordering: .relaxed).newValue)"
            try run("createdb", ["-h", directory, "-U", "tresor", name])
            return name
        }

        /// Runs a program of PostgreSQL.
        private func run(_ program: String, _ arguments: [String]) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "\(Self.programs ?? "")/\(program)")
            process.arguments = arguments
            process.currentDirectoryURL = URL(fileURLWithPath: "/")
            try process.start()
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
