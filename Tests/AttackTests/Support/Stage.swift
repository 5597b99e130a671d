// SPDX-License-Identifier: Apache-2.0

import Foundation
import PasswordMemo

/// Some people with homes on one store, who work with the built program.
final class Stage {
    let scratch: Scratch
    /// The prefix of every run.
    var wrapper: [String] = []
    /// The additional environment of every run.
    var environment: [String: String] = [:]
    /// The files of the stage that are compared by name.
    var isKept: (String) -> Bool = { _ in true }
    /// Whether programs are spared an Argon2id that another has worked out. Those whose memory is searched are not.
    var isMemoUsed = true
    var store: String { scratch["store.db"] }
    /// The people of a stage of whom nobody has done anything yet.
    private var untouched: [String]?

    init(scratch: Scratch) { self.scratch = scratch }

    /// These people's homes, and a store with their cards. Made once: each stage has a copy.
    convenience init(_ people: String...) throws {
        let made = try PreparedStages.scratch(for: people.joined(separator: " ")) {
            let stage = Stage(scratch: try Scratch())
            for person in people { try stage.add(person) }
            return stage.scratch
        }
        self.init(scratch: try Scratch(copyOf: made))
        untouched = people
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
        untouched = nil
        var program = Program(
            directory: scratch.path,
            environment: [
                "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": scratch.path, "TERM": "xterm", "LANG": "C.UTF-8",
                "TRESOR_STORE": store,
                "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
            ])
        program.wrapper = wrapper
        if isMemoUsed { program.environment.merge(PasswordMemo.environment) { $1 } }
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

    /// `owner` makes a tresor called `plans` and adds `readers`; everybody has compared numbers. Made once for people
    /// who have done nothing yet.
    func share(_ tresor: String = "plans", of owner: String, with readers: String...) throws {
        guard let people = untouched, wrapper.isEmpty, environment.isEmpty else {
            return try share(tresor, of: owner, with: readers)
        }
        let words = people + ["share", tresor, owner] + readers
        let made = try PreparedStages.scratch(for: words.joined(separator: " ")) {
            let stage = Stage(scratch: try Scratch(copyOf: scratch))
            try stage.share(tresor, of: owner, with: readers)
            return stage.scratch
        }
        untouched = nil
        for name in try FileManager.default.contentsOfDirectory(atPath: made.path)
        where name == "homes" || name.hasPrefix("store.db") {
            try? FileManager.default.removeItem(atPath: scratch[name])
            try FileManager.default.copyItem(atPath: made[name], toPath: scratch[name])
        }
    }

    private func share(_ tresor: String, of owner: String, with readers: [String]) throws {
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
