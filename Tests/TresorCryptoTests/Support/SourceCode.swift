// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The project's own sources as text, for rules about what they must not contain.
enum SourceCode {
    static func files(of folder: String) throws -> [(path: String, text: String)] {
        let root = Published.repository.appending(path: folder)
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path(percentEncoded: false))
        return try names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
            (name, try String(contentsOf: root.appending(path: name), encoding: .utf8))
        }
    }

    /// Every declaration that begins with `public`, up to its body, on one line each.
    static func publicDeclarations(of folder: String) throws -> [String] {
        try files(of: folder).flatMap { file in
            file.text.split(separator: "\n").indices(where: { line in
                line.contains("public ") && !line.contains("//")
            }).ranges.flatMap { range in
                range.map { start in
                    let lines = file.text.split(separator: "\n")[start...]
                    let upToBody = lines.prefix(8).joined(separator: " ").prefix { $0 != "{" }
                    return upToBody.split(separator: " ").joined(separator: " ")
                }
            }
        }
    }
}
