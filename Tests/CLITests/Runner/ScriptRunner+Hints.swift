// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Each hint that a command prints is run on the files as the command met them, and does not fail the same way.
///
/// A hint that names a person is run with the home of that person. A hint that is no command of ours mends something, and
/// the command that failed follows it. A page is the same whatever the files are: it is shown once.
extension ScriptRunner {
    private static let shownPages = Mutex<Set<String>>([])

    /// The files before a command that is to fail.
    func copyForHints() throws -> URL {
        let before = work.appendingPathExtension("before")
        try? FileManager.default.removeItem(at: before)
        try copy(work, to: before)
        return before
    }

    /// Copies a folder in a process of its own: to close a store here would drop the locks that this process has on it.
    private func copy(_ folder: URL, to other: URL) throws {
        let child = ChildProcess(
            arguments: ["-a", folder.path, other.path], environment: environment, directory: "/")
        guard try child.run(program: "/bin/cp").code == 0 else { throw ScriptFailure("\(folder.path) was not copied") }
    }

    /// - Parameters:
    ///   - arguments: the arguments of the command.
    ///   - input: its standard input.
    ///   - before: the files as it met them; `nil` for a command that did not fail, whose hints go on from there.
    func runHints(after arguments: [String], input: String?, from before: URL?) throws {
        defer { before.map { try? FileManager.default.removeItem(at: $0) } }
        guard let failed = last else { return }
        let shown = Self.shownPages.withLock { $0 }
        let hints = Self.hints(of: failed).filter { !shown.contains($0) }
        guard !hints.isEmpty else { return }
        let before = try before ?? copyForHints()
        defer { try? FileManager.default.removeItem(at: before) }
        let after = work.appendingPathExtension("after")
        let (kept, start) = (environment, log)
        try FileManager.default.moveItem(at: work, to: after)
        defer {
            (last, environment, log) = (failed, kept, start)
            try? FileManager.default.removeItem(at: work)
            try? FileManager.default.moveItem(at: after, to: work)
        }
        for hint in hints {
            try? FileManager.default.removeItem(at: work)
            try copy(before, to: work)
            environment = kept
            let result = try run(hint, after: arguments, input: input)
            // The hint's own command was refused by the parser, or does no better.
            guard !result.errorText.contains(#/^usage: /#.anchorsMatchLineEndings()),
                result.code == 0 || result.code != failed.code || result.errorText != failed.errorText
            else { throw ScriptFailure("the hint does not work: \(hint): \(result.code): \(result.errorText)") }
            if hint.hasPrefix("tresor help ") { Self.shownPages.withLock { _ = $0.insert(hint) } }
        }
    }

    private func run(_ hint: String, after arguments: [String], input: String?) throws -> ChildProcess.Result {
        if let person = hint.prefixMatch(of: #/ask (.+?) to run: /#)?.1 {
            let home = work.appendingPathComponent("homes/\(person)").path
            if FileManager.default.fileExists(atPath: home) {
                environment["TRESOR_HOME"] = home
                environment["TRESOR_PASSWORD_FILE"] = "\(home).password"
            }
        }
        guard
            let command = hint.firstMatch(of: #/^(?:[^:]+: )?(tresor .*)|^((?:chmod|install|mkdir|mv|sudo|unset) .*)/#)
        else {
            throw ScriptFailure("the hint is no command: \(hint)")
        }
        // Of a long command a hint repeats nothing.
        guard !hint.contains("…") else { return ChildProcess.Result(code: 0, output: [], error: [], transcript: "") }
        let mending = command.output.2.map { "\($0)\ntresor \"$@\"" }
        let functions = "tresor() { \"$0\" \"$@\"; }; sudo() { \"$@\"; }"
        let script = "\(functions); \(mending ?? String(command.output.1 ?? ""))"
        let child = ChildProcess(
            arguments: ["-c", script, ChildProcess.program] + arguments,
            environment: environment.merging(try intruder.variables()) { $1 }, directory: work.path,
            standardInput: input ?? "/dev/null")
        return try child.run(program: "/bin/bash")
    }

    /// The hints that a run printed, as text or as objects.
    private static func hints(of result: ChildProcess.Result) -> [String] {
        result.errorText.split(separator: "\n").flatMap { line -> [String] in
            if line.hasPrefix("tresor: hint: ") { return [String(line.dropFirst(14))] }
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["hints"] as? [String] ?? []
        }
    }
}
