// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What comes out of the program when it refuses: nothing of the content, nothing of the input.
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

    /// 200 MiB whose last chunk, signature or author is wrong: late, and still nothing.
    @Test func A6_nothingComesOutOfALargeFile() async throws {
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
        for arguments in runs {
            for json in [[], ["--json", "-o", "out"]] {
                let words =
                    json.isEmpty || arguments[0] != "decrypt" || arguments.count > 2 ? arguments : arguments + json
                try expectNothing(of: try stage.run(as: "anna", words), words)
                guard ["decrypt", "inspect"].contains(words[0]), words.count == 2 else { continue }
                try expectNothing(of: try stage.run(as: "anna", [words[0]], input: stage.scratch["plan.json"]), words)
            }
        }
    }

    @Test func A99_noBeginningOfASealedFileIsGivenBack() throws {
        try stage.write(Stage.plan(700), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        let sealed = stage["plan.tresor"]
        for count in [0, 1, 7, 8, 9, 10, 42, 50, 89, 90, 91, 113, 146, 147, 600, sealed.count - 1] {
            try stage.write(Array(sealed.prefix(count)), to: "cut.tresor")
            for command in ["inspect", "decrypt"] {
                let ending = try stage.run(as: "house", [command, "cut.tresor"])
                // A header and a body of a possible size can be looked at; what it claims is not proved.
                if command == "inspect", ending.code == 0 {
                    stage.expectSilence(ending.outputText + ending.errorText)
                    continue
                }
                #expect([14, 19].contains(ending.code), "\(command) of \(count)")
                #expect(ending.output == [])
                try expectNothing(of: ending, [command])
            }
        }
    }

    /// A program that repeats what it cannot read is noticed.
    @Test func A99_theSearchFindsWhatIsGivenBack() throws {
        var program = stage.program
        program.wrapper = ["/bin/sh", "-c", "cat \"$@\" >&2; exit 1"]
        try stage.write(Stage.plan(2000), to: "plan.json")
        let ending = try program.run(["plan.json"])
        #expect(ending.code == 1 && Stage.secrets(in: ending.errorText) == ["MARKED", "4711"])
    }

    private func expectNothing(of ending: Program.Ending, _ arguments: [String]) throws {
        #expect(ending.code > 0, "\(arguments)")
        for text in [ending.outputText, ending.errorText] {
            #expect(Stage.secrets(in: text) == [], "\(arguments): \(text)")
        }
    }
}
