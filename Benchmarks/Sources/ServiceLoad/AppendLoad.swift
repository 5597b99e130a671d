// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring
import Serving
import TresorSQLite

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// Appending on 16 connections, each to a log of its own, beside what stores of others do with the same disk.
///
/// Generator and service share the cores. So the service is asked as its peers are, by ``PeerConnection``, with requests
/// that were made before; and what the generator itself takes is counted.
struct AppendLoad {
    private static let connectionCount = 16
    private static let rounds = 5
    private static let seconds = 4.0
    /// The entries that each signs beforehand: more than are taken in that time.
    private static let requestCount = 1_600

    private let site: Site

    init(_ site: Site) { self.site = site }

    /// A service, and the people who write to it.
    private struct Writing {
        let name: String
        let server: RunningServer
        let authors: [Author]
        let id: RunningServer.Addressee
        let route: ConnectionTarget
        /// Whether `TresorRemote` sends the requests. Nothing else here speaks TLS.
        let usesClient: Bool
    }

    /// What something took, a number for each turn.
    private struct Times {
        /// The seconds on the clock for each entry, row or record.
        var clock: [Double] = []
        /// The seconds of processor time for each, of the generator, of the service, and of PostgreSQL.
        var generator: [Double] = []
        var service: [Double] = []
        var database: [Double] = []
    }

    func figures() async throws -> [Figure] {
        let (embedded, authors, card) = try await cast()
        let certificates = try site.certificate().certificate
        let clinic = try site.folder("clinic")
        let stores = try [
            ("append", site.database("append"), false, false), ("client", site.database("append_client"), false, true),
            ("tls", site.database("append_tls"), true, true), ("clinic", "\(clinic)/clinic.db", false, false),
        ]
        let services = try stores.map { name, store, isSecure, usesClient in
            let server = try RunningServer(
                name, on: store, from: embedded, operator: card, isSecure: isSecure, in: site)
            let route = try server.route(certificates: isSecure ? certificates : nil)
            return Writing(
                name: name, server: server, authors: authors.map { $0.twin() }, id: try server.id(over: route),
                route: route, usesClient: usesClient)
        }
        let peers = try await Peers(site)
        var times: [String: Times] = [:]
        try await Site.alone {
            for round in 0...Self.rounds {
                // The first round fills caches, and does not count.
                func take(_ name: String, _ done: Throughput?) {
                    guard let done else { return }
                    note("\(name): \(Int(1 / done.each))/s")
                    if round > 0 { times[name, default: Times()].clock.append(done.each) }
                }
                take("raw", try peers.raw(connections: Self.connectionCount, seconds: Self.seconds))
                for service in services {
                    let (done, costs) = try await append(service)
                    take(service.name, done)
                    guard round > 0 else { continue }
                    times[service.name]?.generator.append(costs.generator)
                    times[service.name]?.service.append(costs.service)
                    times[service.name]?.database.append(costs.database)
                }
                let before = Measure.ownProcessorTime
                let etcd = try await peers.etcd(connections: Self.connectionCount, seconds: Self.seconds)
                take("etcd", etcd)
                if let etcd, round > 0 {
                    times["etcd"]?.generator.append((Measure.ownProcessorTime - before) / Double(max(1, etcd.count)))
                }
                take("kinto", try await peers.kinto(connections: Self.connectionCount, seconds: Self.seconds))
            }
        }
        for service in services { service.server.stop() }
        return clockRows(times) + processorRows(times)
    }

    private func clockRows(_ times: [String: Times]) -> [Figure] {
        let raw = "INSERT of one row, pgbench"
        let rows: [(String, String, String, String, Figure.Goal?)] = [
            ("append", "append", "raw", raw, nil),
            ("append", "append", "etcd", "compare and put, etcd", .atLeast(0.7)),
            ("append", "append", "kinto", "PUT If-None-Match, Kinto", .atLeast(10)),
            ("append by TresorRemote", "client", "append", "the same by the generator's client", nil),
            ("append by TresorRemote over TLS", "tls", "client", "without TLS", nil),
            ("append, SQLite", "clinic", "append", "the same on PostgreSQL", nil),
        ]
        return rows.compactMap { work, name, peer, beside, goal in
            guard let time = times[name], let other = times[peer] else { return nil }
            return Figure(
                work: "\(work), \(Self.connectionCount) connections", time: Measure.median(time.clock),
                baseline: beside,
                baselineTime: Measure.median(other.clock), goal: goal)
        }
    }

    /// Where the processor time goes. A generator that takes much of it slows down what it measures.
    private func processorRows(_ times: [String: Times]) -> [Figure] {
        guard let append = times["append"] else { return [] }
        let whole = Measure.median(append.clock) * Double(ProcessInfo.processInfo.activeProcessorCount)
        let parts = [
            ("the service", append.service), ("PostgreSQL", append.database), ("the load generator", append.generator),
        ]
        var figures = parts.map { part, taken in
            Figure(
                work: "append: processor time of \(part)", time: Measure.median(taken),
                baseline: "all cores in the time of one", baselineTime: whole)
        }
        if let etcd = times["etcd"] {
            figures.append(
                Figure(
                    work: "append: processor time of the load generator", time: Measure.median(append.generator),
                    baseline: "the same for compare and put, etcd", baselineTime: Measure.median(etcd.generator)))
        }
        return figures
    }

    /// People with a tresor each, in an embedded store.
    private func cast() async throws -> (store: String, authors: [Author], card: String) {
        let folder = try site.folder("append")
        let store = try await SQLiteStore.open(at: folder + "/embedded.db", creating: true)
        var authors: [Author] = []
        for number in 0..<Self.connectionCount {
            authors.append(try await Author("author \(number)", in: store))
        }
        try Data(authors[0].session.identity.chain.bytes).write(to: URL(filePath: folder + "/operator.card"))
        return (folder + "/embedded.db", authors, folder + "/operator.card")
    }

    /// Signs requests beforehand, and sends them until the time is over.
    ///
    /// - Returns: the entries that were acknowledged, and the seconds of processor time that each took.
    private func append(
        _ service: Writing
    ) async throws -> (Throughput, (generator: Double, service: Double, database: Double)) {
        let (authors, route, id) = (service.authors, service.route, service.id)
        let (port, usesClient) = (service.server.port, service.usesClient)
        let requests = try await onThreads(authors.count) { try authors[$0].requests(Self.requestCount, to: id) }
        let bytes = usesClient ? [] : requests.map { $0.map(\.request.wireBytes) }
        func processorTimes() throws -> (generator: Double, service: Double, database: Double) {
            (Measure.ownProcessorTime, try service.server.processorTime, try site.postgres?.processorTime ?? 0)
        }
        let before = try processorTimes()
        let start = ContinuousClock.now
        let counts = try await onThreads(authors.count) { number in
            if usesClient {
                return try AppendLine.run(requests[number], over: route, seconds: Self.seconds).count
            }
            return try AppendLine.run(bytes[number], to: port, seconds: Self.seconds)
        }
        let done = Throughput(count: counts.reduce(0, +), seconds: Measure.seconds(ContinuousClock.now - start))
        let after = try processorTimes()
        for (number, count) in counts.enumerated() where count > 0 {
            guard count < Self.requestCount else { throw LoadFailure("too few entries were signed beforehand") }
            authors[number].advance(to: requests[number][count - 1].head)
        }
        func each(_ part: Double) -> Double { part / Double(max(1, done.count)) }
        return (
            done,
            (
                each(after.generator - before.generator), each(after.service - before.service),
                each(after.database - before.database)
            )
        )
    }
}
