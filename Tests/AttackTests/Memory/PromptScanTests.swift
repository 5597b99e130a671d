// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// The memory of the built program while it waits for an answer, searched for bytes that belong in guarded pages
    /// only. Other threads of the program may still be wiping when the question stands there, so this is of the long run.
    @Suite(
        .longRun, .enabled(if: geteuid() == 0, "only root reads the memory of a program that forbids it"),
        .disabled(if: isSanitized, "a sanitizer keeps copies of its own"))
    struct PromptScanTests {
        let stage: Stage
        let secrets: Secrets

        init() async throws {
            stage = try Stage("anna", "house")
            stage.isMemoUsed = false
            try stage.share(of: "anna", with: "house")
            let password = Array("PASSWORD-0815-anna".utf8)
            var secrets = Secrets(of: "anna")
            secrets.add(text: password, as: "the password")
            try await secrets.learn(on: stage, password: password)
            self.secrets = secrets
        }

        private func words(_ arguments: String...) -> [String] { ["--home", stage.scratch["homes/anna"]] + arguments }

        private func expectNoStrayCopies(in process: pid_t, _ moment: Comment) throws {
            let memory = try ProcessMemory(of: process)
            #expect(
                !memory.hits(of: Array(stage.scratch.path.utf8)).isEmpty, "the search finds what is public: \(moment)")
            for (name, text) in secrets.texts {
                #expect(memory.hits(of: text).map(\.description) == [], "\(name): \(moment)")
            }
            for (name, secret) in secrets.keys {
                let stray = memory.hits(of: secret).filter { !$0.isGuarded }
                #expect(stray.map(\.description) == [], "\(name): \(moment)")
            }
        }

        /// Runs up to a question at a terminal, scans, and says no.
        private func scan(_ arguments: [String], until question: String, answer: String = "no\n") throws {
            let terminal = try Terminal()
            var program = stage.program
            program.terminal = terminal
            let child = try program.start(arguments, output: "/dev/null", error: "/dev/null")
            do {
                try terminal.wait(for: "password for anna")
                terminal.type("PASSWORD-0815-anna\n")
                try terminal.wait(for: question)
                usleep(50_000)
                try expectNoStrayCopies(in: child.id, "\(arguments[2]) at \(question)")
                let limits = try String(contentsOfFile: "/proc/\(child.id)/limits", encoding: .utf8)
                #expect(limits.contains(/Max core file size +0 +0/))
            } catch {
                child.kill()
                throw error
            }
            terminal.type(answer)
            #expect(try child.end(terminal: terminal) > 0)
        }

        @Test func A39_nothingStraysWhileARemovalIsAsked() throws {
            try scan(words("revoke", "-t", "plans", "house"), until: "type yes")
        }

        @Test func A40_nothingStraysWhileARotationIsAsked() throws {
            try scan(words("rotate", "-t", "plans"), until: "type yes")
        }

        @Test func A39_nothingStraysWhileAStrangerIsCompared() throws {
            try stage.add("third")
            try scan(words("share", "-t", "plans", "third"), until: "do they match?")
        }

        @Test func A39_nothingStraysWhileANewPasswordIsAsked() throws {
            try scan(words("passwd"), until: "anna, new", answer: "\u{3}")
        }

        /// A full pipe holds the program after its work, when the content is on its way out.
        @Test func A40_nothingStraysAfterAFileIsOpened() throws {
            try stage.write([UInt8](repeating: 0x78, count: 300_000), to: "plan.json")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            defer { close(ends[0]) }
            let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
            defer { close(nothing) }
            let child = try stage.program.start(
                stage.words(as: "anna") + ["decrypt", "plan.tresor"], descriptors: [nothing, ends[1], nothing])
            close(ends[1])
            defer { child.kill() }
            var waiting: Int32 = 0
            for _ in 0..<3000 where waiting < 60_000 {
                _ = ioctl(ends[0], UInt(FIONREAD), &waiting)
                usleep(10_000)
            }
            try #require(waiting >= 60_000)
            usleep(50_000)
            try expectNoStrayCopies(in: child.id, "decrypt, writing")
        }
    }
#endif
