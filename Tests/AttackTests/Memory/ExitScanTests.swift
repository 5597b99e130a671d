// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing

    /// The memory of the built program when a command has done its work and nothing is left but to end: no secret is in
    /// it any more.
    @Suite(
        .enabled(
            if: geteuid() == 0 && Compiler.path != nil,
            "only root reads the memory of a program that forbids it, and a C compiler is needed to hold it"),
        .disabled(if: isSanitized, "a sanitizer keeps copies of its own"))
    struct ExitScanTests {
        private let stage: Stage
        private let library: String

        init() throws {
            stage = try Stage("house", "other")
            library = try Compiler.library(Self.hold, in: stage.scratch)
            try stage.write(Array("PASSWORD-0815-anna\n".utf8), to: "anna.password", mode: 0o600)
            try stage.write(Array("PASSWORD-4711-new\n".utf8), to: "new.password", mode: 0o600)
            try stage.write(Stage.plan(70_000), to: "plan.json")
        }

        /// Stops the process where it would end.
        private static let hold = """
            #include <signal.h>
            #include <stdlib.h>
            _Noreturn void exit(int code) {
              _Noreturn void (*next)(int) = dlsym(RTLD_NEXT, "exit");
              raise(SIGSTOP);
              next(code);
            }
            """

        /// Runs a command, stops it where it would end, looks at it, and lets it end.
        private func hold(
            _ arguments: [String], by library: String? = nil, _ look: (pid_t) async throws -> Void
        ) async throws {
            var program = stage.program
            program.environment["LD_PRELOAD"] = library ?? self.library
            let child = try program.start(arguments, output: stage.scratch["output"], error: stage.scratch["error"])
            do {
                try child.waitUntilItStops()
                try await look(child.id)
            } catch {
                child.kill()
                throw error
            }
            kill(child.id, SIGCONT)
            let code = try child.end()
            #expect(code == 0, "\(arguments): \(String(decoding: stage["error"], as: UTF8.self))")
        }

        /// Runs a command as anna; what the home then holds is looked for beside what it held before.
        private func run(
            _ secrets: inout Secrets, _ arguments: String..., password: String = "PASSWORD-0815-anna",
            after: String? = nil, kit: String? = nil
        ) async throws {
            let words = ["--home", stage.scratch["homes/anna"], "--password-file", stage.scratch["anna.password"]]
            var known = secrets
            try await hold(words + ["--batch"] + arguments) { child in
                try await known.learn(on: stage, password: Array((after ?? password).utf8))
                if let kit { try known.add(kitIn: stage[kit], as: kit) }
                let memory = try ProcessMemory(of: child)
                #expect(!memory.hits(of: Array(stage.scratch.path.utf8)).isEmpty, "the search finds what is public")
                for (name, secret) in known.keys.merging(known.texts, uniquingKeysWith: { first, _ in first }) {
                    #expect(memory.hits(of: secret).map(\.description) == [], "\(arguments): \(name)")
                }
            }
            secrets = known
        }

        /// A library that does not release guarded memory: then the search finds what was in it.
        @Test func A39_theSearchFindsWhatIsNotWiped() async throws {
            try stage.add("anna")
            var secrets = Secrets(of: "anna")
            try await secrets.learn(on: stage, password: Array("PASSWORD-0815-anna".utf8))
            secrets.add(text: Array("PASSWORD-0815-anna".utf8), as: "the password")
            let other = try Scratch()
            let keeping = try Compiler.library(Self.hold + "\nvoid sodium_free(void *p) { (void)p; }", in: other)
            try await hold(stage.words(as: "anna") + ["create", "plans"], by: keeping) { child in
                let memory = try ProcessMemory(of: child)
                let all = secrets.keys.merging(secrets.texts, uniquingKeysWith: { first, _ in first })
                let found = all.filter { !memory.hits(of: $0.value).isEmpty }.keys
                #expect(found.sorted() == all.keys.sorted())
            }
        }

        /// A second machine gets the identity: when both have ended, neither has the code any more.
        @Test func A39_A161_neitherMachineKeepsTheCode() async throws {
            try stage.add("anna")
            let (giving, receiving) = (try Terminal(), try Terminal())
            let password = ["--password-file", stage.scratch["anna.password"]]
            var running = [
                try start(["--home", stage.scratch["homes/anna"]] + password + ["device", "add"], at: giving)
            ]
            do {
                try giving.wait(for: "ten minutes: ")
                while !giving.transcript.contains(/ten minutes: [0-9a-z-]{19}\s/) {
                    try #require(giving.attend(milliseconds: 60_000))
                }
                let shown = try #require(giving.transcript.firstMatch(of: /ten minutes: ([0-9a-z-]{19})/))
                var secrets = Secrets(of: "anna")
                try secrets.add(code: Array(shown.1.utf8))
                let words = ["--argon2id", "64,3", "--new-password-file", stage.scratch["new.password"]]
                running.append(
                    try start(
                        ["--home", stage.scratch["homes/desk"], "recover", "--from-device"] + words, at: receiving))
                try receiving.wait(for: "the other machine shows: ")
                receiving.type(String(shown.1) + "\n")
                for terminal in [giving, receiving] {
                    try terminal.wait(for: "type yes: ")
                    terminal.type("yes\n")
                }
                for terminal in [giving, receiving] {
                    try running[0].waitUntilItStops()
                    let memory = try ProcessMemory(of: running[0].id)
                    #expect(!memory.hits(of: Array(stage.scratch.path.utf8)).isEmpty, "the search finds what is public")
                    for (name, secret) in secrets.keys.merging(secrets.texts, uniquingKeysWith: { first, _ in first }) {
                        #expect(memory.hits(of: secret).map(\.description) == [], "\(name)")
                    }
                    kill(running[0].id, SIGCONT)
                    #expect(try running.removeFirst().end(terminal: terminal) == 0)
                }
            } catch {
                for child in running { child.kill() }
                throw error
            }
        }

        /// Begins a command at a terminal, which stops where it would end.
        private func start(_ arguments: [String], at terminal: Terminal) throws -> RunningProgram {
            var program = stage.program
            program.terminal = terminal
            program.environment["LD_PRELOAD"] = library
            return try program.start(arguments, output: "/dev/null", error: "/dev/null")
        }

        /// Nor do commands before a service, which stretch the password twice.
        @Test(.enabled(if: RunningService.isBuilt, "tresor-server is not built"))
        func A39_A131_noLogInLeavesASecretBehind() async throws {
            try stage.add("anna")
            var secrets = Secrets(of: "anna")
            secrets.add(text: Array("PASSWORD-0815-anna".utf8), as: "the password")
            secrets.add(text: Array("PASSWORD-4711-new".utf8), as: "the new password")
            let service = try RunningService(on: stage, operator: "house")
            try await run(&secrets, "register", "--store", service.address)
            try await run(&secrets, "login", "anna", "--argon2id", "64,3", "--store", service.address)
            try await run(
                &secrets, "passwd", "--argon2id", "64,3", "--new-password-file", "new.password", "--store",
                service.address, after: "PASSWORD-4711-new")
            let said = String(decoding: service.said, as: UTF8.self)
            for operation in ["register", "finish", "login", "finish-login"] {
                #expect(said.contains("\"operation\":\"\(operation)\""), "\(operation)")
            }
            #expect(!said.contains("PASSWORD"))
        }

        @Test func A39_A40_noCommandLeavesASecretBehind() async throws {
            var secrets = Secrets(of: "anna")
            secrets.add(text: Array("PASSWORD-0815-anna".utf8), as: "the password")
            secrets.add(text: Array("PASSWORD-4711-new".utf8), as: "the new password")
            secrets.add(text: Array(Stage.marker.utf8), as: "the content")
            let number = try stage.number(of: "house")
            try await run(&secrets, "keygen", "anna", "--argon2id", "64,3", "--kit", "kit.txt", kit: "kit.txt")
            try await run(&secrets, "create", "plans")
            try await run(&secrets, "share", "-t", "plans", "house", "--number", number)
            try await run(
                &secrets, "share", "-t", "plans", "other", "--number", stage.number(of: "other"), "--from-now")
            try await run(&secrets, "encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor")
            try await run(&secrets, "encrypt", "-t", "plans", "-a", "plan.json", "-o", "plan.txt")
            try await run(&secrets, "decrypt", "plan.tresor", "-o", "read.json")
            try await run(&secrets, "decrypt", "--any-record", "plan.txt")
            try await run(&secrets, "remember", "--name", "desk")
            try await run(&secrets, "list")
            try await run(&secrets, "rotate", "-t", "plans", "--yes")
            try await run(&secrets, "reseal", "plan.tresor")
            try await run(&secrets, "revoke", "-t", "plans", "house", "--yes")
            try await run(&secrets, "members", "-t", "plans")
            try await run(&secrets, "log", "-t", "plans")
            try await run(&secrets, "check", "--deep", "plan.tresor")
            let id = try stage.expect(as: "anna", ["device", "list"]).split(separator: "\n").last?.split(separator: " ")
            let device = try #require(id?.first { $0.count >= 6 }.map { String($0.filter { $0 != "*" }) })
            try await run(&secrets, "device", "revoke", device, "--yes")
            try await run(&secrets, "remember", "--name", "again")
            try await run(&secrets, "forget")
            try await run(&secrets, "card", "--publish")
            try await run(&secrets, "recover", "--new-kit", "--kit", "kit2.txt", kit: "kit2.txt")
            try await run(
                &secrets, "recover", "--kit", "kit2.txt", "--argon2id", "64,3", "--new-password-file", "anna.password")
            try await run(&secrets, "rotate", "--identity", "--kit", "kit3.txt", "--yes", kit: "kit3.txt")
            try await run(&secrets, "decrypt", "--any-record", "plan.tresor", "-o", "read.json")
            try await run(
                &secrets, "passwd", "--argon2id", "64,3", "--new-password-file", "new.password",
                after: "PASSWORD-4711-new")
            try #require(secrets.keys.count > 20)
        }
    }

    extension RunningProgram {
        /// Waits until it has stopped itself.
        fileprivate func waitUntilItStops() throws {
            for _ in 0..<30_000 {
                var status: Int32 = 0
                if waitpid(id, &status, WNOHANG | WUNTRACED) == id {
                    guard status & 0xff == 0x7f else { throw Unmet("the program ended and was not held") }
                    return
                }
                usleep(2000)
            }
            throw Unmet("the program did not come to its end")
        }
    }
#endif
