// SPDX-License-Identifier: Apache-2.0

import CWire
import Foundation
import Measuring
import Serving
import Synchronization

/// What others do with the same disk: a row of PostgreSQL, a key of etcd, a record of Kinto.
struct Peers {
    /// The content of each row, key and record: as many bytes as an entry.
    private static let content = [UInt8](repeating: 0xA5, count: 320)

    private let site: Site
    private let postgres: Postgres
    private let script: String
    /// The versions of the keys of etcd, one a connection.
    private let versions = Versions()

    private final class Versions: Sendable {
        let all = Mutex<[Int: Int]>([:])
    }

    init(_ site: Site) async throws {
        guard let postgres = site.postgres else { throw LoadFailure("PostgreSQL does not run") }
        self.site = site
        self.postgres = postgres
        script = "\(site.directory)/raw.sql"
        let digits = Self.content.map { String($0, radix: 16) }.joined()
        _ = try site.database("raw")
        try psql("CREATE TABLE raw (id bigint PRIMARY KEY, entry bytea NOT NULL)")
        try psql("ALTER TABLE raw ALTER COLUMN entry SET STORAGE EXTERNAL")
        try Data("\\set id random(1, 9223372036854775806)\nINSERT INTO raw VALUES (:id, '\\x\(digits)');\n".utf8)
            .write(to: URL(filePath: script))
        guard let kinto = site.kinto else { return }
        for path in ["/v1/buckets/plans", "/v1/buckets/plans/collections/entries"] {
            let status = try PeerConnection(kinto).put(path, headers: [Self.authorization], body: "{}").status
            guard (200...201).contains(status) else { throw LoadFailure("Kinto answers with \(status)") }
        }
    }

    private func psql(_ text: String) throws {
        try Site.run(postgres.command("psql", ["-q", "raw", "-c", text]))
    }

    /// Transactions of one INSERT, by pgbench with prepared statements.
    ///
    /// A program that this one starts gets no alarm signal, by which pgbench ends after a time. It counts instead.
    func raw(connections: Int, seconds: Double) throws -> Throughput {
        let count = Int(seconds * 150)
        let text = try Site.run(
            postgres.command(
                "pgbench",
                ["-n", "-M", "prepared", "-c", "\(connections)", "-j", "2", "-t", "\(count)", "-f", script, "raw"]))
        guard let start = text.range(of: "tps = "), let rate = Double(text[start.upperBound...].prefix { $0 != " " })
        else { throw LoadFailure("pgbench says nothing") }
        return Throughput(count: count * connections, seconds: Double(count * connections) / rate)
    }

    /// Transactions that compare the version of a key and put the next; `nil` without etcd.
    func etcd(connections: Int, seconds: Double) async throws -> Throughput? {
        guard let port = site.etcd else { return nil }
        let value = Data(Self.content).base64EncodedString()
        let versions = versions
        return try await rate(connections, seconds) { number, _ in
            let key = Data("log \(number)".utf8).base64EncodedString()
            let version = versions.all.withLock { $0[number, default: 0] }
            let body = """
                {"compare":[{"key":"\(key)","target":"VERSION","version":"\(version)"}],\
                "success":[{"requestPut":{"key":"\(key)","value":"\(value)"}}]}
                """
            return Ask(port: port, method: "POST", path: "/v3/kv/txn", headers: [], body: body) { answer in
                versions.all.withLock { $0[number] = version + 1 }
                return answer.status == 200 && answer.body.contains("\"succeeded\":true")
            }
        }
    }

    /// Records that are put if there is none; `nil` without Kinto.
    func kinto(connections: Int, seconds: Double) async throws -> Throughput? {
        guard let port = site.kinto else { return nil }
        let value = Data(Self.content).base64EncodedString()
        return try await rate(connections, seconds) { _, _ in
            let path = "/v1/buckets/plans/collections/entries/records/\(UUID().uuidString.lowercased())"
            let headers = [Self.authorization, "If-None-Match: *"]
            let body = "{\"data\":{\"entry\":\"\(value)\"}}"
            // Kinto refuses what two write in one moment (409); a client sends it again.
            return Ask(port: port, method: "PUT", path: path, headers: headers, body: body) {
                $0.status == 409 ? nil : $0.status == 201
            }
        }
    }

    private static let authorization = "Authorization: Basic YW5uYTphbm5h"

    /// A request, and how to see that it was done.
    private struct Ask {
        let port: Int
        let method: String
        let path: String
        let headers: [String]
        let body: String
        /// Whether it was done; `nil` for one that has to be sent again.
        let isDone: (PeerConnection.Answer) -> Bool?
    }

    private func rate(
        _ connections: Int, _ seconds: Double, _ ask: @escaping @Sendable (Int, Int) -> Ask
    ) async throws -> Throughput {
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let counts = try await onThreads(connections) { number in
            var count = 0
            var connection: PeerConnection?
            while ContinuousClock.now < end {
                let ask = ask(number, count)
                let used = try connection ?? PeerConnection(ask.port)
                connection = used
                let answer = try used.ask(ask.method, ask.path, headers: ask.headers, body: ask.body)
                switch ask.isDone(answer) {
                case true?: count += 1
                case nil: continue
                case false?: throw LoadFailure("\(ask.path) is answered with \(answer.status) \(answer.body)")
                }
            }
            return count
        }
        return Throughput(count: counts.reduce(0, +), seconds: Measure.seconds(ContinuousClock.now - start))
    }
}

/// So many things that were done in so many seconds.
struct Throughput {
    let count: Int
    let seconds: Double

    /// The seconds for each.
    var each: Double { seconds / Double(max(1, count)) }
}

/// A connection to another service of this machine, in plain HTTP/1.1.
final class PeerConnection {
    struct Answer {
        let status: Int
        let body: String
    }

    private let descriptor: Int32

    init(_ port: Int) throws {
        descriptor = wire_connect(Int32(port))
        guard descriptor >= 0 else { throw LoadFailure("nobody listens on port \(port)") }
    }

    deinit { close(descriptor) }

    func put(_ path: String, headers: [String], body: String) throws -> Answer {
        try ask("PUT", path, headers: headers, body: body)
    }

    func ask(_ method: String, _ path: String, headers: [String], body: String) throws -> Answer {
        let lines =
            ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"] + headers
            + ["Content-Length: \(body.utf8.count)", "", body]
        let (status, bytes) = try exchange(Array(lines.joined(separator: "\r\n").utf8))
        return Answer(status: status, body: String(decoding: bytes, as: UTF8.self))
    }

    /// Sends the bytes of a request, and returns the status and the body of its answer.
    func exchange(_ request: [UInt8]) throws -> (status: Int, body: [UInt8]) {
        var count = 16 << 10
        var status: Int32 = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { memory, used in
            status = wire_exchange(descriptor, request, request.count, memory.baseAddress, &count)
            used = status < 0 ? 0 : count
        }
        guard status > 0 else { throw LoadFailure("a request is not answered") }
        return (Int(status), bytes)
    }
}
