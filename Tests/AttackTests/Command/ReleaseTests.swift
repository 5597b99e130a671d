// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What comes out of the program when it refuses: nothing of the content, nothing of the input.
@Suite struct ReleaseTests {
    private let stage: Stage
    private static let marker = "MARKED-4711-CONTENT"

    init() throws {
        stage = try Stage("anna", "house")
        try stage.share(of: "anna", with: "house")
    }

    private func plan(_ count: Int) -> [UInt8] {
        var plan = Array("{\"title\": \"\(Self.marker)\", \"pad\": \"".utf8)
        while plan.count < count { plan += Array(Self.marker.utf8) }
        return plan + Array("\"}".utf8)
    }

    @Test func A6_nothingComesOutBeforeTheLastCheck() throws {
        try stage.write(plan(8 << 20), to: "plan.json")
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
                #expect(!ending.errorText.contains(Self.marker))
                #expect(stage["read.json"] == Array("old".utf8))
            }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: stage.scratch.path)
        #expect(!names.contains { $0.hasPrefix("new") || $0.hasPrefix(".tresor-") }, "\(names)")
    }

    @Test func A6_nothingComesOutOfAFileByTheWrongAuthor() throws {
        try stage.write(plan(200_000), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        for expectation in [["--from", "house"], ["--record", "other.json"]] {
            let ending = try stage.run(as: "house", ["decrypt", "plan.tresor"] + expectation)
            #expect(ending.code == 14)
            #expect(ending.output == [])
        }
        try stage.add("third")
        let ending = try stage.run(as: "third", ["decrypt", "plan.tresor", "--accept-unverified"])
        #expect(ending.code == 13)
        #expect(ending.output == [])
    }

    /// A care plan given to every command that takes a file, and every beginning of a sealed file.
    @Test func A99_noErrorGivesTheInputBack() throws {
        let plan = plan(2000)
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
                let words = json.isEmpty || arguments[0] != "decrypt" || arguments.count > 2 ? arguments : arguments + json
                try expectNothing(of: try stage.run(as: "anna", words), words)
                try expectNothing(of: try stage.run(as: "anna", words.filter { $0 != words.last }, input: stage.scratch["plan.json"]), words)
            }
        }
    }

    @Test func A99_noBeginningOfASealedFileIsGivenBack() throws {
        try stage.write(plan(700), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        let sealed = stage["plan.tresor"]
        for count in [0, 1, 7, 8, 9, 10, 42, 50, 89, 90, 91, 113, 146, 147, 600, sealed.count - 1] {
            try stage.write(Array(sealed.prefix(count)), to: "cut.tresor")
            for command in ["inspect", "decrypt"] {
                let ending = try stage.run(as: "house", [command, "cut.tresor"])
                #expect([14, 19].contains(ending.code), "\(command) of \(count)")
                #expect(ending.output == [])
                try expectNothing(of: ending, [command])
            }
        }
    }

    private func expectNothing(of ending: Program.Ending, _ arguments: [String]) throws {
        #expect(ending.code > 0, "\(arguments)")
        for text in [ending.outputText, ending.errorText] {
            #expect(!text.contains("MARKED") && !text.contains("4711"), "\(arguments): \(text)")
        }
    }
}
