// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Many at once", .longRun)
struct TenProcessesTests {
    /// Runs each command in a process of its own, all at once, and repeats those that another writer delayed.
    private func runAtOnce(_ commands: [[String]], in runner: ScriptRunner) throws -> [ChildProcess.Result] {
        let (directory, environment) = (runner.work.path, runner.environment)
        let results = Mutex<[Int: ChildProcess.Result]>([:])
        let threads = commands.enumerated().map { index, arguments in
            Thread {
                let child = ChildProcess(arguments: arguments, environment: environment, directory: directory)
                for _ in 0..<5 {
                    guard let result = try? child.run() else { return }
                    results.withLock { $0[index] = result }
                    guard result.code == 11 else { return }
                }
            }
        }
        for thread in threads { thread.start() }
        while !threads.allSatisfy(\.isFinished) { usleep(10_000) }
        return try commands.indices.map { index in
            guard let result = results.withLock({ $0[index] }) else {
                throw ScriptFailure("\(commands[index]): no end")
            }
            return result
        }
    }

    private func script(_ text: String, in runner: ScriptRunner) throws {
        try runner.run(Script(name: "ten-processes", text: text).commands[...])
    }

    @Test("Ten processes with different commands on one home and one store lose no pin, head, slot or entry")
    func A107_tenCommands() throws {
        let runner = try ScriptRunner(Script(name: "ten-processes", text: ""))
        try script(
            """
            as bob
            tresor card -o bob.card
            as carl
            tresor card -o carl.card
            as anna
            tresor create one
            tresor create two
            tresor create three
            tresor share -t three bob --card bob.card
            tresor remember --name before
            write plan words
            tresor encrypt -t two plan -o before.tresor
            """, in: runner)
        let password = runner.environment["TRESOR_PASSWORD_FILE"] ?? ""
        let commands = [
            ["create", "four"], ["create", "five"],
            ["share", "-t", "one", "bob"], ["share", "-t", "two", "carl", "--card", "carl.card"],
            ["revoke", "-t", "three", "bob", "--yes"], ["rotate", "-t", "two", "--yes"],
            ["encrypt", "-t", "one", "plan", "-o", "during.tresor"],
            ["verify", "carl", "--card", "carl.card"],
            ["recover", "--new-kit", "--kit", "kit.txt"],
            ["remember", "--name", "after", "--password-file", password],
        ]
        for (command, result) in zip(commands, try runAtOnce(commands, in: runner)) {
            #expect(result.code == 0, "\(command): \(result.errorText)")
        }
        try script(
            #"""
            tresor check --deep before.tresor during.tresor
            ! stdout '^bad'
            ! stdout 'lacks a key|keeps a key|interrupted|no server share|no copy'
            stdout '^ok +person bob +in order$'
            stdout '^ok +person carl +in order$'
            tresor list
            stdout '^one +anna +owner +2 +1 +ok$'
            stdout '^two +anna +owner +2 +2 +ok$'
            stdout '^three +anna +owner +1 +2 +ok$'
            stdout '^four +anna +owner +1 +1 +ok$'
            stdout '^five +anna +owner +1 +1 +ok$'
            tresor log -t one
            ! stdout '^2 '
            tresor log -t two
            stdout '^2 '
            ! stdout '^3 '
            tresor log -t three
            stdout '^2 '
            ! stdout '^3 '
            tresor device list
            stdout '^[0-9a-z]{10}\* +after '
            ! stdout 'before'
            env TRESOR_PASSWORD_FILE=
            tresor list --batch
            as anna
            tresor device list
            chmod 600 new
            tresor recover --kit kit.txt --new-password-file new --argon2id 64,3
            tresor forget
            tresor device list --password-file new
            -- new --
            another password
            """#.replacing("-- new --\nanother password", with: "").replacing(
                "chmod 600 new", with: "write new 'another password'\nchmod 600 new"),
            in: runner)
    }
}
