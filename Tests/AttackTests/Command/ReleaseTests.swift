// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Tresor
@testable import TresorCore

/// The output of the program when it refuses: nothing of the content, nothing of the input.
@Suite struct ReleaseTests {
    private let stage: Stage
    init() throws {
        stage = try Stage("anna", "house")
        try stage.share(of: "anna", with: "house")
    }

    @Test func A6_nothingComesOutBeforeTheLastCheck() throws {
        try stage.write(Stage.plan(8 << 20), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        try stage.write(Array("old".utf8), to: "read.json")
        var last = stage["plan.tresor"]
        last[last.count - 1] ^= 1
        var middle = stage["plan.tresor"]
        middle[4 << 20] ^= 1
        let cut = Array(stage["plan.tresor"].dropLast(65_552))
        for damaged in [last, middle, cut] {
            try stage.write(damaged, to: "plan.tresor")
            for target in [[], ["-o", "read.json"], ["-o", "new.json"]] {
                let ending = try stage.run(as: "house", ["decrypt", "plan.tresor"] + target)
                #expect(ending.code == 14)
                #expect(ending.output == [])
                #expect(!ending.errorText.contains(Stage.marker))
                #expect(stage["read.json"] == Array("old".utf8))
            }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: stage.scratch.path)
        #expect(!names.contains { $0.hasPrefix("new") || $0.hasPrefix(".tresor-") }, "\(names)")
    }

    /// 200 MiB whose last chunk, signature or author is wrong: late, and still nothing. It takes 1 GiB of memory.
    @Test(.longRun) func A6_nothingComesOutOfALargeFile() async throws {
        let large = Data(repeating: 0x78, count: 200 << 20)
        try large.write(to: URL(fileURLWithPath: stage.scratch["plan.json"]))
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        try FileManager.default.removeItem(atPath: stage.scratch["plan.json"])
        try stage.expect(as: "house", ["decrypt", "plan.tresor", "-o", "read.json"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: stage.scratch["read.json"])) == large)
        try stage.write(Array("old".utf8), to: "read.json")
        let file = try #require(FileHandle(forUpdatingAtPath: stage.scratch["plan.tresor"]))
        let end = try file.seekToEnd()
        try file.seek(toOffset: end - 1)
        let last = try #require(try file.read(upToCount: 1)).first ?? 0
        for (byte, code) in [(last ^ 1, 14), (last, nil)] as [(UInt8, Int32?)] {
            try file.seek(toOffset: end - 1)
            try file.write(contentsOf: Data([byte]))
            guard let code else { break }
            try refuseEverywhere(code, "plan.tresor")
        }
        try await stage.reseal("plan.tresor", as: "signed.tresor", by: "house") { $0[$0.count - 1] ^= 1 }
        try refuseEverywhere(14, "signed.tresor")
        try FileManager.default.removeItem(atPath: stage.scratch["signed.tresor"])
        try await stage.seal(Array(large), as: "reader.tresor", by: "house")
        try stage.refuse(13, as: "anna", ["decrypt", "reader.tresor", "-o", "read.json"])
        try refuseEverywhere(13, "reader.tresor")
    }

    /// To standard output, which takes nothing of this size, over an old file and to a new one.
    private func refuseEverywhere(_ code: Int32, _ file: String) throws {
        let isLarge = try #require(FileHandle(forReadingAtPath: stage.scratch[file])).seekToEnd() > 64 << 20
        try stage.refuse(isLarge ? 64 : code, as: "house", ["decrypt", file])
        for target in [["-o", "read.json"], ["-o", "new.json"], ["-C", "homes"]] {
            try stage.refuse(code, as: "house", ["decrypt", file] + target)
        }
    }

    @Test func A6_nothingComesOutOfAFileByTheWrongAuthor() async throws {
        try stage.write(Stage.plan(200_000), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        try stage.expect(as: "house", ["members", "-t", "plans"])
        for expectation in [["--from", "house"], ["--record", "other.json"]] {
            try stage.refuse(14, as: "house", ["decrypt", "plan.tresor"] + expectation)
        }
        try await stage.seal(Stage.plan(200_000), as: "reader.tresor", by: "house")
        try refuseEverywhere(13, "reader.tresor")
        try stage.add("third")
        try stage.refuse(13, as: "third", ["decrypt", "plan.tresor", "--accept-unverified"])
    }

    /// A care plan given to every command that takes a file, and every beginning of a sealed file.
    @Test func A99_noErrorGivesTheInputBack() throws {
        let plan = Stage.plan(2000)
        try stage.write(plan, to: "plan.json")
        try stage.write(Array("-----BEGIN TRESOR FILE-----\n".utf8) + plan, to: "armour.txt")
        try stage.write(Array(plan.prefix(900)), to: "secret.txt", mode: 0o600)
        var runs: [[String]] = []
        for file in ["plan.json", "armour.txt"] {
            runs += [
                ["decrypt", file], ["inspect", file], ["reseal", file], ["check", "--deep", file], ["check", file],
                ["verify", "house", "--card", file], ["share", "-t", "plans", "house", "--card", file],
                ["decrypt", file, "armour.txt"],
            ]
        }
        runs += [["recover", "--kit", "secret.txt"], ["list", "--password-file", "secret.txt"]]
        let windows = Windows(of: plan)
        for arguments in runs {
            let output = arguments[0] == "decrypt" && arguments.count == 2 ? ["-o", "out"] : []
            for words in [arguments, ["--json"] + arguments + output] {
                try expectNothing(of: try stage.run(as: "anna", words), words, windows)
            }
            guard ["decrypt", "inspect"].contains(arguments[0]), arguments.count == 2 else { continue }
            let ending = try stage.run(as: "anna", [arguments[0]], input: stage.scratch["plan.json"])
            try expectNothing(of: ending, arguments, windows)
        }
    }

    @Test func A99_noBeginningOfASealedFileIsGivenBack() throws {
        try stage.write(Stage.plan(700), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        let sealed = stage["plan.tresor"]
        let windows = Windows(of: sealed)
        // A check names the tresors that it knows already.
        let windowsBehindTresor = Windows(of: Array(sealed.dropFirst(42)))
        for count in [0, 1, 7, 8, 9, 10, 42, 50, 89, 90, 91, 113, 146, 147, 600, sealed.count - 1] {
            try stage.write(Array(sealed.prefix(count)), to: "cut.tresor")
            for arguments in [["inspect"], ["decrypt"]] {
                let words = arguments + ["cut.tresor"]
                let ending = try stage.run(as: "anna", words)
                // A header and a body of a possible size can be looked at; what it claims is not proved.
                if words[0] == "inspect", ending.code == 0 {
                    stage.expectSilence(ending.outputText + ending.errorText)
                    continue
                }
                #expect([14, 19].contains(ending.code), "\(words) of \(count)")
                #expect(ending.output == [])
                try expectNothing(of: ending, words, windows)
            }
            guard [50, 600].contains(count) else { continue }
            for arguments in [
                ["decrypt", "cut.tresor", "-o", "out"], ["reseal", "cut.tresor"], ["check", "cut.tresor"],
                ["check", "--deep", "cut.tresor"], ["share", "-t", "plans", "house", "--card", "cut.tresor"],
                ["verify", "house", "--card", "cut.tresor"],
            ] {
                let ending = try stage.run(as: "anna", ["--json"] + arguments)
                #expect([14, 19].contains(ending.code), "\(arguments) of \(count): \(ending.code)")
                try expectNothing(of: ending, arguments, arguments[0] == "check" ? windowsBehindTresor : windows)
            }
        }
    }

    /// Every prefix of a small sealed file, given to each command that takes several INPUTs in one run, and to the
    /// others one after another.
    @Test func A99_noPrefixIsGivenBackByAnyCommand() throws {
        try stage.write(Stage.plan(100), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        let sealed = stage["plan.tresor"]
        let windows = Windows(of: sealed)
        let windowsBehindTresor = Windows(of: Array(sealed.dropFirst(42)))
        let counts = (0..<sealed.count).sampled(5)
        for count in counts { try stage.write(Array(sealed.prefix(count)), to: "cut/\(count)") }
        // One that can be looked at shows what it claims.
        let refused = counts.filter { (try? SealedFile(Array(sealed.prefix($0)))) == nil }
        #expect(refused.count > (LongRun.isOn ? 300 : 60))
        let all = counts.map { "cut/\($0)" }
        let none = refused.map { "cut/\($0)" }
        try stage.write([], to: "out/empty")
        for json in [[], ["--json"]] {
            for arguments in [["inspect"] + none, ["decrypt", "-C", "out"] + all, ["reseal"] + all] {
                let ending = try stage.run(as: "anna", json + arguments)
                try expectNothing(of: ending, Array(arguments.prefix(1)), windows)
                #expect(ending.errorText.split(separator: "\n").count >= none.count, "\(arguments[0])")
            }
            for arguments in [["check"] + none, ["check", "--deep"] + all] {
                let ending = try stage.run(as: "anna", json + arguments)
                try expectNothing(of: ending, Array(arguments.prefix(1)), windowsBehindTresor)
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.scratch["out"]) == ["empty"])
        for count in counts where count < 12 || count % 145 == 0 {
            for arguments in [
                ["share", "-t", "plans", "house", "--card", "cut/\(count)"],
                ["verify", "house", "--card", "cut/\(count)"],
            ] { try expectNothing(of: try stage.run(as: "anna", arguments), arguments, windows) }
        }
    }

    /// A program that repeats what it cannot read is noticed.
    @Test func A99_theSearchFindsWhatIsGivenBack() throws {
        var program = stage.program
        program.wrapper = ["/bin/sh", "-c", "cat \"$@\" >&2; exit 1"]
        try stage.write(Stage.plan(2000), to: "plan.json")
        let ending = try program.run(["plan.json"])
        #expect(ending.code == 1 && Stage.secrets(in: ending.errorText) == ["MARKED", "4711-CONTENT"])
        let sealed = (0..<200).map { UInt8($0) }
        let part = Array(sealed[50..<70])
        let texts = [
            "hex " + part.map { String($0, radix: 16) }.joined(),
            "HEX " + part.map { String(format: "%02X", $0) }.joined(),
            "base64 " + Data(part).base64EncodedString(), "base32 " + Base32.text(part),
        ]
        for text in texts.map({ Array($0.utf8) }) + [part] { #expect(Windows(of: sealed).areIn(text)) }
        #expect(!Windows(of: sealed).areIn(Array(String(describing: texts).utf8.prefix(12)) + part.prefix(7)))
    }

    private func expectNothing(of ending: Program.Ending, _ arguments: [String], _ windows: Windows) throws {
        #expect(ending.code > 0, "\(arguments)")
        for bytes in [ending.output, ending.error] {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(Stage.secrets(in: text) == [], "\(arguments): \(text)")
            let isGivenBack = windows.areIn(bytes)
            #expect(!isGivenBack, "\(arguments): \(text)")
        }
    }
}

/// Every eight bytes that follow one another, as they are and as anybody would print them.
private struct Windows {
    /// By how long the text is that eight bytes have in each form, whatever follows them.
    private var forms: [Int: Set<[UInt8]>] = [:]

    init(of bytes: [UInt8]) {
        for start in 0...max(0, bytes.count - 8) {
            let window = Array(bytes[start..<min(start + 8, bytes.count)])
            let hex = window.map { String(format: "%02x", $0) }.joined()
            forms[8, default: []].insert(window)
            forms[16, default: []].insert(Array(hex.utf8))
            forms[10, default: []].insert(Array(Data(window).base64EncodedString().utf8.prefix(10)))
            forms[12, default: []].insert(Array(Base32.text(window).utf8.prefix(12)))
        }
    }

    func areIn(_ output: [UInt8]) -> Bool {
        let lower = Array(String(decoding: output, as: UTF8.self).lowercased().utf8)
        return forms.contains { size, windows in
            [output, lower].contains { text in
                text.count >= size
                    && (0...(text.count - size)).contains { windows.contains(Array(text[$0..<($0 + size)])) }
            }
        }
    }
}
