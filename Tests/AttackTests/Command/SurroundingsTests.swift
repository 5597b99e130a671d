// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A machine that is not as one would like it, and many programs at once.
@Suite struct SurroundingsTests {
    private let stage: Stage

    init() throws {
        stage = try Stage("anna", "house")
        try stage.share(of: "anna", with: "house")
        try stage.write(Array("{}".utf8), to: "plan.json")
    }

    /// A descriptor that is closed goes to nobody's file: neither a secret nor a state is written through it.
    @Test(arguments: [[0], [1], [2], [1, 2], [0, 1, 2]] as [Set<Int32>])
    func A109_closedDescriptorsReceiveNothing(closed: Set<Int32>) throws {
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        let identity = stage["homes/anna/identity"]
        var program = stage.program
        program.closed = closed
        for arguments in [
            ["decrypt", "plan.tresor"], ["rotate", "-t", "plans", "--yes"], ["list"], ["decrypt"], ["frobnicate"],
        ] {
            let ending = try program.run(stage.words(as: "anna") + arguments)
            #expect(ending.code >= 0, "\(arguments) without \(closed) ended by a signal")
            let needsOutput = arguments != ["rotate", "-t", "plans", "--yes"]
            if closed.contains(1), needsOutput { #expect(ending.code != 0, "\(arguments) without \(closed)") }
        }
        #expect(stage["homes/anna/identity"] == identity)
        #expect(try stage.run(as: "anna", ["check", "--deep"]).code == 0)
    }

    @Test func A109_aPasswordCommandThatFailsOrFloods() throws {
        for (command, code) in [
            ("false", 1), ("exit 7", 1), ("yes", 64), ("head -c 5000 /dev/zero", 64), (":", 64),
            ("echo wrong-password", 12), ("/no/such/program", 1), ("kill -9 $$", 1),
        ] as [(String, Int32)] {
            var program = stage.program
            program.environment["TRESOR_PASSWORD_COMMAND"] = command
            let ending = try program.run(["--home", stage.scratch["homes/anna"], "--batch", "list"])
            #expect(ending.code == code, "\(command): \(ending.code) \(ending.errorText)")
            #expect(!ending.errorText.contains("yyy"))
        }
    }

    /// A process that it leaves running keeps its output open, and the program does not wait for it.
    @Test func A109_aPasswordCommandEndsWithItsShell() throws {
        var program = stage.program
        let words = ["--home", stage.scratch["homes/anna"], "--batch", "list"]
        // Nothing comes from this pipe while the test holds it. A program that waited would give the command up.
        let pipe = stage.scratch["silence"]
        try #require(mkfifo(pipe, 0o600) == 0)
        let silence = open(pipe, O_RDWR | O_CLOEXEC)
        defer { close(silence) }
        program.environment["TRESOR_PASSWORD_COMMAND"] =
            "cat '\(stage.scratch["anna.password"])'; exec 3<'\(pipe)'; read line <&3 &"
        let ending = try program.run(words)
        #expect(ending.code == 0, "\(ending.errorText)")
        // Late output of the shell itself is still the password.
        program.environment["TRESOR_PASSWORD_COMMAND"] = "sleep 1; cat '\(stage.scratch["anna.password"])'"
        #expect(try program.run(words).code == 0)
    }

    @Test func A109_aRelativePlaceIsRefused() throws {
        for variable in ["XDG_DATA_HOME", "XDG_STATE_HOME"] {
            var program = stage.program
            program.environment[variable] = "relative"
            let ending = try program.run(["--batch", "list"])
            #expect(ending.code == 64)
            #expect(ending.errorText.contains("\(variable) is not an absolute path"))
        }
        var program = stage.program
        #expect(!FileManager.default.fileExists(atPath: stage.scratch["relative"]))
        program.environment["HOME"] = "relative"
        #expect(try program.run(["--batch", "list"]).code == 64)
    }

    /// With the rights of another user than its caller, as an installed set-uid or set-gid program has them, it does
    /// nothing.
    @Test(.enabled(if: geteuid() == 0 && has("setpriv"), "only root borrows rights for a test"))
    func A109_aProgramWithBorrowedRightsDoesNothing() throws {
        for rights in [["--ruid", "65534"], ["--rgid", "65534", "--clear-groups"], ["--euid", "65534"]] {
            stage.wrapper = ["/usr/bin/setpriv"] + rights
            for arguments in [["list"], ["create", "other"], ["help"]] {
                let ending = try stage.refuse(1, as: "anna", arguments)
                #expect(ending.errorText.contains("set-uid or set-gid"), "\(rights): \(ending.errorText)")
            }
        }
    }

    /// An object of a home that belongs to somebody else, as after a run with `sudo`: it is named, and nothing is half
    /// done.
    @Test(
        .enabled(if: geteuid() == 0 && has("setpriv"), "only root has the files of others"),
        arguments: ["lock", "slots.lock", "identity", "heads", "marks", "logs", "records"])
    func A107_anObjectOfSomebodyElseIsNamed(name: String) throws {
        try stage.write(Stage.plan(), to: "plan.json")
        try stage.expect(as: "anna", ["create", "other"])
        try stage.expect(as: "anna", ["put", "-t", "other", "plan.json"])
        let object = "\(stage.scratch["homes/anna"])/\(name)"
        if name.hasSuffix("lock") { try Data().write(to: URL(fileURLWithPath: object)) }
        _ = try tool("/bin/chown", ["-R", "65534", stage.scratch.path])
        _ = try tool("/bin/chown", ["-R", "0", object])
        stage.wrapper = ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        let act =
            switch name {
            case "slots.lock": ["remember", "--name", "desk"]
            case "marks": ["create", "third"]
            default: ["delete", "-t", "other", "--yes", "other"]
            }
        let ending = try stage.refuse(1, as: "anna", act)
        #expect(ending.errorText.contains("\(name)\" belongs to root, and you are nobody"), "\(ending.errorText)")
        let recursive = ["logs", "records"].contains(name) ? "-R " : ""
        #expect(ending.errorText.contains("sudo chown \(recursive)nobody \(object)"), "\(ending.errorText)")
        _ = try tool("/bin/chown", ["-R", "65534", object])
        try stage.expect(as: "anna", ["members", "-t", "other"])
        try stage.expect(as: "anna", act)
    }

    /// A directory of somebody else as the home is none to take over: it can be `/etc`.
    @Test(.enabled(if: geteuid() == 0 && has("setpriv"), "only root has the files of others"))
    func A107_aHomeOfSomebodyElseIsLeftToThem() throws {
        stage.wrapper = ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        _ = try tool("/bin/chown", ["-R", "65534", stage.scratch.path])
        let home = stage.scratch["homes/anna"]
        guard chown(home, 0, 0) == 0, chmod(home, 0o755) == 0 else { throw Unmet("chown failed") }
        let ending = try stage.refuse(1, as: "anna", ["list"])
        #expect(ending.errorText.contains("anna\" belongs to root, and you are nobody"), "\(ending.errorText)")
        #expect(ending.errorText.contains(" --home DIR\n"), "\(ending.errorText)")
        #expect(!ending.errorText.contains("chown"), "\(ending.errorText)")
    }

    /// A slot whose cost is within the bounds but beyond what the process may have.
    @Test(.disabled(if: isSanitized, "a sanitizer needs more address space than the limit"))
    func A24_aLegalSlotWithoutTheMemory() throws {
        try stage.expect(
            as: "anna", ["passwd", "--new-password-file", stage.scratch["anna.password"], "--argon2id", "768,3"])
        try stage.expect(as: "anna", ["list"])
        for limit in [500_000, 600_000, 700_000] {
            stage.wrapper = ["/bin/sh", "-c", "ulimit -v \(limit) && exec \"$@\"", "sh"]
            let ending = try stage.refuse(1, as: "anna", ["create", "other"])
            #expect(ending.errorText.contains("this password takes 768 MiB of memory, and this process may have "))
        }
    }

    @Test(.longRun) func A107_twentyAtOnceLoseNothing() throws {
        let log = try stage.expect(as: "anna", ["log", "-t", "plans"]).split(separator: "\n").count
        var children: [(RunningProgram, isRotation: Bool)] = []
        let number = try stage.number(of: "anna")
        for index in 0..<20 {
            let person = index % 4 == 3 ? "house" : "anna"
            let arguments =
                [
                    ["encrypt", "-t", "plans", "plan.json", "-o", "plan\(index).tresor"],
                    ["rotate", "-t", "plans", "--yes"],
                    ["create", "other\(index)"], ["verify", "anna", "--number", number],
                ][index % 4]
            let child = try stage.program.start(
                stage.words(as: person) + arguments, output: "/dev/null", error: stage.scratch["error\(index)"])
            children.append((child, index % 4 == 1))
        }
        var rotations = 0
        for (index, child) in children.enumerated() {
            let code = try child.0.end()
            #expect(
                code == 0 || code == 11, "\(index): \(code) \(String(decoding: stage["error\(index)"], as: UTF8.self))")
            if code == 0, child.isRotation { rotations += 1 }
        }
        let after = try stage.expect(as: "anna", ["log", "-t", "plans"]).split(separator: "\n").count
        #expect(after == log + rotations)
        for person in ["anna", "house"] {
            let check = try stage.run(as: person, ["check", "--deep"])
            #expect(check.code == 0, "\(person): \(check.outputText)")
        }
        for index in stride(from: 0, to: 20, by: 4) where !stage["plan\(index).tresor"].isEmpty {
            try stage.expect(as: "house", ["decrypt", "plan\(index).tresor"])
        }
    }

    /// Another's store file, changed where its owner likes: an answer from the list, never a trap.
    @Test func A108_aDamagedStoreIsNeverATrap() throws {
        let whole = stage["store.db"]
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: stage.store + suffix) }
        var generator = Steps(state: 4711)
        for round in 0..<60 {
            var bytes = whole
            for _ in 0..<(round % 3 + 1) {
                let index = Int(generator.next() % UInt64(bytes.count))
                bytes[index] = UInt8(truncatingIfNeeded: generator.next())
            }
            if round % 10 == 9 { bytes.removeLast(Int(generator.next() % UInt64(bytes.count))) }
            try stage.write(bytes, to: "damaged.db")
            for suffix in ["-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: stage.scratch["damaged.db\(suffix)"])
            }
            let command = round % 2 == 0 ? ["check"] : ["members", "-t", "plans"]
            let ending = try stage.run(as: "house", command + ["--store", "damaged.db"])
            let codes: [Int32] = [0, 1, 10, 13, 14, 15, 16, 18, 19]
            #expect(codes.contains(ending.code), "round \(round): \(ending.code) \(ending.errorText)")
        }
        #expect(try stage.run(as: "house", ["check"]).code == 0, "the damaged stores left no trace")
    }

    /// A store that offers one person very many tresors, and in one that exists very many keys: slow perhaps, but named
    /// or done, in little memory.
    @Test(
        .enabled(if: has("sqlite3"), "sqlite3 is not present"),
        .disabled(if: isSanitized, "a sanitizer needs more memory than the limit"))
    func A108_veryManyRowsTakeNoMemoryOutOfProportion() throws {
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        let rows = [
            ("SELECT user, randomblob(32), x'0000000000000001', x'00' FROM c, (SELECT DISTINCT user FROM wraps)", 200),
            ("SELECT user, tresor, randomblob(8), x'00' FROM c, (SELECT DISTINCT user, tresor FROM wraps)", 100_000),
        ]
        for (select, count) in rows {
            let numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < \(count))"
            _ = try tool("/usr/bin/sqlite3", [stage.store, "\(numbers) INSERT INTO wraps \(select)"])
            stage.wrapper = ["/bin/sh", "-c", "ulimit -d 400000 && exec \"$@\"", "sh"]
            for arguments in [
                ["decrypt", "plan.tresor"], ["list"], ["check", "-t", "plans"], ["rotate", "-t", "plans", "--yes"],
            ] {
                let ending = try stage.run(as: "anna", arguments)
                #expect([0, 10, 14, 18].contains(ending.code), "\(arguments): \(ending.code) \(ending.errorText)")
            }
            stage.wrapper = []
            _ = try tool("/usr/bin/sqlite3", [stage.store, "DELETE FROM wraps WHERE wrap = x'00'"])
        }
    }

    @Test(
        .enabled(if: has("sqlite3"), "sqlite3 is not present"),
        arguments: [
            "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM wraps; END",
            "CREATE VIEW v AS SELECT * FROM cards", "ALTER TABLE wraps ADD COLUMN more BLOB", "PRAGMA user_version = 1",
            "DROP TABLE server_shares", "CREATE TABLE sneaky (a)", "PRAGMA application_id = 7",
            "DROP INDEX cards_by_handle",
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'x' WHERE name = 'cards'",
        ])
    func A108_anotherLayoutIsTheStoresFault(sql: String) throws {
        _ = try tool("/usr/bin/sqlite3", [stage.store, sql])
        for command in [["list"], ["check"], ["create", "other"]] {
            let ending = try stage.run(as: "anna", command)
            #expect(ending.code == 18, "\(command): \(ending.code) \(ending.errorText)")
        }
    }

    @Test(
        .enabled(if: has("sqlite3"), "sqlite3 is not present"),
        arguments: [
            "DELETE FROM entries": [15], "DELETE FROM wraps": [13], "UPDATE entries SET entry = x'00'": [14],
            "UPDATE wraps SET wrap = x'00'": [14], "UPDATE wraps SET wrap = zeroblob(1249)": [14, 19],
            "UPDATE entries SET entry = zeroblob(2000000)": [14], "UPDATE cards SET chain = x'00'": [0, 14],
            "DELETE FROM entries WHERE sequence = x'0000000000000001'": [14, 15],
        ] as [String: [Int32]])
    func A108_otherRowsAreRefused(sql: String, codes: [Int32]) throws {
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        try stage.expect(as: "house", ["members", "-t", "plans"])
        _ = try tool("/usr/bin/sqlite3", [stage.store, sql])
        // The wraps in this home would serve if the store has damaged one.
        try? FileManager.default.removeItem(atPath: stage.scratch["homes/house/wraps"])
        let ending = try stage.run(as: "house", ["decrypt", "plan.tresor", "-o", "read.json"])
        #expect(codes.contains(ending.code), "\(ending.code) \(ending.errorText)")
        #expect(ending.code == 0 || !FileManager.default.fileExists(atPath: stage.scratch["read.json"]))
    }
}

/// Numbers that are the same in every run.
private struct Steps {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 17
    }
}
