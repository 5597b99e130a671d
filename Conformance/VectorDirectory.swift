// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The files of a directory of vectors. Nothing else in this module opens a file.
enum VectorDirectory {
    /// Whether a readable file exists.
    static func has(_ path: String) -> Bool { FileManager.default.isReadableFile(atPath: path) }

    /// All bytes of a file.
    static func read(_ path: String) throws(VectorProblem) -> [UInt8] {
        do {
            return Array(try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw VectorProblem("\(path) cannot be read")
        }
    }
}
