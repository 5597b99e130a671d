// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Files that do not fit in memory, with the built program.
@Suite("Large files", .longRun)
struct LargeFileTests {
    /// A sanitizer keeps what is freed.
    private static let isSanitized = ProcessInfo.processInfo.environment["TRESOR_SANITIZER"] != nil

    private let directory: URL
    private let environment: [String: String]

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "large-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        environment = [
            "TRESOR_HOME": directory.appending(path: "home").path,
            "TRESOR_STORE": directory.appending(path: "store").path,
            "TRESOR_PASSWORD_FILE": directory.appending(path: "password").path, "PATH": "/usr/bin:/bin",
        ]
        let password = directory.appending(path: "password")
        try Data("a long password\n".utf8).write(to: password)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password.path)
        try #require(try run("keygen", "anna", "--no-kit", "--argon2id", "64,3").code == 0)
        try #require(try run("create", "plans").code == 0)
        try #require(try run("remember", "--accept-same-disk").code == 0)
    }

    private struct Outcome {
        let code: Int32
        /// The most memory the process had, in KiB; 0 where the system does not tell.
        let peak: Int
    }

    @discardableResult private func run(_ words: String..., input: FileHandle? = nil) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(filePath: ChildProcess.program)
        process.arguments = words + ["--batch", "-q"]
        process.environment = environment
        process.currentDirectoryURL = directory
        process.standardInput = input ?? FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        var peak = 0
        while process.isRunning {
            peak = max(peak, Self.peak(of: process.processIdentifier))
            usleep(2000)
        }
        process.waitUntilExit()
        return Outcome(code: process.terminationStatus, peak: peak)
    }

    private static func peak(of process: Int32) -> Int {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return 0 }
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }

    private func make(_ name: String, _ count: Int) throws {
        let file = directory.appending(path: name)
        try #require(FileManager.default.createFile(atPath: file.path, contents: Data("beginning".utf8)))
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(count))
        try handle.seek(toOffset: UInt64(count - 3))
        try handle.write(contentsOf: Data("end".utf8))
        try handle.close()
    }

    private func areEqual(_ one: String, _ other: String) -> Bool {
        FileManager.default.contentsEqual(
            atPath: directory.appending(path: one).path, andPath: directory.appending(path: other).path)
    }

    private var names: Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? [])
    }

    @Test("Memory does not grow with the content", .disabled(if: Self.isSanitized))
    func constantMemory() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try make("small", 3 << 20)
        try make("large", 256 << 20)
        var peaks: [String: [Int]] = [:]
        for name in ["small", "large"] {
            peaks["encrypt", default: []].append(try run("encrypt", "-t", "plans", "-o", name + ".tresor", name).peak)
            peaks["decrypt", default: []].append(try run("decrypt", "-o", name + ".out", name + ".tresor").peak)
            #expect(areEqual(name, name + ".out"))
        }
        try #require(try run("rotate", "-t", "plans", "--yes").code == 0)
        for name in ["small", "large"] {
            peaks["reseal", default: []].append(try run("reseal", name + ".tresor").peak)
            #expect(try run("decrypt", "-o", name + ".again", name + ".tresor").code == 0)
            #expect(areEqual(name, name + ".again"))
        }
        for (command, peaks) in peaks {
            #if os(Linux)
                #expect(peaks[0] > 0)
            #endif
            #expect(peaks[1] - peaks[0] < 8 << 10, "\(command): \(peaks) KiB")
        }
    }

    @Test("Memory does not grow with armour, nor with what comes through a pipe", .disabled(if: Self.isSanitized))
    func constantMemoryOfText() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try make("small", 2 << 20)
        try make("large", 24 << 20)
        var peaks: [String: [Int]] = [:]
        for name in ["small", "large"] {
            let text = directory.appending(path: name + ".txt")
            peaks["encrypt -a", default: []].append(
                try run("encrypt", "-a", "-t", "plans", "-o", text.lastPathComponent, name).peak)
            peaks["decrypt", default: []].append(try run("decrypt", "-o", name + ".out", text.lastPathComponent).peak)
            #expect(areEqual(name, name + ".out"))
            let pipe = Pipe()
            let feeder = Process()
            feeder.executableURL = URL(filePath: "/bin/cat")
            feeder.arguments = [text.path]
            feeder.standardOutput = pipe
            try feeder.run()
            peaks["decrypt, pipe", default: []].append(
                try run("decrypt", "-o", name + ".piped", input: pipe.fileHandleForReading).peak)
            feeder.waitUntilExit()
            #expect(areEqual(name, name + ".piped"))
        }
        try #require(try run("rotate", "-t", "plans", "--yes").code == 0)
        for name in ["small", "large"] {
            peaks["reseal", default: []].append(try run("reseal", name + ".txt").peak)
            peaks["inspect", default: []].append(try run("inspect", name + ".txt").peak)
            peaks["check", default: []].append(try run("check", "--deep", name + ".txt").peak)
            let text = try Data(contentsOf: directory.appending(path: name + ".txt"))
            #expect(text.starts(with: Data("-----BEGIN TRESOR FILE-----\n".utf8)))
            #expect(try run("decrypt", "-o", name + ".again", name + ".txt").code == 0)
            #expect(areEqual(name, name + ".again"))
        }
        for (command, peaks) in peaks {
            #expect(peaks[1] - peaks[0] < 8 << 10, "\(command): \(peaks) KiB")
        }
        #expect(!names.contains { $0.hasPrefix(".tresor-") })
    }

    @Test("Standard input of which somebody has read is taken from there on")
    func standardInputFromTheMiddle() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try make("content", 3 << 20)
        try #require(try run("encrypt", "-t", "plans", "-o", "sealed", "content").code == 0)
        let sealed = try Data(contentsOf: directory.appending(path: "sealed"))
        try (Data("before".utf8) + sealed).write(to: directory.appending(path: "behind"))
        let input = try FileHandle(forReadingFrom: directory.appending(path: "behind"))
        try input.seek(toOffset: 6)
        #expect(try run("decrypt", "-o", "opened", input: input).code == 0)
        #expect(areEqual("content", "opened"))
    }

    @Test("A6: a large file that fails its last check leaves nothing")
    func nothingOnFailure() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try make("content", 5 << 20)
        try #require(try run("encrypt", "-t", "plans", "-o", "sealed", "content").code == 0)
        var bytes = try Data(contentsOf: directory.appending(path: "sealed"))
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: directory.appending(path: "damaged"))
        try bytes.dropLast(65552).write(to: directory.appending(path: "cut"))
        try Data("before".utf8).write(to: directory.appending(path: "kept"))
        let before = names
        for name in ["damaged", "cut"] {
            #expect(try run("decrypt", "-o", "kept", name).code == 14)
            #expect(try run("decrypt", "-o", "fresh", name).code == 14)
            #expect(try run("reseal", name).code == 14)
        }
        #expect(try run("decrypt", "--record", "another", "-o", "fresh", "sealed").code == 14)
        #expect(try Data(contentsOf: directory.appending(path: "kept")) == Data("before".utf8))
        #expect(try Data(contentsOf: directory.appending(path: "damaged")) == bytes)
        #expect(names == before)
    }

    @Test("Standard input of unknown length is sealed as it comes")
    func standardInput() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try make("content", (5 << 20) + 17)
        let content = try FileHandle(forReadingFrom: directory.appending(path: "content"))
        try #require(try run("encrypt", "-t", "plans", "-o", "sealed", input: content).code == 0)
        #expect(try run("decrypt", "-o", "opened", "sealed").code == 0)
        #expect(areEqual("content", "opened"))
    }
}
