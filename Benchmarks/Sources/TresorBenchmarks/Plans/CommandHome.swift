// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The home of anna, as commands and as the library see it: a store file and a device that she trusts.
struct CommandHome: Sendable {
    static let clock: @Sendable () -> UInt64 = { UInt64(time(nil)) }

    static let password = "a password for measuring"

    /// The directory of everything.
    let folder: String
    /// The program, for this home and its store file.
    let program: Program

    var store: String { "\(folder)/store.db" }
    var passwordFile: String { "\(folder)/password" }

    /// Makes the home, with the program `tresor` at a path.
    init(_ path: String, in folder: String) throws {
        self.folder = folder
        program = Self.program(path, home: "\(folder)/home", store: "\(folder)/store.db")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data("\(Self.password)\n".utf8).write(to: URL(filePath: passwordFile))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passwordFile)
        try run(["keygen", "anna", "--no-kit", "--argon2id", "64,3", "--password-file", passwordFile])
        try run(["remember", "--accept-same-disk", "--password-file", passwordFile])
    }

    private static func program(_ path: String, home: String, store: String) -> Program {
        Program(path, environment: ["PATH": "/usr/bin:/bin", "TRESOR_HOME": home, "TRESOR_STORE": store])
    }

    /// Runs a command. Behind its last option stand its operands, of which a parser takes many.
    func run(_ words: [String]) throws {
        try program.run(words.prefix(1) + ["--batch", "--quiet"] + words.dropFirst())
    }

    /// Makes somebody with a card in the store.
    func publish(_ handle: String) throws {
        let home = "\(folder)/home of \(handle)"
        try Self.program(program.path, home: home, store: store).run([
            "keygen", handle, "--no-kit", "--argon2id", "64,3", "--password-file", passwordFile, "--batch", "--quiet",
        ])
        try FileManager.default.removeItem(atPath: home)
    }

    /// Copies the home to another place, for a service with the same people, which trusts the device there.
    ///
    /// - Returns: the program, for that home and that service.
    func moved(to address: String, name: String) throws -> Program {
        let home = "\(folder)/home-\(name)"
        try FileManager.default.copyItem(atPath: "\(folder)/home", toPath: home)
        let program = Self.program(program.path, home: home, store: address)
        try program.run(["remember", "--password-file", passwordFile, "--batch", "--quiet"])
        return program
    }

    /// Opens the home with the library.
    func session(on store: any Store) async throws -> Session {
        let home = DirectoryHome(data: "\(folder)/home", state: "\(folder)/home/state")
        let client = Client(home: home, store: store, clock: Self.clock)
        return try await client.unlock(password: try Password(Self.password))
    }

    /// Writes a file.
    func write(_ content: some Collection<UInt8>, to name: String) throws -> String {
        try Data(content).write(to: URL(filePath: "\(folder)/\(name)"))
        return "\(folder)/\(name)"
    }
}
