// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

/// A fresh directory that goes with the value, or with the process for a value that lives as long.
final class Scratch: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-attack-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        SharedFiles.removeAtExit(path)
    }

    init(copyOf other: Scratch) throws {
        path = other.path + "-\(UUID().uuidString)"
        try FileManager.default.copyItem(atPath: other.path, toPath: path)
        SharedFiles.removeAtExit(path)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        SharedFiles.forget(path)
    }

    subscript(_ name: String) -> String { path + "/" + name }
}

/// Stages as tests begin with them, each made once by the program.
enum PreparedStages {
    private static let made = Mutex<[String: Scratch]>([:])

    /// - Parameter make: makes a stage, outside the lock: it may ask for another. Of two at once the first stays.
    static func scratch(for words: String, make: () throws -> Scratch) throws -> Scratch {
        if let scratch = made.withLock({ $0[words] }) { return scratch }
        let scratch = try make()
        return made.withLock { made in
            let first = made[words] ?? scratch
            made[words] = first
            return first
        }
    }
}
