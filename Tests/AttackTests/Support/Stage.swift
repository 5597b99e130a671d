// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A fresh directory that goes with the value.
final class Scratch: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-attack-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    init(copyOf other: Scratch) throws {
        path = other.path + "-\(UUID().uuidString)"
        try FileManager.default.copyItem(atPath: other.path, toPath: path)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    subscript(_ name: String) -> String { path + "/" + name }
}

/// Some people with homes on one store, who work with the built program.
final class Stage {
    let scratch: Scratch
    /// The prefix of every run.
    var wrapper: [String] = []
    /// The additional environment of every run.
    var environment: [String: String] = [:]
    /// The files of the stage that are compared by name.
    var isKept: (String) -> Bool = { _ in true }
    var store: String { scratch["store.db"] }

    init(scratch: Scratch) { self.scratch = scratch }

    convenience init(_ people: String...) throws {
        self.init(scratch: try Scratch())
        for person in people { try add(person) }
    }

    func add(_ person: String) throws {
        try write(Array("PASSWORD-0815-\(person)\n".utf8), to: "\(person).password", mode: 0o600)
        try expect(as: person, ["keygen", person, "--no-kit", "--argon2id", "64,3"])
    }

    func write(_ content: [UInt8], to name: String, mode: mode_t = 0o644) throws {
        let url = URL(fileURLWithPath: scratch[name])
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(content).write(to: url)
        guard chmod(url.path, mode) == 0 else { throw Unmet("chmod failed") }
    }

    subscript(_ name: String) -> [UInt8] { bytes(at: scratch[name]) }

    /// The program in the surroundings of the stage.
    var program: Program {
        var program = Program(
            directory: scratch.path,
            environment: [
                "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": scratch.path, "TERM": "xterm", "LANG": "C.UTF-8",
                "TRESOR_STORE": store,
                "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
            ])
        program.wrapper = wrapper
        program.environment.merge(environment) { $1 }
        return program
    }

    /// The first arguments of a person's runs, unless the arguments have their own.
    func words(as person: String, before arguments: [String] = []) -> [String] {
        let places = [("--home", scratch["homes/\(person)"]), ("--password-file", scratch["\(person).password"])]
        return places.filter { !arguments.contains($0.0) }.flatMap { [$0.0, $0.1] } + ["--batch"]
    }

    func run(as person: String, _ arguments: [String], input: String = "/dev/null") throws -> Program.Ending {
        try program.run(words(as: person, before: arguments) + arguments, input: input)
    }

    /// Runs what must succeed.
    @discardableResult func expect(as person: String, _ arguments: [String]) throws -> String {
        let ending = try run(as: person, arguments)
        guard ending.code == 0 else { throw Unmet("\(arguments) ended with \(ending.code): \(ending.errorText)") }
        return ending.outputText
    }

    func number(of person: String) throws -> String {
        try expect(as: person, ["card", "--number"]).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// `owner` makes a tresor called `plans` and lets `readers` in; everybody has compared numbers.
    func share(_ tresor: String = "plans", of owner: String, with readers: String...) throws {
        try expect(as: owner, ["create", tresor])
        for reader in readers {
            try expect(as: owner, ["share", "-t", tresor, reader, "--number", number(of: reader)])
            try expect(as: reader, ["verify", owner, "--number", number(of: owner)])
        }
    }

    /// Every file below the stage with its bytes, to show that nothing changed.
    func contents(of folder: String) throws -> [String: [UInt8]] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: scratch[folder])
        return names.reduce(into: [:]) { $0[$1] = self["\(folder)/\($1)"] }
    }
}

/// Whether a tool of the system is there.
func has(_ tool: String) -> Bool {
    ["/usr/bin", "/bin", "/usr/local/bin"].contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(tool)") }
}

/// Runs a tool and gives what it prints.
func tool(_ path: String, _ arguments: [String]) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
}
