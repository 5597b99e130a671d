// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TresorCrypto

/// A package of another project that speaks OPAQUE, in a process of its own: `vectors/verify/peer.py`.
final class Peer {
    /// The Python that has the packages, as `scripts/opaque-peers` says.
    static let python = ProcessInfo.processInfo.environment["TRESOR_PEERS"]
    static let packages = ["opaque-ke-py", "opaque-snake", "opaquepy"]

    /// The package and its version, or what is missing.
    let greeting: String
    private let process: Process
    private let input: Pipe
    private let output: Pipe

    init(_ package: String) throws {
        let program = Published.repository.appending(path: "vectors/verify/peer.py").path(percentEncoded: false)
        (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: try #require(Self.python))
        process.arguments = ["-I", "-B", program, package]
        process.standardInput = input
        process.standardOutput = output
        try process.start()
        greeting = try Self.line(from: output)
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The line says so. Nothing has passed then.
    var isMissing: Bool { greeting.hasPrefix("missing: ") }

    /// The answer of the package; `nil` if it refuses the log-in.
    func ask(_ method: String, _ values: [UInt8]...) throws -> [[UInt8]]? {
        let words = [method] + values.map { Hex.text($0) }
        try input.fileHandleForWriting.write(contentsOf: Data((words.joined(separator: " ") + "\n").utf8))
        let answer = try Self.line(from: output)
        guard answer != "refused" else { return nil }
        let parts = answer.split(separator: " ")
        try #require(parts.first == "ok", "\(answer)")
        return try parts.dropFirst().map { try bytes(String($0)) }
    }

    private static func line(from output: Pipe) throws -> String {
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }
}

extension Trait where Self == ConditionTrait {
    /// Leaves a suite to `scripts/opaque-peers`, which fetches the packages.
    static var peers: Self { .enabled(if: Peer.python != nil, "a part of scripts/long") }
}
