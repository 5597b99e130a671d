// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring

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

    /// - Returns: the peak of memory of the program in bytes, if `wanted`.
    @discardableResult private func run(_ words: [String], wantsPeak isWanted: Bool = false) throws -> Int {
        try Program(words[0], environment: environment).run(Array(words.dropFirst()), wantsPeak: isWanted)
    }

    /// 1 MiB to 4 GiB, to a file.
    func figures() async throws -> [Figure] {
        var figures: [Figure] = []
        for (count, name) in [(1 << 20, "1 MiB"), (16 << 20, "16 MiB"), (64 << 20, "64 MiB"), (512 << 20, "512 MiB")] {
            try write(count)
            figures += try await pair(
                name, rounds: 5, goals: count == 512 << 20 ? (.atLeast(1.5), .atLeast(2)) : nil)
        }
        return figures + (try await huge())
    }

    /// 4 GiB: `tresor` alone, and its memory.
    private func huge() async throws -> [Figure] {
        let count = 4 << 30
        let space = try FileManager.default.attributesOfFileSystem(forPath: directory)[.systemFreeSize] as? Int ?? 0
        guard space > 2 * count + (1 << 30) else {
            print("4 GiB: left out, there is no room")
            return []
        }
        let content = "\(directory)/content"
        let sealed = "\(directory)/sealed"
        try write(count)
        var peaks = (0, 0)
        let encrypt = try await Measure.time {
            peaks.0 = try run([program, "encrypt", "-t", "plans", "--batch", "-o", sealed, content], wantsPeak: true)
        }
        try FileManager.default.removeItem(atPath: content)
        let decrypt = try await Measure.time {
            peaks.1 = try run([program, "decrypt", "--batch", "-o", "\(directory)/opened", sealed], wantsPeak: true)
        }
        for name in ["sealed", "opened"] { try FileManager.default.removeItem(atPath: "\(directory)/\(name)") }
        let limit = Double(32 << 20)
        return [("encrypt", encrypt, peaks.0), ("decrypt", decrypt, peaks.1)].flatMap { work, time, peak in
            [
                Figure(work: "\(work) 4 GiB", time: time, baseline: "—", baselineTime: time),
                Figure(
                    work: "\(work) 4 GiB, most memory", time: Double(peak), baseline: "32 MiB", baselineTime: limit,
                    goal: .atMost(1), unit: .bytes),
            ]
        }
    }

    /// 1 KiB: the cost of a start; and many of them in one run.
    func commands() async throws -> [Figure] {
        try write(1024)
        let empty = try await Measure.byTurns(21) {
            try run([program, "--version"])
        } _: {
            try run(["/bin/true"])
        }
        let start = Figure(
            work: "tresor --version", time: empty.first, baseline: "/bin/true", baselineTime: empty.second)
        return [start] + (try await pair("1 KiB", rounds: 21, goals: (.atMost(3), .atMost(3)))) + (try await many())
    }

    /// As many files of 1 KiB as a command accepts, beside one run for one of them.
    private func many() async throws -> [Figure] {
        var figures: [Figure] = []
        var one: (Double, Double)?
        for count in [1, 100, 1000, 10_000] {
            let folder = "\(directory)/many-\(count)"
            let content = Data((0..<1024).map { UInt8(truncatingIfNeeded: $0) })
            for name in ["in", "sealed", "out"] {
                try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
            }
            let names = (0..<count).map { "\(folder)/in/\($0)" }
            for name in names { try content.write(to: URL(filePath: name)) }
            let sealed = (0..<count).map { "\(folder)/sealed/\($0).tresor" }
            let encrypt = try await Measure.time {
                try run([program, "encrypt", "-t", "plans", "--batch", "-C", "\(folder)/sealed"] + names)
            }
            let decrypt = try await Measure.time {
                try run([program, "decrypt", "--batch", "-C", "\(folder)/out"] + sealed)
            }
            try FileManager.default.removeItem(atPath: folder)
            let single = one ?? (encrypt, decrypt)
            one = single
            guard count > 1 else { continue }
            for (work, time, alone) in [("encrypt", encrypt, single.0), ("decrypt", decrypt, single.1)] {
                figures.append(
                    Figure(
                        work: "\(work) \(count) files of 1 KiB", time: time, baseline: "one file, as many times",
                        baselineTime: alone * Double(count)))
            }
        }
        return figures
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
