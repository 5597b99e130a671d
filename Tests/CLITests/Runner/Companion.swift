// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program on another machine of a person: `beside` prepares it, and it begins when the terminal of the next run has
/// shown what its first prompt has a group for. `%1` in its answers stands for that. `other` waits for its end.
final class Companion: @unchecked Sendable {
    private let arguments: [String]
    private let program: String
    private let environment: [String: String]
    private let directory: String
    private let dialogue: [PseudoTerminal.Line]
    private let ended = DispatchSemaphore(value: 0)
    private var hasBegun = false
    private var result: Result<ChildProcess.Result, any Error>?

    init(
        _ arguments: [String], program: String, environment: [String: String], directory: String,
        dialogue: [PseudoTerminal.Line]
    ) {
        self.arguments = arguments
        self.program = program
        self.environment = environment
        self.directory = directory
        self.dialogue = dialogue
    }

    /// Begins, with what the other terminal has shown.
    func begin(_ shown: String) {
        guard !hasBegun else { return }
        hasBegun = true
        Thread.detachNewThread { [self] in
            result = Result { try run(shown) }
            ended.signal()
        }
    }

    private func run(_ shown: String) throws -> ChildProcess.Result {
        let lines = dialogue.map { line in
            line.answering(String(decoding: line.answer, as: UTF8.self).replacing("%1", with: shown))
        }
        let terminal = try PseudoTerminal(lines)
        let child = ChildProcess(
            arguments: arguments, environment: environment, directory: directory, terminal: terminal)
        let result = try child.run(program: program)
        if let line = terminal.unread.first { throw ScriptFailure("tty '\(line.prompt)' was never asked beside") }
        return result
    }

    /// Waits for its end.
    func end() throws -> ChildProcess.Result {
        guard hasBegun else { throw ScriptFailure("what was prepared has not begun") }
        ended.wait()
        // It may be asked for again.
        ended.signal()
        guard let result else { throw ScriptFailure("what was prepared has no result") }
        return try result.get()
    }
}
