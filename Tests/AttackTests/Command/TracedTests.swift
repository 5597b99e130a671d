// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The system calls of the program, traced by strace.
@Suite(.enabled(if: has("strace"), "strace is not present")) struct TracedTests {
    private let stage: Stage
    private static let content = Array("{\"title\": \"\(Stage.marker)\"}".utf8)

    init() throws {
        stage = try Stage("anna", "house")
        stage.isMemoUsed = false
        try stage.write(Self.content, to: "plan.json", mode: 0o600)
    }

    /// The whole life of a tresor, every command in it.
    private func everyCommand() throws -> [(person: String, words: [String])] {
        let numbers = [try stage.number(of: "anna"), try stage.number(of: "house")]
        let new = stage.scratch["anna.password"]
        return [
            ("anna", ["create", "plans"]), ("anna", ["share", "-t", "plans", "house", "--number", numbers[1]]),
            ("house", ["verify", "anna", "--number", numbers[0]]),
            ("anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"]),
            ("house", ["decrypt", "plan.tresor", "-o", "read.json"]), ("house", ["inspect", "plan.tresor"]),
            ("house", ["list"]), ("house", ["members", "-t", "plans"]), ("house", ["log", "-t", "plans"]),
            ("anna", ["remember", "--name", "desk"]), ("anna", ["device", "list"]), ("anna", ["forget"]),
            ("anna", ["recover", "--new-kit", "--kit", "kit.txt"]),
            ("anna", ["recover", "--kit", "kit.txt", "--new-password-file", new, "--argon2id", "64,3"]),
            ("anna", ["passwd", "--new-password-file", new]),
            ("anna", ["revoke", "-t", "plans", "house", "--yes"]), ("anna", ["rotate", "-t", "plans", "--yes"]),
            ("anna", ["rotate", "--identity", "--kit", "kit2.txt", "--yes"]),
            ("anna", ["reseal", "plan.tresor"]), ("anna", ["check", "--deep", "plan.tresor"]), ("anna", ["card"]),
        ]
    }

    private func trace(
        as person: String, _ arguments: [String], _ options: [String], environment: [String: String] = [:],
        words: [String]? = nil
    ) throws -> (calls: [String], ending: Program.Ending) {
        var program = stage.program
        program.wrapper = ["/usr/bin/strace", "-f", "--seccomp-bpf", "-qq", "-o", stage.scratch["trace"]] + options
        program.environment.merge(environment) { $1 }
        let ending = try program.run((words ?? stage.words(as: person)) + arguments)
        #expect(ending.code == 0, "\(arguments): \(ending.errorText)")
        let calls = String(decoding: stage["trace"], as: UTF8.self).split(separator: "\n").map(String.init)
        try FileManager.default.removeItem(atPath: stage.scratch["trace"])
        return (calls, ending)
    }

    /// No other program is begun, and nothing is loaded once the home or the store has been looked at.
    @Test func A113_nothingThatIsReceivedRuns() throws {
        for (person, arguments) in try everyCommand() {
            let calls = try trace(as: person, arguments, ["-s", "300", "-e", "trace=execve,execveat,openat,open"]).calls
            let begun = calls.filter { $0.contains("exec") && $0.contains("= 0") }
            #expect(begun.count == 1, "\(arguments): \(begun)")
            #expect(begun.first?.contains("\"\(Program.path)\"") ?? false, "\(arguments): \(begun)")
            let own = calls.dropFirst().firstIndex {
                $0.contains("\"\(stage.scratch.path)/homes") || $0.contains("\"\(stage.store)") || $0.contains("\"plan")
            }
            let first = try #require(own, "\(arguments)")
            for call in calls[first...] where call.contains(".so") && !call.contains("ENOENT") {
                Issue.record("loaded late by \(arguments): \(call)")
            }
        }
    }

    @Test(.longRun) func toSealReadsTheIdentityAndTheLogOnce() throws {
        try stage.expect(as: "anna", ["create", "plans"])
        let calls = try trace(
            as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"],
            ["-s", "300", "-e", "trace=openat"]
        ).calls.filter { !$0.contains("ENOENT") }
        let counts = ["\"identity\"", "\"heads\"", ".state\""].map { name in calls.count { $0.contains(name) } }
        #expect(counts == [1, 1, 1], "identity, heads, snapshot")
    }

    /// The home's own files are looked at once, and few INPUTs begin as a recovery kit does.
    @Test func anInputOfManyTakesFewCalls() throws {
        try stage.expect(as: "anna", ["create", "plans"])
        var counts: [Int] = []
        for count in [1, 101] {
            let names = (1...count).map { "plan-\($0)-of-\(count).json" }
            for name in names { try stage.write(Array("{\"plan\": \"\(name)\"}".utf8), to: name, mode: 0o600) }
            let calls = try trace(
                as: "anna", ["put", "-t", "plans"] + names, ["-e", "trace=%file,read,close,mlock,mprotect,fsync"])
            counts.append(calls.calls.count)
        }
        // It was about sixty.
        #expect(counts[1] - counts[0] < 100 * 24, "\(counts)")
    }

    @Test func theHomeIsLookedAtOnceForManyFiles() throws {
        try stage.expect(as: "anna", ["create", "plans"])
        let files = ["a.tresor", "b.tresor", "c.tresor"]
        for file in files { try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", file]) }
        for command in ["check", "reseal"] {
            let counts = try [1, 3].map { count in
                try trace(as: "anna", [command] + files.prefix(count), ["-e", "trace=%file"]).calls
                    .count { $0.contains("/homes/anna/slots.lock\"") }
            }
            #expect(counts[0] > 0 && counts[0] == counts[1], "\(command): \(counts)")
        }
    }

    @Test func A113_onlyThePasswordCommandIsRun() throws {
        let calls = try trace(
            as: "anna", ["create", "plans"], ["-e", "trace=execve,execveat"],
            environment: ["TRESOR_PASSWORD_COMMAND": "cat '\(stage.scratch["anna.password"])'"],
            words: ["--home", stage.scratch["homes/anna"], "--batch"]
        ).calls
        let begun = calls.filter { $0.contains("= 0") }
            .compactMap { $0.firstMatch(of: /exec\w+\("([^"]+)"/).map { String($0.1) } }
        #expect(begun.filter { $0 != Program.path && !$0.hasSuffix("/cat") } == ["/bin/sh"])
    }

    /// Passwords, words of the kit and content are in no argument, variable, file, message or temporary but the one
    /// output.
    @Test func A41_secretsAreInNoCallButTheOneOutput() async throws {
        var kit: [String] = []
        var said: [UInt8] = []
        for (person, arguments) in try everyCommand() {
            let calls = try trace(
                as: person, arguments,
                ["-v", "-s", "100000", "-e", "trace=execve,execveat,/^p?write(v|64|v2)?$,/^send"])
            for file in ["kit.txt", "kit2.txt"] {
                kit += String(decoding: stage[file], as: UTF8.self).split(whereSeparator: \.isWhitespace)
                    .map(String.init).triples()
            }
            for call in calls.calls {
                #expect(!call.contains("WORD-0815"), "\(arguments): \(call.prefix(200))")
                let isKit = call.contains("write") && ["recover", "rotate"].contains(arguments[0])
                for words in kit where call.contains(words) && !isKit {
                    Issue.record("the kit: \(arguments): \(call.prefix(200))")
                }
                let isOutput = arguments[0] == "decrypt" && call.contains("write")
                #expect(isOutput || !call.contains("MARKED"), "\(arguments): \(call.prefix(200))")
            }
            #expect(!calls.calls.isEmpty)
            stage.expectSilence(calls.ending.outputText + calls.ending.errorText)
            for words in kit { #expect(!(calls.ending.outputText + calls.ending.errorText).contains(words)) }
            said += calls.ending.output + Array(calls.ending.errorText.utf8)
        }
        #expect(kit.count > 40)
        try FileManager.default.removeItem(atPath: stage.scratch["plan.json"])
        for name in try FileManager.default.subpathsOfDirectory(atPath: stage.scratch.path) {
            let bytes = stage[name]
            #expect(name.hasSuffix(".password") || !bytes.holds(Array("WORD-0815".utf8)), "\(name)")
            #expect(name == "read.json" || !bytes.holds(Array(Stage.marker.utf8)), "\(name)")
            for words in kit where !name.hasPrefix("kit") && bytes.holds(Array(words.utf8)) {
                Issue.record("\(words) in \(name)")
            }
        }
        #expect(stage["read.json"] == Self.content)
        #if os(Linux)
            try await expectNoKeys(said)
        #endif
    }

    #if os(Linux)
        /// Seeds, slot keys and keys of tresors are in no file and in nothing that was said, as they are or in
        /// hexadecimal.
        private func expectNoKeys(_ said: [UInt8]) async throws {
            var secrets = Secrets(of: "anna")
            try await secrets.learn(on: stage, password: Array("PASSWORD-0815-anna".utf8))
            #expect(secrets.keys.count > 6)
            let names = try FileManager.default.subpathsOfDirectory(atPath: stage.scratch.path)
            let places = names.map { ($0, stage[$0]) } + [("what was said", said)]
            for (name, key) in secrets.keys {
                let hexadecimal = key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
                for (place, bytes) in places where bytes.holds(key) || bytes.holds(Array(hexadecimal.utf8)) {
                    Issue.record("\(name) in \(place)")
                }
            }
        }
    #endif

    /// Files of a home and outputs are durable before they have their name, and no link is followed on the way.
    @Test func contentIsDurableBeforeItsName() throws {
        try stage.expect(as: "anna", ["create", "plans"])
        try FileManager.default.createDirectory(atPath: stage.scratch["out"], withIntermediateDirectories: false)
        let watched = ["-y", "-e", "trace=openat,flock,fchmod,fsync,linkat,renameat"]
        let numbers = [try stage.number(of: "anna")]
        let verify = try trace(as: "house", ["verify", "anna", "--number", numbers[0]], watched).calls
        expect(
            verify.filter { $0.contains("homes/house") },
            [
                /openat\(.*"\.tresor-\w+\.tmp", O_WRONLY\|O_CREAT\|O_EXCL\|O_NOFOLLOW\|O_CLOEXEC, 0600/,
                /flock\(.*\.tmp>, LOCK_EX/, /fsync\(.*\.tmp>/, /renameat\(.*\.tmp".*"pins"/, /fsync\(.*homes\/house>/,
            ])
        // The first has no name before. The second replaces the first, under a temporary name.
        for _ in 1...2 {
            let words = ["encrypt", "-t", "plans", "plan.json", "-o", "out/plan.tresor"]
            let encrypt = try trace(as: "anna", words, watched).calls
            expect(
                encrypt.filter { $0.contains("/out") },
                [
                    /openat\(.*(?:O_TMPFILE|O_EXCL\|O_NOFOLLOW).*, 0600/, /flock\(.*LOCK_EX/, /fchmod\(/,
                    /fsync\(.*out\//, /(?:linkat|renameat)\(.*"plan\.tresor"/, /fsync\(.*out>/,
                ])
        }
    }

    /// Each call stands behind the one before.
    private func expect(_ calls: [String], _ order: [Regex<Substring>]) {
        var rest = calls[...]
        for (number, pattern) in order.enumerated() {
            guard let place = rest.firstIndex(where: { $0.contains(pattern) }) else {
                Issue.record("call \(number) is not in its place: \(calls.joined(separator: "\n"))")
                return
            }
            rest = rest[(place + 1)...]
        }
    }

    /// Output on purpose is found, so that output by mistake would be.
    @Test func A41_theSearchFindsWhatIsWritten() throws {
        try stage.share(of: "anna", with: "house")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        let options = ["-v", "-s", "100000", "-e", "trace=execve,/^p?write(v|64|v2)?$"]
        let opened = try trace(as: "house", ["decrypt", "plan.tresor", "-o", "read.json"], options).calls
        #expect(opened.contains { $0.contains("write") && $0.contains("MARKED") })
        let given = try trace(as: "house", ["list"], options, environment: ["CARELESS": "PASSWORD-0815-house"]).calls
        #expect(given.contains { $0.contains("execve") && $0.contains("WORD-0815") })
    }

    /// With a umask that forbids nothing: no file is made wider than its owner, but sealed files, cards and the store,
    /// which hold no secret.
    @Test func A42_secretFilesAreNeverWiderThanTheirOwner() throws {
        let umask = ["/bin/sh", "-c", "umask 000 && exec \"$@\"", "sh"]
        var seen: Set<String> = []
        let keygen = ["keygen", "late", "--kit", stage.scratch["late.txt"], "--argon2id", "64,3"]
        try stage.write(Array("PASSWORD-0815-late\n".utf8), to: "late.password", mode: 0o600)
        for (person, arguments) in [("late", keygen)] + (try everyCommand()) {
            var program = stage.program
            program.wrapper =
                umask + [
                    "/usr/bin/strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "300", "-o", stage.scratch["trace"],
                    "-e",
                ]
                + ["trace=open,openat,creat,mkdir,mkdirat,chmod,fchmod,fchmodat"]
            let ending = try program.run(stage.words(as: person) + arguments)
            #expect(ending.code == 0, "\(arguments): \(ending.errorText)")
            for call in String(decoding: stage["trace"], as: UTF8.self).split(separator: "\n") {
                guard let mode = Self.mode(of: call), call.contains(stage.scratch.path) else { continue }
                seen.insert(String(mode.path.split(separator: "/").last ?? ""))
                let isPublic = mode.path.contains("store.db") || mode.path.hasSuffix(".tresor") || isSealed(arguments)
                #expect(isPublic || mode.bits & 0o077 == 0, "\(arguments): \(call)")
            }
        }
        #expect(seen.count > 3, "\(seen)")
        for name in try FileManager.default.subpathsOfDirectory(atPath: stage.scratch.path)
        where name.hasPrefix("homes/") || ["read.json", "kit.txt", "kit2.txt", "late.txt"].contains(name) {
            let mode = try FileManager.default.attributesOfItem(atPath: stage.scratch[name])[.posixPermissions] as? Int
            #expect((mode ?? 0o777) & 0o077 == 0, "\(name)")
        }
    }

    /// Whether the one output of a command is a sealed file, whose mode is the caller's.
    private func isSealed(_ arguments: [String]) -> Bool { ["encrypt", "reseal"].contains(arguments[0]) }

    /// The mode that a call gives to what it makes, and its path.
    private static func mode(of call: Substring) -> (path: Substring, bits: Int)? {
        if let made = call.firstMatch(of: /(?:mkdir|creat|chmod)\w*\(.*?"?([^"<>, ]*)["<>].*?, (0[0-7]*)\)/) {
            return Int(made.2, radix: 8).map { (made.1, $0) }
        }
        guard call.contains("O_CREAT") || call.contains("O_TMPFILE"),
            let made = call.firstMatch(of: /"([^"]*)", [A-Z_|]*, (0[0-7]*)\)/)
        else { return nil }
        return Int(made.2, radix: 8).map { (made.1, $0) }
    }

    /// No core is written though the caller allows one, and the limit is set before any secret is read.
    @Test func A39_aCoreIsNeverWritten() throws {
        let terminal = try Terminal()
        var program = stage.program
        program.wrapper = ["/bin/sh", "-c", "ulimit -c unlimited && exec \"$@\"", "sh"]
        program.terminal = terminal
        let child = try program.start(
            ["--home", stage.scratch["homes/anna"], "create", "plans"], output: "/dev/null", error: "/dev/null")
        try terminal.wait(for: "password for anna")
        terminal.type("PASSWORD-0815")
        let limits = try String(contentsOfFile: "/proc/\(child.id)/limits", encoding: .utf8)
        #expect(limits.contains(/Max core file size +0 +0/))
        kill(child.id, SIGSEGV)
        let code = try child.end(terminal: terminal)
        #expect(code == -SIGSEGV)
        let names = try FileManager.default.contentsOfDirectory(atPath: stage.scratch.path)
        #expect(!names.contains { $0.hasPrefix("core") || $0.hasSuffix(".core") }, "\(names)")
    }
}

extension [String] {
    /// Each three words that follow one another, with the spaces between: what a kit shows and English does not. Two
    /// may stand in a message.
    fileprivate func triples() -> [String] {
        indices.dropLast(2).map { self[$0...($0 + 2)].joined(separator: " ") }
    }
}
