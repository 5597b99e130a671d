// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A running service.
package final class RunningServer: Sendable {
    /// Limits of an account that no measurement reaches.
    package static let wideLimits = [
        "--quota-tresors", "10000", "--quota-entries", "10000000", "--quota-bytes", "1000000000000",
        "--quota-requests", "1000000",
    ]

    package let port: Int
    package let processNumber: Int32
    private let process: Process
    private let log: String

    /// Makes a service from an embedded store, where everybody with a card gets an account, and runs it.
    ///
    /// - Parameters:
    ///   - store: the path of an SQLite file, or the location of a database of PostgreSQL.
    ///   - limits: options that set limits; none for those of every service.
    package convenience init(
        _ name: String, on store: String, from embedded: String, operator card: String, isSecure: Bool,
        limits: [String] = RunningServer.wideLimits, in site: Site
    ) throws {
        let key = "\(site.directory)/\(name).key"
        try Site.run([site.server, "init", store, "--server-key", key, "--operator", card])
        try Site.run([site.server, "import", store, embedded, "--server-key", key, "--yes"])
        try site.change(store, "UPDATE accounts SET state = 3 WHERE state = 2")
        try self.init(name, on: store, isSecure: isSecure, limits: limits, in: site)
    }

    /// Runs a service that was made before.
    private init(_ name: String, on store: String, isSecure: Bool, limits: [String], in site: Site) throws {
        log = "\(site.directory)/\(name).log"
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        process = Process()
        process.executableURL = URL(filePath: site.server)
        var arguments = [
            "run", store, "--server-key", "\(site.directory)/\(name).key", "--listen", "127.0.0.1:0",
            "--revoked-log", "\(site.directory)/\(name).revoked",
        ]
        arguments += limits
        if isSecure {
            let files = try site.certificate()
            arguments += ["--certificate", files.certificate, "--key", files.key]
        }
        process.arguments = arguments
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.run()
        processNumber = process.processIdentifier
        port = try Self.port(in: log, of: process)
    }

    private static func port(in log: String, of process: Process) throws -> Int {
        for _ in 0..<1000 where process.isRunning {
            let text = try String(contentsOfFile: log, encoding: .utf8)
            if let start = text.range(of: "\"port\":") {
                return Int(text[start.upperBound...].prefix { $0.isNumber }) ?? 0
            }
            usleep(20_000)
        }
        throw LoadFailure("the service does not start: \(log)")
    }

    /// The number of requests that were answered.
    package var requestCount: Int {
        get throws {
            try String(contentsOfFile: log, encoding: .utf8).components(separatedBy: "\"event\":\"request\"").count - 1
        }
    }

    /// The seconds of processor time that it has used.
    package var processorTime: Double {
        get throws {
            guard let times = ProcessTimes(of: processNumber) else { throw LoadFailure("the service does not run") }
            return times.own
        }
    }

    /// The most memory that it has had in bytes, and the present.
    package var memory: (peak: Double, present: Double) {
        get throws {
            let text = try String(contentsOfFile: "/proc/\(processNumber)/status", encoding: .utf8)
            func value(_ name: String) -> Double {
                guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return 0 }
                return (Double(line.split(whereSeparator: \.isWhitespace)[1]) ?? 0) * 1024
            }
            return (value("VmHWM:"), value("VmRSS:"))
        }
    }

    package func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    deinit { if process.isRunning { stop() } }
}
