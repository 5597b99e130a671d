// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing

    /// A store on a medium that cannot be written: reading needs no writing.
    @Suite(.enabled(if: geteuid() != 0 || has("setpriv"), "root writes everywhere, and setpriv is not present"))
    struct ReadOnlyStoreTests {
        private let stage: Stage

        init() throws {
            stage = try Stage("anna", "house")
            try stage.share(of: "anna", with: "house")
            try stage.write(Stage.plan(), to: "plan.json")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
            try stage.write([], to: "medium/empty")
            for name in ["store.db", "plan.tresor"] {
                try FileManager.default.moveItem(atPath: stage.scratch[name], toPath: stage.scratch["medium/\(name)"])
            }
            stage.environment["TRESOR_STORE"] = stage.scratch["medium/store.db"]
            if geteuid() == 0 {
                stage.wrapper = ["/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"]
            }
        }

        private func protect(file: mode_t, directory: mode_t) throws {
            try #require(chmod(stage.scratch["medium/store.db"], file) == 0)
            try #require(chmod(stage.scratch["medium"], directory) == 0)
        }

        private var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: stage.scratch["medium"]).sorted() }
        }

        @Test(arguments: [(0o444, 0o555), (0o444, 0o755), (0o644, 0o555)] as [(mode_t, mode_t)])
        func readingNeedsNoWriting(file: mode_t, directory: mode_t) throws {
            let before = stage["medium/store.db"]
            try protect(file: file, directory: directory)
            defer { chmod(stage.scratch["medium"], 0o755) }
            try stage.expect(as: "anna", ["export", "-t", "plans", "-o", "plans.export"])
            for arguments in [
                ["members", "-t", "plans", "--at", "1"], ["log", "-t", "plans", "--head"],
                ["list", "--json"], ["card", "anna"], ["device", "list"],
                ["export", "-t", "plans", "-o", "again.export"], ["import", "plans.export"],
                ["list"], ["members", "-t", "plans"], ["log", "-t", "plans"], ["check"],
                ["decrypt", "medium/plan.tresor", "-o", "read.json"], ["check", "--deep", "medium/plan.tresor"],
            ] {
                let ending = try stage.run(as: "house", arguments)
                #expect(ending.code == 0, "\(arguments): \(ending.code) \(ending.errorText)")
            }
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "new.tresor"])
            #expect(stage["read.json"] == Stage.plan())
            let ending = try stage.run(as: "anna", ["rotate", "-t", "plans", "--yes"])
            #expect(ending.code == 18, "\(ending.errorText)")
            #expect(ending.errorText.contains("not writable"), "\(ending.errorText)")
            #expect(stage["medium/store.db"] == before)
            #expect(try names == ["empty", "plan.tresor", "store.db"])
        }

        @Test func whereItMayBeWrittenAgainItIs() throws {
            try protect(file: 0o444, directory: 0o555)
            try stage.expect(as: "anna", ["list"])
            try protect(file: 0o644, directory: 0o755)
            try stage.expect(as: "anna", ["rotate", "-t", "plans", "--yes"])
            try stage.expect(as: "house", ["list"])
        }
    }
#endif
