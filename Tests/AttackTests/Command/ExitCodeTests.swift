// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Every way to fail has its code, and no failure looks like success.
@Suite struct ExitCodeTests {
    private let stage: Stage

    init() throws {
        stage = try Stage("anna", "house", "third")
        try stage.share(of: "anna", with: "house")
        try stage.write(Array("{}".utf8), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        var damaged = stage["plan.tresor"]
        damaged[damaged.count - 1] ^= 1
        try stage.write(damaged, to: "damaged.tresor")
        var newer = stage["plan.tresor"]
        newer[7] = UInt8(ascii: "2")
        try stage.write(newer, to: "newer.tresor")
    }

    private func expect(_ code: Int32, as person: String = "anna", _ arguments: String...) throws {
        let ending = try stage.run(as: person, arguments)
        #expect(ending.code == code, "\(person): \(arguments): \(ending.errorText)")
        guard code != 0 else { return }
        let isSaid = ending.errorText.split(separator: "\n").contains { $0.hasPrefix("tresor: error: ") }
        #expect(isSaid || ending.outputText.contains("bad"), "\(arguments)")
        let json = try stage.run(as: person, arguments + ["--json"])
        #expect(json.code == code || json.code == 64, "\(arguments): \(json.errorText)")
        if json.code == code, !json.error.isEmpty, arguments[0] != "check" {
            let line = json.errorText.split(separator: "\n").last.map { Data($0.utf8) } ?? Data()
            let object = try JSONSerialization.jsonObject(with: line) as? [String: Any]
            #expect(object?["code"] as? Int == Int(code), "\(arguments)")
        }
    }

    @Test func A112_wrongArguments() throws {
        try expect(64, "frobnicate")
        for command in [
            "create", "members", "share", "revoke", "rotate", "log", "encrypt", "completion", "keygen", "verify",
        ] {
            try expect(64, command)
        }
        try expect(64, "card", "--frobnicate")
        try expect(64, "verify", "house", "--number", "12345")
        try expect(64, "share", "-t", "plans", "house", "--until", "yesterday")
        try expect(64, "encrypt", "-t", "plans", "-o", "a", "-C", "b", "plan.json")
        try expect(64, "encrypt", "-t", "plans", "plan.json", "-o", "plan.json")
        try expect(64, "rotate", "-t", "plans")
        try expect(64, "revoke", "-t", "plans", "house")
        try expect(64, "create", "plans")
        try expect(64, "keygen", "anna")
        try expect(64, "revoke", "-t", "plans", "--me", "--yes")
        try expect(64, "list", "--password-fd", "1")
    }

    @Test func A112_whatIsNotThere() throws {
        try expect(10, "card", "nobody")
        try expect(10, "verify", "nobody", "--number", stage.number(of: "house"))
        try expect(10, "members", "-t", "nothing")
        try expect(10, "encrypt", "-t", "nothing", "plan.json", "-o", "x.tresor")
        try expect(10, "share", "-t", "plans", "nobody")
        try expect(10, "revoke", "-t", "plans", "nobody", "--yes")
        try expect(10, "decrypt", "missing.tresor")
        try expect(10, "inspect", "missing.tresor")
        try expect(10, "reseal", "missing.tresor")
        try expect(10, "list", "--store", "missing.db")
        try expect(10, "list", "--password-file", "missing.txt")
        try expect(10, "list", "--home", "nowhere")
    }

    @Test func A112_whatIsNotMine() throws {
        try expect(13, as: "house", "encrypt", "-t", "plans", "plan.json", "-o", "x.tresor")
        try expect(13, as: "house", "share", "-t", "plans", "third")
        try expect(13, as: "house", "revoke", "-t", "plans", "anna", "--yes")
        try expect(13, as: "house", "rotate", "-t", "plans", "--yes")
        try expect(13, as: "third", "decrypt", "plan.tresor")
        #expect(stage["x.tresor"] == [])
    }

    @Test func A112_whatIsNotTrue() throws {
        try expect(14, "decrypt", "damaged.tresor")
        try expect(14, "reseal", "damaged.tresor")
        try expect(14, "decrypt", "plan.json")
        try expect(14, "inspect", "plan.json")
        try expect(14, "check", "--deep", "damaged.tresor")
        try expect(14, "decrypt", "plan.tresor", "--record", "other")
        try expect(14, "verify", "house", "--card", "plan.json")
        try expect(19, "decrypt", "newer.tresor")
        try expect(19, "inspect", "newer.tresor")
        try expect(19, "serve")
        try expect(16, "share", "-t", "plans", "third")
        try expect(16, "share", "-t", "plans", "third", "--number", stage.number(of: "house"))
        try expect(16, "verify", "third", "--number", stage.number(of: "house"))
        try expect(64, "verify", "third")
        try stage.write(Array("another password\n".utf8), to: "wrong.txt", mode: 0o600)
        for command in [
            ["list"], ["create", "new"], ["decrypt", "plan.tresor"], ["passwd", "--new-password-file", "wrong.txt"],
        ] {
            let ending = try stage.program.run(
                ["--home", stage.scratch["homes/anna"], "--password-file", "wrong.txt", "--batch"] + command)
            #expect(ending.code == 12, "\(command): \(ending.errorText)")
        }
    }

    @Test func A112_severalFilesWithOneBad() throws {
        let cases: [([String], Int32)] = [
            (["plan.tresor", "damaged.tresor"], 14), (["damaged.tresor", "newer.tresor"], 14),
            (["plan.tresor", "missing.tresor"], 1),
            (["damaged.tresor", "damaged.tresor"], 64), (["missing.tresor", "missing2.tresor"], 10),
        ]
        for (files, code) in cases {
            let ending = try stage.run(as: "anna", ["decrypt", "--any-record", "-C", "."] + files)
            #expect(ending.code == code, "\(files): \(ending.errorText)")
        }
        #expect(stage["plan"] == Array("{}".utf8))
    }

    @Test func A112_aMachineThatFails() throws {
        let identity = stage.scratch["homes/anna/identity"]
        chmod(identity, 0o644)
        try expect(1, "list")
        chmod(identity, 0o600)
        try expect(1, "encrypt", "-t", "plans", "plan.json", "-o", "homes")
        try expect(10, "encrypt", "-t", "plans", "plan.json", "-o", "no/where.tresor")
        try stage.write(Array("no database, but long enough to be read as one".utf8), to: "broken.db")
        try expect(18, "list", "--store", "broken.db")
        try expect(18, "check", "--store", "broken.db")
    }

    @Test func A112_anInterruptIsNoSuccess() throws {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let terminal = try Terminal()
            var program = stage.program
            program.terminal = terminal
            let child = try program.start(
                ["--home", stage.scratch["homes/anna"], "revoke", "-t", "plans", "house"], output: "/dev/null",
                error: "/dev/null")
            try terminal.wait(for: "password for anna")
            kill(child.id, signal)
            #expect(try child.end(terminal: terminal) == 130)
        }
        #expect(try stage.expect(as: "anna", ["members", "-t", "plans"]).contains("house"))
    }
}
