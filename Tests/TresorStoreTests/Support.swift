// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TresorCore
import TresorCrypto

@testable import TresorStore

/// A fresh directory that goes with the value.
final class Scratch: Sendable {
    let path: String

    init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("tresor-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    subscript(_ name: String) -> String { path + "/" + name }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}

func bytes(at path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

func mode(of path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return attributes[.posixPermissions] as? Int ?? -1
}

func setMode(_ mode: Int, of path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
}

/// Another process's connection, as far as SQLite can tell; it may keep a transaction open.
func stranger(at path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    return try DatabaseQueue(path: path, configuration: configuration)
}

/// The error of a call, or `nil`.
func errorOf(_ body: () async throws -> Void) async -> TresorError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? TresorError ?? .failed(.other)
    }
}

func random(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        if let start = buffer.baseAddress { arc4random_buf(start, count) }
        filled = count
    }
}

func digest(_ first: UInt8, _ rest: UInt8 = 0) -> Hash256 {
    Hash256([first] + [UInt8](repeating: rest, count: 31)) ?? .zero
}

func user(_ first: UInt8, _ rest: UInt8 = 0) -> UserID { UserID(digest(first, rest)) }

func tresor(_ first: UInt8) -> TresorID { TresorID(digest(first)) }

func device(_ byte: UInt8) throws -> DeviceID {
    guard let device = DeviceID([UInt8](repeating: byte, count: 16)) else { throw TresorError.failed(.other) }
    return device
}
