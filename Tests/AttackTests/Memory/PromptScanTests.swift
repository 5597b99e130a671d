// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing
    import TresorStore

    @testable import Tresor
    @testable import TresorCrypto

    /// The memory of the built program while it waits for somebody, searched for what it must not hold outside guarded pages.
    @Suite(
        .enabled(if: geteuid() == 0, "only root reads the memory of a program that forbids it"),
        .disabled(if: isSanitized, "a sanitizer keeps copies of its own"))
    struct PromptScanTests {
        let stage: Stage
        let secrets: Secrets

        init() async throws {
            stage = try Stage("anna", "house")
            try stage.share(of: "anna", with: "house")
            secrets = try await Secrets(of: "anna", on: stage)
        }

        private func words(_ arguments: String...) -> [String] { ["--home", stage.scratch["homes/anna"]] + arguments }

        private func expectNoStrayCopies(in process: pid_t, _ moment: Comment) throws {
            let memory = try ProcessMemory(of: process)
            #expect(
                !memory.hits(of: Array(stage.scratch.path.utf8)).isEmpty, "the search finds what is public: \(moment)")
            #expect(memory.hits(of: secrets.password).map(\.description) == [], "the password: \(moment)")
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

    /// What anna's program works with, as the test may know it.
    struct Secrets {
        let password: [UInt8]
        private(set) var keys: [String: [UInt8]] = [:]

        init(of person: String, on stage: Stage) async throws {
            let text = Array("PASSWORD-0815-\(person)".utf8)
            let home = stage.scratch["homes/\(person)"]
            let file = try IdentityFile(bytes(at: "\(home)/identity"))
            let password = try Password(typed: SecretBytes(copying: text.span))
            let slot = try #require(file.slots.first)
            guard case .password(let cost, let salt) = slot.kind else { throw Unmet("no password slot") }
            let key: SecretKey<SlotUse> = try Argon2id.key(password: password.bytes, salt: salt, cost: cost)
            keys["the slot's key"] = key.span.publicBytes
            let seed = try slot.open(with: key, user: file.chain.user, generation: 0)
            keys["the seed"] = seed.span.publicBytes
            let empty: [UInt8] = []
            let kem: SecretKey<KEMUse> = try seed.derive(.identityKEM, context: empty.span)
            keys["the KEM seed"] = kem.span.publicBytes
            let sign: SecretKey<SigningUse> = try seed.derive(.identitySign, context: empty.span)
            keys["the signing seed"] = sign.span.publicBytes
            let store = try await SQLiteStore.open(at: stage.store, creating: false)
            let client = Client(home: DirectoryHome(data: home, state: "\(home)/state"), store: store) { 2_000_000_000 }
            let session = Session(client: client, identity: try file.open(password: password))
            let tresor = try #require(try client.knownTresors().first)
            let state = try await client.state(of: tresor, remembering: .no)
            let epoch = try await session.keys(of: state.epoch, in: state)
            let wrapped = try epoch.secret()
            let both = wrapped.span.publicBytes
            keys["TK"] = Array(both.prefix(32))
            keys["HK"] = Array(both.suffix(32))
            self.password = text
        }
    }
#endif
