// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorCrypto

/// Published vectors that nobody of this project wrote. They lie beside the repository, never in it.
enum Published {
    static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func url(_ path: String) -> URL {
        repository.appending(path: "../shared/vectors/crypto/\(path)").standardizedFileURL
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: url(path).path(percentEncoded: false))
    }

    static func text(_ path: String) throws -> String {
        try String(decoding: Data(contentsOf: url(path)), as: UTF8.self)
    }

    static func json<Content: Decodable>(_ path: String, as type: Content.Type = Content.self) throws -> Content {
        try JSONDecoder().decode(Content.self, from: Data(contentsOf: url(path)))
    }

    static func lines(_ path: String) throws -> [[String]] {
        try text(path)
            .split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
    }
}

/// The layout that all Wycheproof files share.
struct Wycheproof<Group: Decodable>: Decodable {
    let numberOfTests: Int
    let testGroups: [Group]
}

extension Trait where Self == ConditionTrait {
    /// Runs when the published file is present, and is reported as skipped when it is not.
    static func published(_ path: String) -> Self {
        .enabled(if: Published.exists(path), "crypto/\(path) is not present")
    }
}

/// The bytes of hexadecimal text in a vector.
func bytes(_ hex: String) throws -> [UInt8] {
    try #require(Hex.bytes(hex))
}

/// The bytes in secret memory.
func secretBytes(_ bytes: [UInt8]) throws(TresorError) -> SecretBytes { try SecretBytes(copying: bytes.span) }
