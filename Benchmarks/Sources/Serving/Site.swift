// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring

/// The programs under measurement, the peers, and a directory for everything.
package struct Site: Sendable {
    package let directory: String
    package let tresor: String
    package let server: String
    /// `nil` if it does not run.
    package let postgres: Postgres?
    /// The ports of the peers; `nil` for one that is not installed.
    package let etcd: Int?
    package let kinto: Int?

    /// Takes what `Benchmarks/service` started; `nil` if it did not.
    package init?(_ directory: String) {
        let variables = ProcessInfo.processInfo.environment
        guard let tresor = variables["BENCHMARK_TRESOR"], let server = variables["BENCHMARK_SERVER"],
            let socket = variables["BENCHMARK_POSTGRES"], let programs = variables["BENCHMARK_POSTGRES_PROGRAMS"]
        else { return nil }
        self.directory = directory
        self.tresor = tresor
        self.server = server
        postgres = Postgres(socket: socket, programs: programs)
        etcd = variables["BENCHMARK_ETCD"].flatMap { Int($0) }
        kinto = variables["BENCHMARK_KINTO"].flatMap { Int($0) }
    }

    /// Takes the two programs, without peers and without PostgreSQL.
    package init(_ directory: String, tresor: String, server: String) {
        self.directory = directory
        self.tresor = tresor
        self.server = server
        postgres = nil
        etcd = nil
        kinto = nil
    }

    /// The seconds since 1970.
    package static let clock: @Sendable () -> UInt64 = { UInt64(time(nil)) }

    /// Makes an empty database of PostgreSQL, and returns its location.
    package func database(_ name: String) throws -> String {
        guard let postgres else { throw LoadFailure("PostgreSQL does not run") }
        try Self.run(postgres.command("createdb", [name]))
        return "postgresql://tresor@/\(name)?host=\(postgres.socket)"
    }

    /// Changes the database of a service: the path of an SQLite file, or the location of a database of PostgreSQL.
    package func change(_ store: String, _ statement: String) throws {
        let command =
            store.contains("://")
            ? postgres?.command("psql", ["-q", "-d", store, "-c", statement])
            : ["/usr/bin/sqlite3", store, statement]
        guard let command else { throw LoadFailure("PostgreSQL does not run") }
        try Self.run(command)
    }

    /// Makes a directory.
    package func folder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: "\(directory)/\(name)", withIntermediateDirectories: true)
        return "\(directory)/\(name)"
    }

    /// Runs a program to its end, and returns its standard output.
    @discardableResult package static func run(
        _ words: [String], environment: [String: String]? = nil
    ) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        if let environment { process.environment = environment }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw LoadFailure("\(words.joined(separator: " ")) ended with \(process.terminationStatus)")
        }
        return text
    }

    /// A certificate for loopback, and its key.
    package func certificate() throws -> (certificate: String, key: String) {
        let files = (certificate: "\(directory)/certificate.pem", key: "\(directory)/key.pem")
        guard !FileManager.default.fileExists(atPath: files.key) else { return files }
        try Self.run([
            "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-keyout", files.key, "-out", files.certificate, "-subj", "/CN=loopback", "-days", "2",
            "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
        ])
        return files
    }
}

/// PostgreSQL: the directory of its socket, and that of its programs.
package struct Postgres: Sendable {
    package let socket: String
    package let programs: String

    /// The words that run one of its programs, as its only user.
    package func command(_ program: String, _ words: [String]) -> [String] {
        ["\(programs)/\(program)", "-h", socket, "-U", "tresor"] + words
    }

    /// The seconds of processor time of its processes, those that have ended too.
    package var processorTime: Double {
        get throws {
            let text = try String(contentsOfFile: "\(socket)/data/postmaster.pid", encoding: .utf8)
            guard let first = text.split(separator: "\n").first, let number = Int32(first),
                let parent = ProcessTimes(of: number)
            else { throw LoadFailure("PostgreSQL does not run") }
            let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
            return processes.reduce(parent.own + parent.ofEndedChildren) { sum, process in
                guard let times = ProcessTimes(of: process), times.parent == number else { return sum }
                return sum + times.own
            }
        }
    }
}

/// The seconds of processor time that the kernel counts for a process.
package struct ProcessTimes: Sendable {
    package let parent: Int32
    package let own: Double
    package let ofEndedChildren: Double

    /// - Parameter number: the number of the process; `nil` comes back for one that is not there.
    package init?(of number: Int32) {
        guard let line = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8),
            let name = line.lastIndex(of: ")")
        else { return nil }
        // The fields from the third on, see proc(5).
        let fields = line[name...].split(separator: " ").dropFirst().map { Double($0) ?? 0 }
        guard fields.count > 14 else { return nil }
        let tick = Double(sysconf(Int32(_SC_CLK_TCK)))
        parent = Int32(fields[1])
        own = (fields[11] + fields[12]) / tick
        ofEndedChildren = (fields[13] + fields[14]) / tick
    }
}

/// A reason why nothing can be measured.
package struct LoadFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
