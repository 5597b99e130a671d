// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A program that a test starts and ends, with its outputs in a file.
final class Daemon: @unchecked Sendable {
    private let process = Process()
    /// The path of the file with both outputs.
    let output: String

    init(_ words: [String], output: String, directory: String = "/") throws {
        self.output = output
        _ = FileManager.default.createFile(atPath: output, contents: nil)
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = process.standardOutput
        process.currentDirectoryURL = URL(fileURLWithPath: directory)
        try process.start()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    var text: String {
        (try? Data(contentsOf: URL(fileURLWithPath: output))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    var isRunning: Bool { process.isRunning }

    /// Its work at this moment.
    var does: String { doing(process.processIdentifier) }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the end. A program that runs for minutes is a failure that says what it did then.
    ///
    /// - Returns: the exit code, or the number of the signal that ended it; `nil` if it runs on.
    func end(seconds: Int = 300) async -> Int32? {
        for _ in 0..<(seconds * 40) where process.isRunning { try? await Task.sleep(for: .milliseconds(25)) }
        guard process.isRunning else { return process.terminationStatus }
        Issue.record("it did not end: \(does); it said: \(text)")
        return nil
    }

    /// Runs a program to its end, and returns its exit code and its outputs.
    static func run(_ words: [String], seconds: Int = 300) async throws -> (code: Int32?, text: String) {
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-daemon-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: output) }
        let daemon = try Daemon(words, output: output)
        let code = await daemon.end(seconds: seconds)
        return (code, daemon.text)
    }

    /// The path of a program; `nil` if it is not installed.
    static func path(_ program: String) -> String? {
        ["/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"].map { $0 + program }
            .first(where: FileManager.default.isExecutableFile(atPath:))
    }

    /// A port of 127.0.0.1 on which something listens within some seconds.
    static func listens(on port: Int) async -> Bool {
        for _ in 0..<200 {
            if (try? RawClient(port: port)) != nil { return true }
            try? await Task.sleep(for: .milliseconds(25))
        }
        return false
    }
}
