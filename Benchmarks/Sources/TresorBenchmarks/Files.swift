// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Whole commands, beside `age` where that is installed.
struct Files {
    private let program: String
    private let directory: String
    private let age: String?
    private var environment: [String: String]

    init(_ program: String, in directory: String) async throws {
        self.program = program
        self.directory = directory
        age = ["/usr/bin/age", "/usr/local/bin/age", "/opt/homebrew/bin/age"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        environment = [
            "TRESOR_HOME": "\(directory)/home", "TRESOR_STORE": "\(directory)/commands.db", "PATH": "/usr/bin:/bin",
        ]
        guard !FileManager.default.fileExists(atPath: "\(directory)/home") else { return }
        try Data("a password for measuring\n".utf8).write(to: URL(filePath: "\(directory)/password"))
        try run(["/bin/chmod", "600", "\(directory)/password"])
        let password = ["--batch", "--password-file", "\(directory)/password"]
        try run([program, "keygen", "anna", "--no-kit"] + password)
        try run([program, "create", "plans"] + password)
        try run([program, "remember"] + password)
        if let age {
            try run([age + "-keygen", "-o", "\(directory)/age.key"])
            let text = try String(contentsOf: URL(filePath: "\(directory)/age.key"), encoding: .utf8)
            let recipient = text.split(separator: "\n").first { $0.contains("age1") }?.split(separator: " ").last
            try Data((recipient.map(String.init) ?? "").utf8).write(to: URL(filePath: "\(directory)/age.recipient"))
        }
    }

    private func run(_ words: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            print("failed: \(words.joined(separator: " "))")
            throw BaselineFailure()
        }
    }

    /// 1 KiB to 4 GiB, to a file.
    func figures() async throws -> [Figure] {
        var figures: [Figure] = []
        for (count, name) in [(1 << 20, "1 MiB"), (64 << 20, "64 MiB"), (512 << 20, "512 MiB"), (4 << 30, "4 GiB")] {
            try write(count)
            let rounds = count > 1 << 30 ? 1 : 5
            figures += try await pair(
                name, rounds: rounds, goals: count == 512 << 20 ? (.atLeast(1.5), .atLeast(2)) : nil)
        }
        return figures
    }

    /// 1 KiB: what starting costs.
    func commands() async throws -> [Figure] {
        try write(1024)
        let empty = try await Measure.byTurns(21) {
            try run([program, "--version"])
        } _: {
            try run(["/bin/true"])
        }
        let start = Figure(
            work: "tresor --version", time: empty.first, baseline: "/bin/true", baselineTime: empty.second)
        return [start] + (try await pair("1 KiB", rounds: 21, goals: (.atMost(3), .atMost(3))))
    }

    private func write(_ count: Int) throws {
        let path = "\(directory)/content"
        guard FileManager.default.createFile(atPath: path, contents: nil) else { throw BaselineFailure() }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        var generator = SystemRandomNumberGenerator()
        var words = (0..<(min(count, 1 << 20) / 8)).map { _ in generator.next() as UInt64 }
        for number in 0..<max(1, count >> 20) {
            words[0] = UInt64(number)
            try file.write(contentsOf: words.withUnsafeBytes { Data($0) })
        }
        try file.close()
    }

    private func pair(
        _ name: String, rounds: Int, goals: (Figure.Goal, Figure.Goal)?
    ) async throws -> [Figure] {
        let content = "\(directory)/content"
        guard let age else { return [] }
        let recipient = try String(contentsOf: URL(filePath: "\(directory)/age.recipient"), encoding: .utf8)
        let sealed = "\(directory)/sealed"
        let encrypt = try await Measure.byTurns(rounds) {
            try run([program, "encrypt", "-t", "plans", "--batch", "-o", sealed, content])
        } _: {
            try run([age, "-r", recipient, "-o", "\(directory)/content.age", content])
        }
        let opened = "\(directory)/opened"
        let decrypt = try await Measure.byTurns(rounds) {
            try run([program, "decrypt", "--batch", "-o", opened, sealed])
        } _: {
            try run([
                age, "-d", "-i", "\(directory)/age.key", "-o", "\(directory)/opened.age", "\(directory)/content.age",
            ])
        }
        try run(["/usr/bin/cmp", content, opened])
        return [
            Figure(
                work: "encrypt \(name)", time: encrypt.first, baseline: "age", baselineTime: encrypt.second,
                goal: goals?.0),
            Figure(
                work: "decrypt \(name)", time: decrypt.first, baseline: "age", baselineTime: decrypt.second,
                goal: goals?.1),
        ]
    }
}
