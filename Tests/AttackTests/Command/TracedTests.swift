// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What the program asks the system for, watched by strace.
@Suite(.enabled(if: has("strace"), "strace is not present")) struct TracedTests {
    private let stage: Stage

    init() throws { stage = try Stage("anna", "house") }

    private func trace(
        as person: String, _ arguments: [String], calls: String, password command: String? = nil
    ) throws -> [String] {
        var program = stage.program
        program.wrapper = ["/usr/bin/strace", "-f", "-qq", "-s", "300", "-o", stage.scratch["trace"], "-e", "trace=\(calls)"]
        var words = stage.words(as: person)
        if let command {
            words.removeAll { $0 == "--password-file" || $0.hasSuffix(".password") }
            program.environment["TRESOR_PASSWORD_COMMAND"] = command
        }
        let ending = try program.run(words + arguments)
        #expect(ending.code == 0, "\(arguments): \(ending.errorText)")
        return String(decoding: stage["trace"], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func everyCommand() throws -> [(String, [String])] {
        try stage.write(Array("{\"a\": 1}".utf8), to: "plan.json")
        let numbers = [try stage.number(of: "anna"), try stage.number(of: "house")]
        return [
            ("anna", ["create", "plans"]), ("anna", ["share", "-t", "plans", "house", "--number", numbers[1]]),
            ("house", ["verify", "anna", "--number", numbers[0]]),
            ("anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"]),
            ("house", ["decrypt", "plan.tresor", "-o", "read.json"]), ("house", ["inspect", "plan.tresor"]),
            ("house", ["list"]), ("house", ["members", "-t", "plans"]), ("house", ["log", "-t", "plans"]),
            ("anna", ["revoke", "-t", "plans", "house", "--yes"]), ("anna", ["rotate", "-t", "plans", "--yes"]),
            ("anna", ["reseal", "plan.tresor"]), ("anna", ["check", "--deep", "plan.tresor"]), ("anna", ["card"]),
        ]
    }

    /// A program is begun only as itself once more, and nothing is loaded once the home or the store has been looked at.
    @Test func A113_nothingThatIsReceivedRuns() throws {
        for (person, arguments) in try everyCommand() {
            let calls = try trace(as: person, arguments, calls: "execve,execveat,openat,open")
            let begun = calls.filter { $0.contains("exec") && $0.contains("= 0") }
            #expect(begun.count == 2, "\(arguments): \(begun)")
            for call in begun { #expect(call.contains("\"\(Program.path)\"") || call.contains("\"/proc/self/exe\""), "\(call)") }
            let first = try #require(
                calls.firstIndex { $0.contains("open") && $0.contains("\"\(stage.scratch.path)/") }, "\(arguments)")
            for call in calls[first...] where call.contains(".so") && !call.contains("ENOENT") {
                Issue.record("loaded late by \(arguments): \(call)")
            }
        }
    }

    @Test func A113_onlyThePasswordCommandIsRun() throws {
        let calls = try trace(
            as: "anna", ["create", "plans"], calls: "execve,execveat", password: "cat '\(stage.scratch["anna.password"])'")
        let begun = calls.filter { $0.contains("= 0") }.compactMap { $0.firstMatch(of: /exec\w+\("([^"]+)"/).map { String($0.1) } }
        #expect(begun.filter { $0 != Program.path && $0 != "/proc/self/exe" && !$0.hasSuffix("/cat") } == ["/bin/sh"])
    }

    private static let targets = [
        "fsync", "fdatasync", "pwrite64", "write", "ftruncate", "/^rename", "/^link", "openat",
    ]

    /// One call fails, then the next, until none is left: the command says so, and nothing is half done.
    @Test(arguments: targets, ["ENOSPC", "EIO"]) func A106_aFailingCallIsNeverASuccess(call: String, error: String) throws {
        try stage.share(of: "anna")
        try stage.write(Array("old".utf8), to: "plan.tresor")
        try stage.write([UInt8](repeating: 0x78, count: 100_000), to: "plan.json")
        for arguments in [["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"], ["rotate", "-t", "plans", "--yes"]] {
            var hit = 0
            for number in stride(from: 1, through: 200, by: error == "EIO" ? 3 : 1) {
                guard let line = try inject(call, error, number, arguments, &hit) else { break }
                guard number < 200 else { Issue.record("no end: \(line)"); break }
            }
            #expect(hit > 0 || call != "fsync")
        }
    }

    /// - Returns: the call that failed on a file of the stage; "" for another; `nil` when there is no such call.
    private func inject(
        _ call: String, _ error: String, _ number: Int, _ arguments: [String], _ hit: inout Int
    ) throws -> String? {
        var program = stage.program
        program.wrapper = [
            "/usr/bin/strace", "-f", "-qq", "-y", "-s", "64", "-o", stage.scratch["trace"], "-e", "trace=\(call)", "-e",
            "inject=\(call):error=\(error):when=\(number)", "-P", stage.scratch["homes/anna"], "-P", stage.scratch.path,
        ]
        program.wrapper.removeLast(4)
        let before = stage["plan.tresor"]
        let ending = try program.run(stage.words(as: "anna") + arguments)
        let trace = String(decoding: stage["trace"], as: UTF8.self).split(separator: "\n")
        guard let line = trace.first(where: { $0.contains("(INJECTED)") }).map(String.init) else { return nil }
        #expect(ending.code >= 0, "\(arguments) ended by a signal after \(line)")
        guard line.contains(stage.scratch.path) else { return "" }
        hit += 1
        let isErasing = line.contains("ftruncate") || line.contains("store.db")
        #expect([1, 18].contains(ending.code) || (isErasing && ending.code == 0), "\(ending.code) after \(line)")
        if ending.code != 0 { #expect(stage["plan.tresor"] == before, "\(line)") }
        let check = try stage.run(as: "anna", ["check"])
        #expect(check.code == 0, "\(line): \(check.outputText)")
        let names = try FileManager.default.contentsOfDirectory(atPath: stage.scratch.path)
        #expect(!names.contains { $0.hasSuffix(".tmp") || $0.contains(".tresor-") }, "\(line): \(names)")
        return line
    }
}
