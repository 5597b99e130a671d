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

        /// Nothing is made that needs the store: an identity whose kit has no copy there would be lost with the machine.
        @Test func keygenMakesNothingBesideAStoreThatMayNotBeWritten() throws {
            try protect(file: 0o444, directory: 0o755)
            try stage.write(Array("PASSWORD-0815-zoe\n".utf8), to: "zoe.password", mode: 0o600)
            let arguments = ["keygen", "zoe", "--kit", "zoe.kit", "--argon2id", "64,3"]
            let ending = try stage.run(as: "zoe", arguments)
            #expect(ending.code == 18, "\(ending.code) \(ending.errorText)")
            #expect(ending.errorText.contains("cannot be written by you"), "\(ending.errorText)")
            #expect(!FileManager.default.fileExists(atPath: stage.scratch["homes/zoe/identity"]))
            #expect(!FileManager.default.fileExists(atPath: stage.scratch["zoe.kit"]))
            try protect(file: 0o644, directory: 0o755)
            try stage.expect(as: "zoe", arguments)
        }

        /// A recovery ends the trust in other machines there, so it names the copy that it can change.
        @Test func recoverNamesTheCopyThatItNeeds() throws {
            try stage.write(Array("PASSWORD-0815-zoe\n".utf8), to: "zoe.password", mode: 0o600)
            try stage.expect(as: "zoe", ["keygen", "zoe", "--kit", "zoe.kit", "--argon2id", "64,3"])
            try protect(file: 0o444, directory: 0o555)
            defer { chmod(stage.scratch["medium"], 0o755) }
            let arguments = [
                "--home", stage.scratch["homes/again"], "recover", "--kit", "zoe.kit", "--new-password-file",
                "zoe.password", "--argon2id", "64,3",
            ]
            let ending = try stage.run(as: "zoe", arguments)
            #expect(ending.code == 18, "\(ending.code) \(ending.errorText)")
            #expect(ending.errorText.contains("recover changes the store"), "\(ending.errorText)")
            #expect(ending.errorText.contains("hint: cp "), "\(ending.errorText)")
            try FileManager.default.copyItem(
                atPath: stage.scratch["medium/store.db"], toPath: stage.scratch["copy-of-store.db"])
            try #require(chmod(stage.scratch["copy-of-store.db"], 0o644) == 0)
            try stage.expect(as: "zoe", arguments + ["--store", "copy-of-store.db"])
        }

        @Test func aStoreThatMayNotBeReadIsNamedWithItsOwner() throws {
            try protect(file: 0o000, directory: 0o755)
            let ending = try stage.run(as: "anna", ["list"])
            #expect(ending.code == 18, "\(ending.code) \(ending.errorText)")
            #expect(ending.errorText.contains(", and you may not read it"), "\(ending.errorText)")
            #expect(ending.errorText.contains(/hint: sudo chown [^\n]* # for one that you alone use/))
            #expect(ending.errorText.contains(/hint: chmod g\+rw [^\n]* # as its owner, for a group that shares it/))
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
