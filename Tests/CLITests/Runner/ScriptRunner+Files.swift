// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The verbs that arrange files, and those that play the adversary.
extension ScriptRunner {
    var store: URL { work.appendingPathComponent("store.db") }

    func arrange(_ verb: String, _ operands: [String]) throws -> Bool {
        let files = FileManager.default
        switch verb {
        case "cp":
            guard operands.count == 2 else { throw ScriptFailure("cp takes two files") }
            try write(Data(try content(operands[0])), to: operands[1])
        case "mv":
            guard operands.count == 2 else { throw ScriptFailure("mv takes two files") }
            try files.moveItem(at: existing(operands[0]), to: file(operands[1]))
        case "ln":
            guard operands.count == 2 else { throw ScriptFailure("ln takes two files") }
            try files.createSymbolicLink(at: file(operands[1]), withDestinationURL: file(operands[0]))
        case "rm":
            for operand in operands { try files.removeItem(at: file(operand)) }
        case "mkdir":
            for operand in operands { try files.createDirectory(at: file(operand), withIntermediateDirectories: true) }
        case "chmod":
            guard operands.count == 2, let mode = mode_t(operands[0], radix: 8) else {
                throw ScriptFailure("chmod takes a mode and a file")
            }
            guard chmod(file(operands[1]).path, mode) == 0 else { throw ScriptFailure("there is no \(operands[1])") }
        case "capture":
            guard operands.count == 3 else { throw ScriptFailure("capture takes a name, a file and an expression") }
            let text = String(decoding: try content(operands[1]), as: UTF8.self)
            let regex = try Regex<AnyRegexOutput>(operands[2]).anchorsMatchLineEndings()
            guard let match = text.firstMatch(of: regex), match.output.count > 1, let group = match.output[1].substring
            else { throw ScriptFailure("it does not match") }
            variables[operands[0]] = String(group)
        case "write":
            guard operands.count == 2 else { throw ScriptFailure("write takes a file and a text") }
            try write(Data(operands[1].utf8), to: operands[0])
        default:
            return false
        }
        return true
    }

    func attack(_ verb: String, _ operands: [String]) throws -> Bool {
        switch verb {
        case "flip":
            guard operands.count == 2, let offset = Int(operands[1]) else {
                throw ScriptFailure("flip takes a file and an offset")
            }
            var bytes = try content(operands[0])
            let index = offset < 0 ? bytes.count + offset : offset
            guard bytes.indices.contains(index) else { throw ScriptFailure("the file has \(bytes.count) bytes") }
            bytes[index] ^= 1
            try write(Data(bytes), to: operands[0])
        case "cut":
            guard operands.count == 2, let length = Int(operands[1]) else {
                throw ScriptFailure("cut takes a file and a length")
            }
            let bytes = try content(operands[0])
            guard (0...bytes.count).contains(length) else { throw ScriptFailure("the file has \(bytes.count) bytes") }
            try write(Data(bytes.prefix(length)), to: operands[0])
        case "lock":
            guard operands.count == 1 else { throw ScriptFailure("lock takes a file") }
            try lock(operands[0])
        case "unlock":
            locked = nil
        case "store":
            guard operands.count == 2 else { throw ScriptFailure("store takes save, load or sql, and one operand") }
            try attackStore(operands[0], operands[1])
        default:
            return false
        }
        return true
    }

    /// Holds a lock, as another writer would, until `unlock`: of the store, or of the home of this lock file.
    private func lock(_ name: String) throws {
        guard file(name) != store else {
            let connection = try Database(store.path)
            try connection.run("BEGIN IMMEDIATE")
            locked = connection
            return
        }
        let handle = try FileHandle(forUpdating: existing(name))
        guard flock(handle.fileDescriptor, LOCK_EX) == 0 else { throw ScriptFailure("\(name) cannot be locked") }
        locked = handle
    }

    private func attackStore(_ verb: String, _ operand: String) throws {
        let saved = work.appendingPathComponent("saved-\(operand)")
        switch verb {
        case "save": try copyStore(from: store, to: saved)
        case "load": try copyStore(from: saved, to: store)
        case "sql": try Database(store.path).run(operand)
        default: throw ScriptFailure("there is no verb store \(verb)")
        }
    }

    /// A database is its file and what SQLite keeps beside it.
    private func copyStore(from source: URL, to target: URL) throws {
        guard FileManager.default.fileExists(atPath: source.path) else {
            throw ScriptFailure("there is no \(source.path)")
        }
        for suffix in ["", "-wal", "-shm"] {
            let (from, to) = (source.path + suffix, target.path + suffix)
            if FileManager.default.fileExists(atPath: to) { try FileManager.default.removeItem(atPath: to) }
            if FileManager.default.fileExists(atPath: from) {
                try FileManager.default.copyItem(atPath: from, toPath: to)
            }
        }
    }

    /// The place of a file. A last component `*END` is the one name there that ends so: a home gives its files names that
    /// no script knows.
    func file(_ name: String) -> URL {
        let url = name.hasPrefix("/") ? URL(fileURLWithPath: name) : work.appendingPathComponent(name)
        guard url.lastPathComponent.hasPrefix("*") else { return url }
        let (folder, end) = (url.deletingLastPathComponent(), url.lastPathComponent.dropFirst())
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let found = names.filter { $0.hasSuffix(end) }
        return found.count == 1 ? folder.appendingPathComponent(found[0]) : url
    }

    func existing(_ name: String) throws -> URL {
        let url = file(name)
        guard FileManager.default.fileExists(atPath: url.path) else { throw ScriptFailure("there is no \(name)") }
        return url
    }

    /// A file's bytes; `stdout`, `stderr` and `tty` are those of the last run.
    func content(_ name: String) throws -> [UInt8] {
        switch name {
        case "stdout", "stderr", "tty":
            guard let last else { throw ScriptFailure("nothing has run") }
            return name == "stdout" ? last.output : name == "stderr" ? last.error : Array(last.transcript.utf8)
        default:
            return [UInt8](try Data(contentsOf: try existing(name)))
        }
    }

    func write(_ data: Data, to name: String) throws {
        let url = file(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: url)
    }

    func mode(of name: String) throws -> mode_t {
        var status = stat()
        guard lstat(file(name).path, &status) == 0 else { throw ScriptFailure("there is no \(name)") }
        return status.st_mode & 0o7777
    }
}

/// A store file, opened by the SQLite that the test process has loaded: the program under test brings it along.
final class Database {
    private typealias Open = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<OpaquePointer?>) -> Int32
    private typealias Execute = @convention(c) (OpaquePointer?, UnsafePointer<CChar>, Int, Int, Int) -> Int32
    private typealias Close = @convention(c) (OpaquePointer?) -> Int32

    private var database: OpaquePointer?

    init(_ path: String) throws {
        guard try Self.function("sqlite3_open", as: Open.self)(path, &database) == 0 else {
            throw ScriptFailure("SQLite cannot open \(path)")
        }
    }

    deinit {
        _ = try? Self.function("sqlite3_close", as: Close.self)(database)
    }

    func run(_ sql: String) throws {
        guard try Self.function("sqlite3_exec", as: Execute.self)(database, sql, 0, 0, 0) == 0 else {
            throw ScriptFailure("SQLite refused the statement")
        }
    }

    private static func function<Function>(_ name: String, as type: Function.Type) throws -> Function {
        guard let symbol = dlsym(nil, name) else { throw ScriptFailure("SQLite is not loaded") }
        return unsafeBitCast(symbol, to: type)
    }
}
