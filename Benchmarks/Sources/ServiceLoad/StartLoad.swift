// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring

/// Commands on a store file, beside the program before it spoke with services.
struct StartLoad {
    private static let rounds = 61

    private let site: Site
    private let folder: String

    init(_ site: Site) throws {
        self.site = site
        folder = try site.folder("start")
    }

    func figures() async throws -> [Figure] {
        guard let earlier = site.earlierTresor else {
            note("start: left out, BENCHMARK_TRESOR_BEFORE names no program")
            return []
        }
        try Data("a password for measuring\n".utf8).write(to: URL(filePath: "\(folder)/password"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/password")
        try Data((0..<1024).map { UInt8(truncatingIfNeeded: $0) }).write(to: URL(filePath: "\(folder)/content"))
        let password = ["--password-file", "\(folder)/password"]
        for program in [site.tresor, earlier] {
            try run(program, ["keygen", "anna", "--no-kit", "--argon2id", "64,3"] + password)
            try run(program, ["create", "plans"] + password)
            try run(program, ["remember", "--accept-same-disk"] + password)
        }
        let works: [(String, [String])] = [
            ("tresor --version", ["--version"]), ("list", ["list"]),
            ("encrypt 1 KiB", ["encrypt", "-t", "plans", "-o", "\(folder)/sealed", "\(folder)/content"]),
        ]
        return try await Site.alone {
            var figures: [Figure] = []
            for (work, words) in works {
                let times = try await Measure.byTurns(Self.rounds) {
                    try run(site.tresor, words)
                } _: {
                    try run(earlier, words)
                }
                figures.append(
                    Figure(
                        work: work, time: times.first, baseline: "before", baselineTime: times.second,
                        goal: .later(0.003)))
            }
            return figures
        }
    }

    private func run(_ program: String, _ words: [String]) throws {
        let name = program == site.tresor ? "now" : "before"
        try Site.runQuickly(
            [program] + words + (words == ["--version"] ? [] : ["--batch", "--quiet"]),
            environment: [
                "PATH": "/usr/bin:/bin", "TRESOR_HOME": "\(folder)/home-\(name)",
                "TRESOR_STORE": "\(folder)/store-\(name).db",
            ])
    }
}
