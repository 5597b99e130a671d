// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// INT, TERM and HUP: 130, nothing half done, the terminal as it was.
@Suite("Signals")
struct SignalTests {
    private func runner() throws -> ScriptRunner {
        let runner = try ScriptRunner(Script(name: "signals", text: "as anna\ntresor create plans"))
        try runner.run()
        return runner
    }

    private func names(_ directory: URL) throws -> [String] {
        // SQLite's own files stay with its database until a process closes it.
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            .filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    }

    @Test("A prompt for the password ends with 130 and gives the echo back", arguments: [SIGINT, SIGTERM, SIGHUP])
    func prompt(_ signal: Int32) throws {
        let runner = try runner()
        runner.environment["TRESOR_PASSWORD_FILE"] = nil
        let before = try Data(contentsOf: runner.file("homes/anna/identity"))
        let terminal = try PseudoTerminal([])
        let error = runner.work.appendingPathComponent("error")
        let child = ChildProcess(
            arguments: ["create", "more"], environment: runner.environment, directory: runner.work.path,
            terminal: terminal)
        let id = try child.spawn(
            ChildProcess.program, output: runner.work.appendingPathComponent("output").path, error: error.path)
        let deadline = Date(timeIntervalSinceNow: 60)
        while !terminal.transcript.contains("password for anna"), Date() < deadline {
            try terminal.attend(milliseconds: 20)
        }
        while terminal.echoes, Date() < deadline { try terminal.attend(milliseconds: 20) }
        terminal.type(Array("half a passw".utf8))
        kill(id, signal)
        #expect(try child.wait(for: id) == 130)
        #expect(terminal.echoes)
        #expect(!terminal.transcript.contains("half"))
        #expect(try String(contentsOf: error, encoding: .utf8) == "tresor: error: interrupted\n")
        #expect(try Data(contentsOf: runner.file("homes/anna/identity")) == before)
        #expect(try names(runner.work.appendingPathComponent("homes/anna")).filter { $0.hasSuffix(".tmp") } == [])
    }

    @Test("A file that is being sealed leaves nothing, neither output nor temporary", arguments: [SIGINT, SIGTERM])
    func sealing(_ signal: Int32) throws {
        let runner = try runner()
        let pipe = runner.work.appendingPathComponent("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        let held = open(pipe.path, O_RDWR)
        defer { close(held) }
        let before = try names(runner.work)
        let child = ChildProcess(
            arguments: ["encrypt", "-t", "plans", "-o", "plan.tresor"], environment: runner.environment,
            directory: runner.work.path, standardInput: pipe.path)
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-signals-\(UUID())")
        defer { try? FileManager.default.removeItem(at: output) }
        let id = try child.spawn(ChildProcess.program, output: output.path, error: "/dev/null")
        let content = [UInt8](repeating: 0x41, count: 200)
        #expect(write(held, content, content.count) == content.count)
        // The program reads the content from the pipe after everything before it is done.
        var waiting: Int32 = 1
        let deadline = Date(timeIntervalSinceNow: 60)
        while ioctl(held, UInt(FIONREAD), &waiting) == 0, waiting > 0, Date() < deadline { usleep(5_000) }
        #expect(waiting == 0)
        kill(id, signal)
        #expect(try child.wait(for: id) == 130)
        #expect(try names(runner.work) == before)
        #expect(try Data(contentsOf: output).isEmpty)
    }

    /// The making takes 1 GiB for some seconds, in which the signal comes.
    @Test("An identity that was moved aside comes back when the making of the next is interrupted", .longRun)
    func movedAside() throws {
        let runner = try runner()
        let home = runner.file("homes/anna")
        let before = try Data(contentsOf: runner.file("homes/anna/identity"))
        let child = ChildProcess(
            arguments: ["keygen", "other", "--force", "--no-kit", "--batch", "--argon2id", "1024,16"],
            environment: runner.environment, directory: runner.work.path)
        let error = runner.work.appendingPathComponent("error")
        let id = try child.spawn(
            ChildProcess.program, output: runner.work.appendingPathComponent("output").path, error: error.path)
        let deadline = Date(timeIntervalSinceNow: 60)
        while try !names(home).contains(where: { $0.hasPrefix("identity.") }), Date() < deadline { usleep(5_000) }
        kill(id, SIGINT)
        #expect(try child.wait(for: id) == 130)
        #expect(try Data(contentsOf: runner.file("homes/anna/identity")) == before)
        #expect(try !names(home).contains { $0.hasPrefix("identity.") })
    }

    /// Of the shells, dash does not pass on that it ignores this.
    @Test(
        "A caller that ignores the end of children does not take away the password command's",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/bin/bash"), "there is no bash"))
    func ignoredChildren() throws {
        let runner = try runner()
        runner.environment["TRESOR_PASSWORD_COMMAND"] = "cat \(runner.work.path)/homes/anna.password"
        runner.environment["TRESOR_PASSWORD_FILE"] = nil
        let line = "trap '' CHLD; exec \"$0\" \"$@\""
        let child = ChildProcess(
            arguments: ["-c", line, ChildProcess.program, "create", "more"], environment: runner.environment,
            directory: runner.work.path)
        #expect(try child.run(program: "/bin/bash").code == 0)
    }

    @Test("A signal that was ignored by the caller stays ignored")
    func ignored() throws {
        let runner = try runner()
        runner.environment["TRESOR_PASSWORD_COMMAND"] = "kill -INT $PPID; cat \(runner.work.path)/homes/anna.password"
        runner.environment["TRESOR_PASSWORD_FILE"] = nil
        let line = "trap '' INT; exec \"$0\" \"$@\""
        let child = ChildProcess(
            arguments: ["-c", line, ChildProcess.program, "create", "more"], environment: runner.environment,
            directory: runner.work.path)
        #expect(try child.run(program: "/bin/sh").code == 0)
        let heeding = ChildProcess(
            arguments: ["create", "another"], environment: runner.environment, directory: runner.work.path)
        #expect(try heeding.run().code == 130)
    }
}
