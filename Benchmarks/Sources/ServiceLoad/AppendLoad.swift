// SPDX-License-Identifier: Apache-2.0

import CWire
import Foundation
import Measuring
import TresorSQLite

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// Appending on 16 connections, each to a log of its own, beside what stores of others do with the same disk.
struct AppendLoad {
    private static let connectionCount = 16
    private static let rounds = 5
    private static let seconds = 4.0

    private let site: Site

    init(_ site: Site) { self.site = site }

    /// A service, and the people who write to it.
    private struct Writing {
        let name: String
        let server: Server
        let authors: [Author]
        let id: Server.Addressee
        let route: Route
    }

    func figures() async throws -> [Figure] {
        let (embedded, authors, card) = try await cast()
        let certificates = try site.certificate().certificate
        let clinic = try site.folder("clinic")
        let stores = try [
            ("append", site.database("append"), false), ("tls", site.database("append_tls"), true),
            ("clinic", "\(clinic)/clinic.db", false),
        ]
        let services = try stores.map { name, store, isSecure in
            let server = try Server(name, on: store, from: embedded, operator: card, isSecure: isSecure, in: site)
            let route = try server.route(certificates: isSecure ? certificates : nil)
            return Writing(
                name: name, server: server, authors: authors.map { $0.twin() }, id: try server.id(over: route),
                route: route)
        }
        let peers = try await Peers(site)
        var times: [String: [Double]] = [:]
        try await Site.alone {
            for round in 0...Self.rounds {
                // The first round fills caches, and does not count.
                func take(_ name: String, _ rate: Double?) {
                    guard let rate else { return }
                    note("\(name): \(Int(rate))/s")
                    if round > 0 { times[name, default: []].append(1 / rate) }
                }
                take("raw", try peers.raw(connections: Self.connectionCount, seconds: Self.seconds))
                for service in services { take(service.name, try await append(service)) }
                take("etcd", try await peers.etcd(connections: Self.connectionCount, seconds: Self.seconds))
                take("kinto", try await peers.kinto(connections: Self.connectionCount, seconds: Self.seconds))
            }
        }
        for service in services { service.server.stop() }
        return rows(times.mapValues(Measure.median))
    }

    private func rows(_ times: [String: Double]) -> [Figure] {
        let raw = "INSERT of one row, pgbench"
        let rows: [(String, String, String, String, Figure.Goal)] = [
            ("append", "append", "raw", raw, .atLeast(0.4)), ("append over TLS", "tls", "raw", raw, .atLeast(0)),
            ("append, SQLite", "clinic", "raw", raw, .atLeast(0)),
            ("append", "append", "etcd", "compare and put, etcd", .atLeast(0.7)),
            ("append", "append", "kinto", "PUT If-None-Match, Kinto", .atLeast(10)),
        ]
        return rows.compactMap { work, name, peer, beside, goal in
            guard let time = times[name], let other = times[peer] else { return nil }
            return Figure(
                work: "\(work), \(Self.connectionCount) connections", time: time, baseline: beside,
                baselineTime: other, goal: goal)
        }
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

    /// Signs requests beforehand, and returns how many entries a second are acknowledged.
    private func append(_ service: Writing) async throws -> Double {
        let (authors, route, id) = (service.authors, service.route, service.id)
        let requests = try await onThreads(authors.count) { try authors[$0].requests(1_600, to: id) }
        let start = ContinuousClock.now
        let counts = try await onThreads(authors.count) {
            try AppendLine.run(requests[$0], over: route, seconds: Self.seconds).count
        }
        let elapsed = Measure.seconds(ContinuousClock.now - start)
        for (number, count) in counts.enumerated() where count > 0 {
            authors[number].advance(to: requests[number][count - 1].head)
        }
        return Double(counts.reduce(0, +)) / elapsed
    }
}
