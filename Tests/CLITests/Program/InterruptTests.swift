// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("Interrupts and locks")
struct InterruptTests {
    private func runner() throws -> ScriptRunner { try ScriptRunner(Script(name: "interrupts", text: "")) }

    private func script(_ text: String, in runner: ScriptRunner) throws {
        try runner.run(Script(name: "interrupts", text: text).commands[...])
    }

    @Test(
        "INT, TERM and HUP at a prompt end it with 130, the echo restored and nothing written",
        arguments: [SIGINT, SIGTERM, SIGHUP])
    func prompt(_ signal: Int32) throws {
        let runner = try runner()
        try script("as anna\nenv TRESOR_PASSWORD_FILE=", in: runner)
        let identity = try runner.content("homes/anna/identity")
        let terminal = try PseudoTerminal([])
        let child = ChildProcess(
            arguments: ["passwd"], environment: runner.environment, directory: runner.work.path, terminal: terminal)
        let error = runner.work.appendingPathComponent("error")
        let number = try child.spawn(
            ChildProcess.program, output: runner.work.appendingPathComponent("output").path, error: error.path)
        while !terminal.transcript.contains("password for anna") { try terminal.attend(milliseconds: 20) }
        #expect(!terminal.echoes)
        #expect(kill(number, signal) == 0)
        #expect(try child.wait(for: number) == 130)
        #expect(terminal.echoes)
        #expect(try String(contentsOf: error, encoding: .utf8) == "tresor: error: interrupted\n")
        #expect(try runner.content("homes/anna/identity") == identity)
    }

    @Test("A home that somebody else writes to is busy")
    func home() throws {
        let runner = try runner()
        try script("as anna\ntresor create one", in: runner)
        let lock = open(runner.file("homes/anna/lock").path, O_RDWR)
        #expect(flock(lock, LOCK_EX) == 0)
        try script("! tresor passwd --new-password-file homes/anna.password\ncode 11\n! stdout .", in: runner)
        try script("stderr '^tresor: error: '", in: runner)
        close(lock)
        try script("tresor passwd --new-password-file homes/anna.password --argon2id 64,3", in: runner)
    }

    @Test("A store that somebody else writes to is busy, and nothing is changed")
    func store() throws {
        let runner = try runner()
        try script("as anna\ntresor create one", in: runner)
        let lock = try Database(runner.store.path)
        try lock.run("BEGIN IMMEDIATE")
        try script(
            "! tresor rotate -t one --yes\ncode 11\ntresor list\nstdout '^one +anna +owner +1 +1 +ok$'", in: runner)
        try lock.run("ROLLBACK")
        try script("tresor rotate -t one --yes", in: runner)
    }
}
