// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation

/// The files of the repository, found from this one.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static var vectors: String { root.appendingPathComponent("vectors").path }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static func sha256(_ data: Data) -> String { SHA256.hash(data: data).map { String(format: "%02x", $0) }.joined() }

    static func json(_ path: String) throws -> [String: Any] {
        let data = try Data(contentsOf: root.appendingPathComponent("vectors/\(path)"))
        return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    }

    /// Every vector file with groups.
    static let files = [
        "encoding", "text", "tc1", "identity", "slots", "password", "device", "log", "epoch", "wrap", "approval", "act",
        "file", "pack", "records", "checkpoint", "accumulated", "labels", "service", "opaque",
    ]

    /// The histories.
    static let scenarios =
        (try? FileManager.default.contentsOfDirectory(atPath: vectors + "/scenario").sorted()) ?? []

    static func tests(_ name: String) throws -> [[String: Any]] {
        let groups = try json("\(name).json")["groups"] as? [[String: Any]] ?? []
        return groups.flatMap { group in
            (group["tests"] as? [[String: Any]] ?? []).map { test in
                test.merging(["operation": group["operation"] ?? ""]) { own, _ in own }
            }
        }
    }

    static func allTests() throws -> [[String: Any]] { try files.flatMap { try tests($0) } }
}
