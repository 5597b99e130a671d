// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor
import TresorCore
import TresorSQLite
import TresorStore

/// Questions that only a person at a terminal answers, and output that a terminal never receives.
@Suite struct TrustTests {
    private let stage: Stage

    init() throws {
        stage = try Stage("anna", "house", "third")
        try stage.share(of: "anna", with: "house")
        try stage.write(Array("yes\nyes\nyes\n".utf8), to: "yes.txt")
    }

    /// How many wraps the store has for the people of the stage.
    private func wraps() async throws -> Int {
        let store = try await SQLiteStore.open(at: stage.store, creating: false)
        var count = 0
        for person in ["anna", "house", "third"] {
            let user = try IdentityFile(stage["homes/\(person)/identity"]).chain.user
            for tresor in try await store.tresors(of: user) {
                count += try await store.wraps(of: user, in: tresor, epoch: nil).count
            }
        }
        return count
    }

    @Test func A110_nothingButAPersonAnswersAQuestionOfTrust() async throws {
        let before = try await wraps()
        #expect(before == 2)
        let share = ["share", "-t", "plans", "third"]
        try stage.refuse(16, as: "anna", share)
        try stage.refuse(16, as: "anna", share, input: stage.scratch["yes.txt"])
        try stage.refuse(64, as: "anna", share + ["--yes"], input: stage.scratch["yes.txt"])
        // Without a terminal and without --batch there is nobody either.
        for input in ["/dev/null", stage.scratch["yes.txt"]] {
            let ending = try stage.program.run(stage.words(as: "anna").dropLast() + share, input: input)
            #expect(ending.code == 16, "\(ending.errorText)")
        }
        // The terminal is there, but the answer is in the pipe.
        for typed in [["no\n"], ["y\n", "no\n"], ["YES\n", "Yes\n", "y\n"], ["y\n", "\u{4}"], ["\u{4}"]] {
            let terminal = try Terminal()
            var program = stage.program
            program.terminal = terminal
            let child = try program.start(
                stage.words(as: "anna").dropLast() + share, input: stage.scratch["yes.txt"], output: "/dev/null",
                error: "/dev/null")
            for (attempt, answer) in typed.enumerated() {
                try terminal.wait(for: attempt == 0 ? "type yes: " : "please type yes or no: ", times: max(attempt, 1))
                terminal.type(answer)
            }
            #expect(try child.end(terminal: terminal) == 16, "\(typed)")
        }
        #expect(try await wraps() == before)
        #expect(try !stage.expect(as: "anna", ["members", "-t", "plans"]).contains("third"))
        #expect(try await wraps() == before)
    }

    /// Text typed before the question is no answer to it.
    @Test func A110_typedAheadIsNoAnswer() throws {
        let terminal = try Terminal()
        var program = stage.program
        program.terminal = terminal
        terminal.type("yes\nyes\n")
        let child = try program.start(
            stage.words(as: "anna").dropLast() + ["share", "-t", "plans", "third"], output: "/dev/null",
            error: "/dev/null")
        try terminal.wait(for: "type yes: ")
        terminal.type("no\n")
        #expect(try child.end(terminal: terminal) == 16)
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT]) func A110_anInterruptRestoresTheEcho(signal: Int32) throws {
        let terminal = try Terminal()
        #expect(terminal.echoes)
        var program = stage.program
        program.terminal = terminal
        let child = try program.start(
            ["--home", stage.scratch["homes/anna"], "create", "other"], output: "/dev/null", error: "/dev/null")
        try terminal.wait(for: "password for anna")
        #expect(!terminal.echoes)
        kill(child.id, signal)
        #expect(try child.end(terminal: terminal) == 130)
        #expect(terminal.echoes)
    }

    /// A shell with job control, for which it wants the terminal as its standard error, stops and continues it.
    @Test(.enabled(if: has("bash"))) func A110_stoppingRestoresTheEchoForTheTime() throws {
        let terminal = try Terminal()
        var program = stage.program
        program.terminal = terminal
        let line = "exec 2> /dev/tty; set -m; \"$0\" \"$@\"; while [ ! -e go ]; do sleep 0.1; done; fg"
        program.wrapper = ["/bin/bash", "-c", line]
        let child = try program.start(
            ["--home", stage.scratch["homes/anna"], "create", "other"], output: "/dev/null", error: "/dev/null")
        try terminal.wait(for: "password for anna")
        terminal.type("\u{1a}")
        try terminal.wait { terminal.echoes }
        try "".write(toFile: stage.scratch["go"], atomically: false, encoding: .utf8)
        try terminal.wait { !terminal.echoes }
        terminal.type("PASSWORD-0815-anna\n")
        #expect(try child.end(terminal: terminal) == 0)
        #expect(terminal.echoes)
        #expect(!terminal.transcript.contains("PASSWORD-0815-anna"))
    }

    /// In an orphaned process group nobody would continue it.
    @Test func A110_whatNobodyWouldContinueIsNotStopped() throws {
        let terminal = try Terminal()
        var program = stage.program
        program.terminal = terminal
        let child = try program.start(
            ["--home", stage.scratch["homes/anna"], "create", "other"], output: "/dev/null", error: "/dev/null")
        try terminal.wait(for: "password for anna")
        kill(child.id, SIGTSTP)
        try terminal.wait { terminal.transcript.components(separatedBy: "password for anna").count > 2 }
        #expect(!terminal.echoes)
        terminal.type("PASSWORD-0815-anna\n")
        #expect(try child.end(terminal: terminal) == 0)
        #expect(terminal.echoes)
        #expect(!terminal.transcript.contains("PASSWORD-0815-anna"))
    }

    @Test func A111_decryptedContentDoesNotDriveTheTerminal() throws {
        for (index, character) in ["\u{1b}[31m", "\u{9b}2J", "\u{7}", "\u{8}", "\r", "\u{0}"].enumerated() {
            try stage.write(Array("text \(character) \(Stage.marker)\n".utf8), to: "evil.txt")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "evil.txt", "-o", "evil\(index).tresor"])
            let terminal = try Terminal()
            let words = stage.words(as: "house") + ["decrypt", "evil\(index).tresor"]
            #expect(try onScreen(words, terminal) == 64, "\(character.debugDescription)")
            #expect(!terminal.transcript.contains("MARKED"), "\(terminal.transcript)")
            #expect(!terminal.transcript.contains(character) || character == "\r", "\(terminal.transcript)")
            let forced = try Terminal()
            #expect(try onScreen(words + ["-o", "-"], forced) == 0)
            #expect(forced.transcript.contains("MARKED"))
        }
        try stage.write(Array("a line\n\tanother\r\n".utf8), to: "tame.txt")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "tame.txt", "-o", "tame.tresor"])
        let terminal = try Terminal()
        #expect(try onScreen(stage.words(as: "house") + ["decrypt", "tame.tresor"], terminal) == 0)
        #expect(terminal.transcript.contains("another"))
    }

    /// Sealed content cannot replace the line that names its author, nor reach it.
    @Test func A218_theAuthorsLineComesFirstAndIsMarked() throws {
        let fake = "tresor: from house (verified), 2026-11-22 13:05 UTC, plans, key 1, record \"plan.json\""
        for (name, content) in [
            ("fake.txt", "\(fake)\n\(Stage.marker)"), ("line.txt", "\(Stage.marker)\n"), ("none.txt", ""),
        ] {
            try stage.write(Array(content.utf8), to: name)
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", name, "-o", "\(name).tresor"])
            let terminal = try Terminal()
            #expect(try onScreen(stage.words(as: "house") + ["decrypt", "\(name).tresor"], terminal) == 0)
            let lines = terminal.transcript.components(separatedBy: "\r\n")
            let first = try #require(lines.first)
            #expect(first.hasPrefix("\u{1b}[1mtresor: from anna (verified), "), "\(terminal.transcript)")
            #expect(first.hasSuffix("record \"\(name)\"\u{1b}[0m"), "\(terminal.transcript)")
            let rest = content.split(separator: "\n").map(String.init)
            #expect(Array(lines.dropFirst()) == rest + [""], "\(terminal.transcript)")
        }
    }

    @Test(arguments: [
        "\u{202e}", "\u{2066}", "\u{200e}", "\u{61c}", "\u{2028}", "\u{2029}", "\u{200b}", "\u{200d}", "\u{feff}",
        "\u{e0041}",
        "\u{ad}",
    ])
    func A218_whatTurnsOrHidesIsNotShown(sign: String) throws {
        try stage.write(Array("text \(sign)\(Stage.marker)\n".utf8), to: "evil.txt")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "evil.txt", "-o", "evil.tresor"])
        let words = stage.words(as: "house") + ["decrypt", "evil.tresor"]
        let terminal = try Terminal()
        #expect(try onScreen(words, terminal) == 64)
        #expect(!terminal.transcript.contains("MARKED"), "\(terminal.transcript)")
        let forced = try Terminal()
        #expect(try onScreen(words + ["-o", "-"], forced) == 0)
        #expect(forced.transcript.contains("MARKED"))
    }

    /// If standard output is no terminal, it receives the content and nothing else.
    @Test func A218_aPipeGetsTheContentAlone() throws {
        try stage.write(Array("no line end".utf8), to: "bare.txt")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "bare.txt", "-o", "bare.tresor"])
        let ending = try stage.run(as: "house", ["decrypt", "bare.tresor"])
        #expect(ending.output == Array("no line end".utf8))
        #expect(ending.errorText.hasPrefix("tresor: from anna (verified), "))
    }

    /// With standard output and error on the terminal itself.
    private func onScreen(_ arguments: [String], _ terminal: Terminal) throws -> Int32 {
        var program = stage.program
        program.terminal = terminal
        let child = try program.start(arguments, output: terminal.path, error: terminal.path)
        return try child.end(terminal: terminal)
    }

    /// A true safety number of another person, of the owner herself, or of one's own earlier keys does not fit this
    /// card.
    @Test func A50_theNumberOfAnotherCardIsRefused() throws {
        let before = try stage.number(of: "third")
        try stage.expect(as: "third", ["rotate", "--identity", "--no-kit", "--yes"])
        let number = try stage.number(of: "third")
        #expect(number != before)
        for other in [try stage.number(of: "anna"), try stage.number(of: "house"), before] {
            let ending = try stage.refuse(16, as: "anna", ["share", "-t", "plans", "third", "--number", other])
            #expect(ending.errorText.contains("differs"), "\(ending.errorText)")
            try stage.refuse(16, as: "anna", ["verify", "third", "--number", other])
        }
        try stage.expect(as: "anna", ["share", "-t", "plans", "third", "--number", number])
    }

    @Test func A91_aMistypedPersonIsNotRevoked() throws {
        let ending = try stage.refuse(10, as: "anna", ["revoke", "-t", "plans", "huose", "--yes"])
        #expect(ending.errorText.contains("tresor: hint: did you mean: tresor"))
        #expect(ending.errorText.contains("-t plans house\n") && !ending.errorText.contains("--yes"))
        try stage.refuse(10, as: "anna", ["revoke", "-t", "plans", "third", "--yes"])
        try stage.refuse(10, as: "anna", ["revoke", "-t", "plans", "house", "huose", "--yes"])
        #expect(try stage.expect(as: "anna", ["members", "-t", "plans"]).contains("house"))
        try stage.expect(as: "anna", ["revoke", "-t", "plans", "house", "--yes"])
        let again = try stage.run(as: "anna", ["revoke", "-t", "plans", "house", "--yes"])
        #expect(again.code == 0)
        #expect(again.errorText.contains(/house is no longer a member \(since \d{4}-\d\d-\d\d\)/))
        #expect(try stage.expect(as: "anna", ["members", "-t", "plans", "--json"]).contains("anna"))
    }

    @Test func A33_bothSharesAreNotLeftOnOneDisk() throws {
        let remember = ["remember", "--name", "desk"]
        let home = stage.scratch["homes/anna"]
        try FileManager.default.createDirectory(atPath: "\(home)/state", withIntermediateDirectories: true)
        chmod("\(home)/state", 0o700)
        try FileManager.default.copyItem(atPath: stage.store, toPath: "\(home)/store.db")
        try FileManager.default.copyItem(atPath: stage.store, toPath: "\(home)/state/store.db")
        try FileManager.default.createSymbolicLink(
            atPath: stage.scratch["link.db"], withDestinationPath: "homes/anna/store.db")
        try FileManager.default.createSymbolicLink(atPath: stage.scratch["linked"], withDestinationPath: "homes/anna")
        for store in [
            "\(home)/store.db", "\(home)/state/store.db", "link.db", "linked/store.db", "homes/../homes/anna/store.db",
        ] {
            let ending = try stage.run(as: "anna", remember + ["--store", store])
            #expect(ending.code == 64, "\(store): \(ending.errorText)")
            #expect(ending.errorText.contains("tresor: hint: tresor"), "\(store)")
            #expect(ending.errorText.contains("--accept-same-disk"), "\(store)")
            #expect(!FileManager.default.fileExists(atPath: "\(home)/state/device-share"), "\(store)")
        }
        // The store that the home uses when none is named.
        var program = stage.program
        program.environment["TRESOR_STORE"] = nil
        program.environment["XDG_DATA_HOME"] = stage.scratch["data"]
        program.environment["XDG_STATE_HOME"] = stage.scratch["state"]
        let words = ["--password-file", stage.scratch["anna.password"], "--batch"]
        #expect(try program.run(words + ["keygen", "other", "--no-kit", "--argon2id", "64,3"]).code == 0)
        #expect(try program.run(words + remember).code == 64)
        let accepted = try stage.run(
            as: "anna", remember + ["--accept-same-disk", "--store", "\(home)/store.db"])
        #expect(accepted.code == 0)
        #expect(accepted.errorText.contains("both shares are in"))
    }
}

extension Terminal {
    /// Waits until something holds.
    func wait(seconds: Double = 60, until isSo: () -> Bool) throws {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while !isSo() {
            guard Date() < deadline else { throw Unmet("the terminal does not change") }
            attend(milliseconds: 20)
        }
    }
}
