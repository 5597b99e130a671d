// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@Suite("Scripts")
struct ScriptTests {
    @Test("The built program does what a script says", arguments: try Script.all(areLong: false))
    func script(_ script: Script) throws { try run(script) }

    @Test(
        "The built program does what a script of the long run says", .longRun,
        arguments: try Script.all(areLong: true))
    func longScript(_ script: Script) throws { try run(script) }

    private func run(_ script: Script) throws {
        let runner = try ScriptRunner(script)
        do {
            try runner.run()
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test(
        "What a script may not do fails it",
        arguments: [
            "frobnicate": "there is no verb",
            "! write a b": "there is no verb",
            "tty 'password' 'x'\ntresor help": "was never asked",
            "tty 'password' 'x'": "has no run",
            "stdin a\n-- a --\n": "has no run",
            "tresor lisst": "exit code is 64",
            "! tresor help": "exit code is 0",
            "code 0": "nothing has run",
            "tresor help\ncode 64": "exit code is 0",
            "tresor help\nstdout 'no such line'": "does not match",
            "tresor help\n! stdout .": "it matches",
            "tresor --json help": "",
            "! tresor --json lisst\njson code 65": "the value is 64",
            "exists a": "is missing",
            "cmp a b\n-- a --\nx\n-- b --\ny": "differ",
            "whole a b\n-- a --\nx\n-- b --\ny": "none of them",
            "again": "there is no verb",
            "kill x": "takes a number",
            "kill 3": "has no run",
            "write a 'b": "not closed",
        ])
    func refusal(_ text: String, _ expected: String) throws {
        let runner = try ScriptRunner(Script(name: "refusal", text: text))
        guard !expected.isEmpty else { return try runner.run() }
        let failure = try #require(throws: ScriptFailure.self) { try runner.run() }
        #expect(failure.description.contains(expected))
    }
}
