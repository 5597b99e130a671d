// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring
import Serving
import TresorSQLite

@testable import TresorCore

/// Whole commands `tresor share`: before a service over TLS, and on a store file.
struct ShareLoad {
    /// Each command fetches the server share of the device, which a service limits to 20 an hour.
    private static let rounds = 15

    private let site: Site
    private let folder: String

    init(_ site: Site) throws {
        self.site = site
        folder = try site.folder("share")
    }

    private var password: String { "\(folder)/password" }

    func measure(for report: Report) async throws {
        try Data("a password for measuring\n".utf8).write(to: URL(filePath: password))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
        let file = "\(folder)/store.db"
        try run(file, "keygen", "anna", "--no-kit", "--argon2id", "64,3")
        try run(file, "create", "plans")
        try run(file, "card", "-o", "\(folder)/operator.card")
        let store = try await SQLiteStore.open(at: file, creating: false)
        for number in 0..<(2 * Self.rounds + 2) { _ = try await Person.visitor("doctor \(number)", in: store) }
        try FileManager.default.copyItem(atPath: "\(folder)/home", toPath: "\(folder)/home-before")
        let clinic = try site.folder("share-clinic")
        let places = try [("SQLite", "\(clinic)/clinic.db"), ("PostgreSQL", site.database("share"))]
        for (name, place) in places {
            report.add(try await compare(name, on: place, beside: file))
        }
    }

    /// - Parameter place: the database of the service.
    private func compare(_ name: String, on place: String, beside file: String) async throws -> [Figure] {
        let copy = "\(folder)/\(name).db"
        try Site.run(["/usr/bin/sqlite3", file, ".backup '\(copy)'"])
        let home = "\(folder)/home-\(name)"
        let local = "\(folder)/home-local-\(name)"
        for target in [home, local] {
            try FileManager.default.copyItem(atPath: "\(folder)/home-before", toPath: target)
        }
        let server = try RunningServer(
            "share-\(name)", on: place, from: copy, operator: "\(folder)/operator.card", isSecure: true, in: site)
        let address = [
            "--store", "https://127.0.0.1:\(server.port)", "--store-ca", try site.certificate().certificate,
        ]
        try run(home: home, address + ["remember"])
        try run(home: local, ["--store", copy, "remember", "--accept-same-disk"])
        func share(_ number: Int, _ home: String, _ place: [String]) throws {
            try Program(site.tresor).run(
                ["--home", home] + place
                    + ["--batch", "--quiet", "share", "-t", "plans", "doctor \(number)", "--accept-unverified"])
        }
        try share(0, home, address)
        try share(0, local, ["--store", copy])
        let (before, opens) = (try server.requestCount, try Self.activeOpens)
        try share(1, home, address)
        let counts = (requests: try server.requestCount - before, opens: try Self.activeOpens - opens)
        try share(1, local, ["--store", copy])
        var number = 1
        let times = try await Site.alone {
            try await Measure.byTurns(Self.rounds) {
                number += 1
                try share(number, home, address)
            } _: {
                try share(number, local, ["--store", copy])
            }
        }
        server.stop()
        return [
            Figure(
                work: "share over TLS, service on \(name)", time: times.first, baseline: "share on a store file",
                baselineTime: times.second, goal: .later(0.015)),
            Figure(
                work: "requests of share, service on \(name)", time: Double(counts.requests), baseline: "connections",
                baselineTime: Double(counts.opens), unit: .number),
        ]
    }

    /// The connections that processes of this machine have begun.
    private static var activeOpens: Int {
        get throws {
            let text = try String(contentsOfFile: "/proc/net/snmp", encoding: .utf8)
            let rows = text.split(separator: "\n").filter { $0.hasPrefix("Tcp:") }.map { $0.split(separator: " ") }
            guard rows.count == 2, let column = rows[0].firstIndex(of: "ActiveOpens") else {
                throw LoadFailure("the kernel does not count connections")
            }
            return Int(rows[1][column]) ?? 0
        }
    }

    private func run(_ file: String, _ words: String...) throws {
        try run(home: "\(folder)/home", ["--store", file] + words)
    }

    private func run(home: String, _ words: [String]) throws {
        try Program(site.tresor).run(
            ["--home", home, "--batch", "--quiet", "--password-file", password] + words)
    }
}
