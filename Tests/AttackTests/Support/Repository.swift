// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The repository's own files, for rules about what they must and must not contain.
enum Repository {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Every file below a folder with this ending, by path.
    static func files(of folder: String, ending: String) throws -> [(path: String, text: String)] {
        let directory = root.appending(path: folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path(percentEncoded: false))
        return try names.filter { $0.hasSuffix(ending) }.sorted().map { name in
            ("\(folder)/\(name)", try text("\(folder)/\(name)"))
        }
    }
}
