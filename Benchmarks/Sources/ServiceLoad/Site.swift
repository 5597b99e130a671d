// SPDX-License-Identifier: Apache-2.0

import CBaseline
import CWire
import Foundation
import TresorSQLite

@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// The programs under measurement, the peers, and a directory for everything.
struct Site: Sendable {
    let directory: String
    let tresor: String
    let server: String
    /// The directory of the socket of PostgreSQL, and that of its programs.
    let postgres: String
    let postgresPrograms: String
    /// The program before it spoke with services; `nil` if it is not here.
    let earlierTresor: String?
    /// The ports of the peers; `nil` for one that is not installed.
    let etcd: Int?
    let kinto: Int?

    init?(_ directory: String) {
        let variables = ProcessInfo.processInfo.environment
        guard let tresor = variables["BENCHMARK_TRESOR"], let server = variables["BENCHMARK_SERVER"],
            let postgres = variables["BENCHMARK_POSTGRES"], let programs = variables["BENCHMARK_POSTGRES_PROGRAMS"]
        else { return nil }
        self.directory = directory
        self.tresor = tresor
        self.server = server
        self.postgres = postgres
        postgresPrograms = programs
        earlierTresor = variables["BENCHMARK_TRESOR_BEFORE"].flatMap { $0.isEmpty ? nil : $0 }
        etcd = variables["BENCHMARK_ETCD"].flatMap { Int($0) }
        kinto = variables["BENCHMARK_KINTO"].flatMap { Int($0) }
    }

    /// The seconds since 1970.
    static let clock: @Sendable () -> UInt64 = { UInt64(time(nil)) }

    /// Makes an empty database of PostgreSQL, and returns its location.
    func database(_ name: String) throws -> String {
        try Self.run([postgresPrograms + "/createdb", "-h", postgres, "-U", "tresor", name])
        return "postgresql://tresor@/\(name)?host=\(postgres)"
    }

    /// Changes the database of a service: the path of an SQLite file, or the location of a database of PostgreSQL.
    func change(_ store: String, _ statement: String) throws {
        let isPostgres = store.contains("://")
        try Self.run(
            isPostgres
                ? [postgresPrograms + "/psql", "-q", "-d", store, "-c", statement]
                : ["/usr/bin/sqlite3", store, statement])
    }

    /// Makes a directory.
    func folder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: "\(directory)/\(name)", withIntermediateDirectories: true)
        return "\(directory)/\(name)"
    }

    /// Runs a program to its end, and returns its standard output.
    @discardableResult static func run(_ words: [String], environment: [String: String]? = nil) throws -> String {
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

    /// Runs a program without input and output, as quickly as it starts.
    static func runQuickly(_ words: [String], environment: [String: String]) throws {
        var arguments = words.map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        let code = baseline_run(&arguments, &variables, nil)
        guard code == 0 else { throw LoadFailure("\(words.joined(separator: " ")) ended with \(code)") }
    }

    /// Does the part of a measurement during which nothing else may run, if `BENCHMARK_LOCK` names a file to lock.
    static func alone<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard let path = ProcessInfo.processInfo.environment["BENCHMARK_LOCK"] else { return try await body() }
        let lock = wire_lock(path)
        defer { close(lock) }
        return try await body()
    }

    /// A certificate for loopback, and its key.
    func certificate() throws -> (certificate: String, key: String) {
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

/// A running service.
final class Server: Sendable {
    /// Limits of an account that no measurement reaches.
    static let wideLimits = [
        "--quota-requests", "1000000", "--quota-entries", "10000000", "--quota-bytes", "1000000000000",
    ]

    let port: Int
    let processNumber: Int32
    private let process: Process
    private let log: String

    /// Makes a service from an embedded store, where everybody with a card gets an account, and runs it.
    ///
    /// - Parameters:
    ///   - store: the path of an SQLite file, or the location of a database of PostgreSQL.
    ///   - limits: options that set limits; none for those of every service.
    convenience init(
        _ name: String, on store: String, from embedded: String, operator card: String, isSecure: Bool,
        limits: [String] = Server.wideLimits, in site: Site
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
    var requestCount: Int {
        get throws {
            try String(contentsOfFile: log, encoding: .utf8).components(separatedBy: "\"event\":\"request\"").count - 1
        }
    }

    /// The seconds of processor time that it has used.
    var processorTime: Double {
        get throws {
            let line = try String(contentsOfFile: "/proc/\(processNumber)/stat", encoding: .utf8)
            let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ")
            return fields[12...13].reduce(0) { $0 + (Double($1) ?? 0) } / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
    }

    /// The most memory that it has had in bytes, and the present.
    var memory: (peak: Double, present: Double) {
        get throws {
            let text = try String(contentsOfFile: "/proc/\(processNumber)/status", encoding: .utf8)
            func value(_ name: String) -> Double {
                guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return 0 }
                return (Double(line.split(whereSeparator: \.isWhitespace)[1]) ?? 0) * 1024
            }
            return (value("VmHWM:"), value("VmRSS:"))
        }
    }

    /// The address of the service, for connections.
    func route(certificates: String? = nil) throws -> Route {
        let address = try ServiceAddress("\(certificates == nil ? "http" : "https")://127.0.0.1:\(port)")
        let context = try certificates.map { try TLSContext(Authorities(named: $0)) }
        return Route(address: address, proxy: nil, context: context)
    }

    /// The service that sessions are for.
    struct Addressee {
        let server: Hash256
        let audience: Hash256
    }

    /// The id of the service, and its address.
    func id(over route: Route) throws -> Addressee {
        let answer = try Connection(to: route, for: ExchangeControl()).ask(
            ServerRequest.operation, ServerRequest().bytes, nil)
        return Addressee(
            server: try ServerAnswer(answer.body).server.id(), audience: try route.address.audience.hash())
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    deinit { if process.isRunning { stop() } }
}

extension Connection {
    /// Sends one request.
    func ask(_ operation: ServiceOperation, _ body: [UInt8], _ authorization: String?) throws -> TransportAnswer {
        let request = TransportRequest(
            target: "/v1/\(operation.rawValue)", authorization: authorization, body: body, timeout: .seconds(60),
            maximumAnswerByteCount: ServiceOperation.maximumAnswerByteCount)
        return try ask(request)
    }

    func ask(_ request: TransportRequest) throws -> TransportAnswer {
        let (answer, isReusable) = try exchange(request, host: "127.0.0.1")
        guard answer.status == 200, isReusable else {
            throw LoadFailure("\(request.target) is answered with \(answer.status)")
        }
        return answer
    }
}
