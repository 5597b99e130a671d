// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Two processes at once: the second waits, then reports that it waited.
@Suite("Busy")
struct BusyTests {
    @Test("A home that somebody else is writing to is busy, and free afterwards")
    func home() throws {
        let runner = try ScriptRunner(Script(name: "busy-home", text: "as dr-house\nas anna\ntresor create plans"))
        try runner.run()
        let lock = open(runner.file("homes/anna/lock").path, O_RDWR | O_CREAT, 0o600)
        #expect(lock >= 0)
        #expect(flock(lock, LOCK_EX) == 0)
        let refused = try runner.runTresor(["create", "more"])
        #expect(refused.code == 11)
        #expect(refused.errorText.hasPrefix("tresor: error: "))
        #expect(refused.output.isEmpty)
        close(lock)
        #expect(try runner.runTresor(["check"]).code == 0)
        #expect(try runner.runTresor(["list"]).outputText.contains("plans"))
    }

    @Test("A store that somebody else is writing to is busy, and reading it is not")
    func store() throws {
        let runner = try ScriptRunner(Script(name: "busy-store", text: "as anna\ntresor create plans"))
        try runner.run()
        let database = try Database(runner.store.path)
        try database.run("BEGIN IMMEDIATE")
        let refused = try runner.runTresor(["create", "more"])
        #expect(refused.code == 11)
        #expect(refused.output.isEmpty)
        #expect(try runner.runTresor(["list"]).code == 0)
        try database.run("ROLLBACK")
        #expect(try runner.runTresor(["create", "more"]).code == 0)
    }
}
