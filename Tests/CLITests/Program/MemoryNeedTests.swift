// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tresor
import TresorCrypto

@testable import TresorCommand

/// A password whose cost does not fit this machine.
@Suite("Memory for a password")
struct MemoryNeedTests {
    @Test("The message names need and limit, and the hint the way out", arguments: [true, false])
    func words(_ isNew: Bool) throws {
        let cost = try Argon2id.Cost(memoryKiB: 4_194_304, passes: 3)
        let failure = MemoryNeed.failure(for: cost, isNew: isNew)
        #expect(failure.error == .failed(.memory))
        #expect(failure.message.contains(#/takes 4096 MiB of memory, and this .* \d+ MiB at most: /#))
        #expect(failure.hints.last == (isNew ? "tresor … {--argon2id} --argon2id 256,3" : "tresor recover"))
    }

    @Test("No hint takes as much as what failed", arguments: [true, false])
    func lowerCosts(_ isNew: Bool) {
        let standard = MemoryNeed.failure(for: .standard, isNew: isNew)
        #expect(
            standard.hints.last
                == (isNew ? "tresor … {--argon2id} --argon2id 64,3" : "tresor recover --argon2id 64,3"))
        #expect(isNew || standard.message.hasSuffix("the recovery kit sets a new password, which takes 64 MiB"))
        let least = MemoryNeed.failure(for: .floor, isNew: isNew)
        #expect(least.hints.allSatisfy { $0 == "ulimit -v unlimited" })
        #expect(least.message.hasSuffix("the program needs some itself, and no password takes less"))
    }

    @Test("A limit of the process is named, and the kit opens what the password cannot", .longRun)
    func limited() throws {
        let runner = try ScriptRunner(Script(name: "memory", text: ""))
        try runner.run(Script(name: "memory", text: "as anna\ntresor recover --new-kit --kit kit").commands[...])
        func shell(_ line: String) throws -> ChildProcess.Result {
            let child = ChildProcess(
                arguments: ["-c", "tresor() { '\(ChildProcess.program)' \"$@\"; }\nulimit -v 1500000\n\(line)"],
                environment: runner.environment, directory: runner.work.path)
            return try child.run(program: "/bin/sh")
        }
        let password = "--new-password-file \"$TRESOR_PASSWORD_FILE\""
        let refused = try shell("tresor passwd \(password) --argon2id 2048,3")
        #expect(refused.code == 1)
        #expect(refused.errorText.contains("takes 2048 MiB of memory, and this process may have 1464 MiB at most"))
        #expect(refused.errorText.contains("tresor: hint: ulimit -v unlimited\n"))
        let costly = ["passwd", "--new-password-file", "homes/anna.password", "--argon2id", "2048,3"]
        #expect(try runner.runTresor(costly).code == 0)
        let closed = try shell("tresor create one")
        #expect(closed.code == 1 && closed.errorText.contains("hint: tresor recover\n"), "\(closed.errorText)")
        #expect(try shell("tresor recover --kit kit \(password) && tresor create one").code == 0)
    }
}
