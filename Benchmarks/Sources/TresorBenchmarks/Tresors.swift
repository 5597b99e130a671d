// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring

/// Whole commands of a member of many tresors, beside the same of a member of one.
struct Tresors {
    private static let count = 500

    private let program: String
    private let directory: String

    init(_ program: String, in directory: String) async throws {
        self.program = program
        self.directory = "\(directory)/tresors"
        try FileManager.default.createDirectory(atPath: self.directory, withIntermediateDirectories: true)
        try Data("a password for measuring\n".utf8).write(to: URL(filePath: "\(self.directory)/password"))
        try Data((0..<1024).map { UInt8(truncatingIfNeeded: $0) }).write(to: URL(filePath: content))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: "\(self.directory)/password")
        for count in [1, Self.count] { try fill(count) }
    }

    private var content: String { "\(directory)/content" }

    /// A home with `count` tresors, each of which it has read.
    private func fill(_ count: Int) throws {
        let password = ["--batch", "--password-file", "\(directory)/password"]
        try run(["keygen", "anna", "--no-kit"] + password, count)
        try run(["remember", "--accept-same-disk"] + password, count)
        for number in 1...count { try run(["create", "plan \(number)", "--batch"], count) }
        try run(["list", "--batch", "--quiet"], count)
    }

    private func run(_ words: [String], _ count: Int) throws {
        let environment = [
            "TRESOR_HOME": "\(directory)/home-\(count)", "TRESOR_STORE": "\(directory)/store-\(count).db",
            "PATH": "/usr/bin:/bin",
        ]
        try Program(program, environment: environment).run(words)
    }

    /// With a name, and without one.
    func figures() async throws -> [Figure] {
        let sealed = "\(directory)/sealed"
        let works: [(String, (Int) -> [String])] = [
            ("encrypt", { ["encrypt", "-t", "plan 1", "--batch", "-o", "\(sealed)-\($0)", content] }),
            ("decrypt", { ["decrypt", "--batch", "--quiet", "-o", "\(sealed).out", "\(sealed)-\($0)"] }),
            (
                "decrypt -t",
                { ["decrypt", "-t", "plan 1", "--batch", "--quiet", "-o", "\(sealed).out", "\(sealed)-\($0)"] }
            ),
        ]
        var figures: [Figure] = []
        for (work, words) in works {
            let times = try await Measure.byTurns(41) {
                try run(words(Self.count), Self.count)
            } _: {
                try run(words(1), 1)
            }
            figures.append(
                Figure(
                    work: "\(work) 1 KiB with \(Self.count) tresors", time: times.first, baseline: "with 1",
                    baselineTime: times.second, goal: .atMost(1.3)))
        }
        return figures
    }
}
