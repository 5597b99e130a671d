// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `TRESOR_PASSWORD_COMMAND` that asks a person at the terminal, as a pin entry does.
@Suite("The password command at a terminal")
struct PasswordCommandTests {
    private let runner: ScriptRunner

    private static let asking = "printf 'pin: ' >/dev/tty; IFS= read -r p </dev/tty && printf '%s' \"$p\""
    private static let silent = "stty -echo </dev/tty && \(asking)"

    init() throws {
        runner = try ScriptRunner(Script(name: "password-command", text: ""))
        try runner.run(Script(name: "password-command", text: "as anna").commands[...])
    }

    private func run(
        _ command: String, at terminal: PseudoTerminal?, _ line: String = "tresor create one"
    ) throws -> ChildProcess.Result {
        var environment = runner.environment
        environment["TRESOR_PASSWORD_FILE"] = nil
        environment["TRESOR_PASSWORD_COMMAND"] = command
        let child = ChildProcess(
            arguments: ["-c", "tresor() { '\(ChildProcess.program)' \"$@\"; }\n\(line)"], environment: environment,
            directory: runner.work.path, terminal: terminal)
        return try child.run(program: "/bin/sh")
    }

    @Test("It reads what is typed, without echo if it likes", arguments: [silent, "\(silent); stty echo </dev/tty"])
    func asks(_ command: String) throws {
        let terminal = try PseudoTerminal([.init(prompt: "pin: ", answer: "the password of anna")])
        let result = try run(command, at: terminal)
        #expect(result.code == 0, "\(result.errorText)")
        #expect(!result.transcript.contains("the password of"))
        #expect(terminal.echoes)
    }

    @Test("The shell has the terminal again afterwards")
    func goesOn() throws {
        let terminal = try PseudoTerminal([
            .init(prompt: "pin: ", answer: "the password of anna"), .init(prompt: "next: ", answer: "word"),
        ])
        let line = "tresor create one && printf 'next: ' >/dev/tty && read -r w </dev/tty && echo \"got $w\""
        let result = try run(Self.silent, at: terminal, line)
        #expect(result.code == 0 && result.outputText.hasSuffix("got word\n"), "\(result.errorText)")
    }

    @Test("Ctrl-C ends the program as well, and the terminal is as before")
    func interrupted() throws {
        let terminal = try PseudoTerminal([.init(prompt: "pin: ", bytes: [3])])
        let result = try run(Self.silent, at: terminal, "exec '\(ChildProcess.program)' create one")
        #expect(result.code == 130, "\(result.errorText)")
        #expect(terminal.echoes)
    }

    @Test("Without a terminal it fails at once, and the message says why", arguments: [asking, silent])
    func noTerminal(_ command: String) throws {
        let result = try run(command, at: nil)
        #expect(result.code == 1)
        #expect(result.errorText.contains("(it can ask nobody: there is no terminal)"), "\(result.errorText)")
    }

    @Test("--batch gives it no terminal: it is not waited for", arguments: [asking, silent])
    func batch(_ command: String) throws {
        let result = try run(command, at: try PseudoTerminal([]), "tresor create one --batch")
        #expect(result.code == 1)
        #expect(
            result.errorText.contains("wants the terminal (it can ask nobody: --batch forbids asking)"),
            "\(result.errorText)")
        #expect(result.errorText.contains("hint: tresor create one --batch --password-file FILE"))
    }

    @Test("An entry of several lines is told the way to its first line, and the way works")
    func severalLines() throws {
        let entry = "printf 'the password of anna\\nuser: anna\\nurl: example\\n'"
        let refused = try run(entry, at: nil)
        #expect(refused.code == 64)
        #expect(refused.errorText.contains("has more than one line: 3 of them"), "\(refused.errorText)")
        let hint = try #require(refused.errorText.split(separator: "\n").first { $0.hasPrefix("tresor: hint: ") })
        #expect(try run(entry, at: nil, "\(hint.dropFirst("tresor: hint: ".count)); tresor create one").code == 0)
    }

    @Test("After the time limit the terminal is as before", .longRun)
    func late() throws {
        let terminal = try PseudoTerminal([])
        let result = try run(Self.silent, at: terminal)
        #expect(result.code == 1 && result.errorText.contains("took too long"), "\(result.errorText)")
        #expect(terminal.echoes)
    }
}
