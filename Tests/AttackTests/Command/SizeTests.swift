// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The information in the size of a sealed file.
@Suite struct SizeTests {
    /// An input without an end that is no sealed file, and a limit far below what reading on would take.
    @Test(.disabled(if: isSanitized, "a sanitizer needs more memory than the limit"))
    func A19_endlessInputIsRefusedAtItsBeginning() throws {
        let stage = try Stage("anna", "house")
        try stage.share(of: "anna", with: "house")
        stage.wrapper = ["/bin/sh", "-c", "ulimit -d 400000 && exec \"$@\"", "sh"]
        for arguments in [
            ["inspect"], ["inspect", "/dev/zero"], ["decrypt"], ["decrypt", "/dev/zero"], ["check", "/dev/zero"],
            ["verify", "house", "--card", "/dev/zero"], ["decrypt", "-o", "read.json"],
        ] {
            let ending = try stage.run(as: "anna", arguments, input: "/dev/zero")
            #expect(ending.code == 14, "\(arguments): \(ending.errorText)")
        }
    }

    /// A pipe without an end that begins like an armoured file: nothing is put aside of it, and the end is not waited
    /// for.
    @Test func A22_endlessArmourIsRefusedAtItsBeginning() throws {
        let stage = try Stage("anna")
        try stage.share(of: "anna")
        let endings = ["\\n", "\\r\\n"]
        for (ending, rest) in endings.flatMap({ ending in ["cat /dev/zero", "yes ''", "yes AAAA"].map { (ending, $0) } }
        ) {
            let text = "{ printf -- '-----BEGIN TRESOR FILE-----\(ending)'; exec \(rest); } | \"$@\""
            stage.wrapper = ["/bin/sh", "-c", "ulimit -f 20000; \(text)", "sh"]
            // The ends of lines are the reader's, and one command for all.
            let commands = [["inspect"], ["decrypt", "-o", "read.json"], ["decrypt"], ["check", "-"]]
            let isWhole = ending == endings[0] && (LongRun.isOn || rest == "yes AAAA")
            for arguments in commands.prefix(isWhole ? commands.count : 1) {
                let ending = try stage.run(as: "anna", arguments)
                #expect(ending.code == 14, "\(arguments), \(rest): \(ending.errorText)")
            }
        }
        #expect(stage["read.json"] == [])
    }

    /// The same, where a real file's beginning goes before: the first line that does not fit is the last that is read.
    @Test func A22_armourThatGoesOnWithoutEndIsRefusedInItsMiddle() throws {
        let stage = try Stage("anna")
        try stage.share(of: "anna")
        try stage.write(Stage.plan(2 << 20), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "-a", "plan.json", "-o", "plan.txt"])
        let text = "{ head -c 2000000 plan.txt; exec yes AAAA; } | \"$@\""
        stage.wrapper = ["/bin/sh", "-c", "ulimit -f 20000; \(text)", "sh"]
        for arguments in [["decrypt", "-o", "read.json"], ["decrypt"], ["inspect"], ["check", "-"]] {
            let ending = try stage.run(as: "anna", arguments)
            #expect(ending.code == 14, "\(arguments): \(ending.errorText)")
        }
        #expect(stage["read.json"] == [])
    }

    @Test(
        .disabled(
            if: ProcessInfo.processInfo.environment["TRESOR_SANITIZER"] == "thread",
            "the sanitizer ends a program whose files may not grow"))
    func A106_aFileThatMayNotGrowIsAFullDisk() throws {
        let stage = try Stage("anna")
        try stage.share(of: "anna")
        try stage.expect(as: "anna", ["list"])
        try stage.write(Stage.plan(100_000), to: "plan.json")
        stage.wrapper = ["/bin/sh", "-c", "ulimit -f 100 && exec \"$@\"", "sh"]
        let ending = try stage.run(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        #expect(ending.code == 1 && ending.errorText.contains("no space left"), "\(ending.code) \(ending.errorText)")
        stage.wrapper = []
        #expect(stage["plan.tresor"] == [])
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
    }

    @Test func A8_compressibleAndRandomContentsHaveOneSize() throws {
        let stage = try Stage("anna")
        try stage.share(of: "anna")
        for count in [600, 70_000] {
            let contents: [[UInt8]] = [
                [UInt8](repeating: 0x20, count: count), (0..<count).map { _ in .random(in: .min ... .max) },
                (0..<count).map { UInt8($0 % 10 + 0x30) },
            ]
            var sizes: Set<Int> = []
            for content in contents {
                try stage.write(content, to: "plan.json")
                try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
                sizes.insert(stage["plan.tresor"].count)
            }
            #expect(sizes.count == 1)
        }
    }

    @Test(.enabled(if: has("gzip"), "gzip is not present")) func A8_withACompressorTheSizeTells() throws {
        let stage = try Stage("anna")
        let contents: [[UInt8]] = [
            [UInt8](repeating: 0x20, count: 70_000), (0..<70_000).map { _ in .random(in: .min ... .max) },
        ]
        let sizes = try contents.map { content in
            try stage.write(content, to: "plan.json")
            _ = try tool("/bin/gzip", ["-f", stage.scratch["plan.json"]])
            return stage["plan.json.gz"].count
        }
        #expect(sizes[0] > 0 && sizes[0] < sizes[1] / 2)
    }
}
