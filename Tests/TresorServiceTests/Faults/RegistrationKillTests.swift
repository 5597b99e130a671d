// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorService

    /// The program `tresor register`, killed after each message between it and the service.
    @Suite struct RegistrationKillTests {
        /// The same command, run again, goes on. It makes one account, and its kit opens.
        @Test func A121_aRegistrationThatWasKilledIsGoneOnWith() async throws {
            let relay = try CuttingRelay()
            defer { relay.stop() }
            let service = try await KilledService(
                .sqlite, people: [], policy: ["--registration", "open"], names: ["127.0.0.1:\(relay.port)"])
            relay.pass(to: service.port)
            let site = try Site()
            let first = try Applicant("person 0", before: relay, in: site)
            try await first.makeKeys()
            relay.plan(nil)
            #expect(try await first.register().code == 0)
            let count = relay.messageCount
            #expect(count >= 8)
            for number in 0..<count {
                // A source may register a few people at a time. A service that begins anew has forgotten how many.
                if number % 4 == 3 { try await service.kill(.server, 0) }
                let person = try Applicant("person \(number + 1)", before: relay, in: site)
                relay.plan(nil)
                try await person.makeKeys()
                relay.hold(from: number)
                let registering = try person.startRegistering()
                for _ in 0..<12_000 where relay.messageCount <= number { try await Task.sleep(for: .milliseconds(25)) }
                #expect(relay.messageCount > number, "message \(number): \(registering.text); \(registering.does)")
                registering.signal(SIGKILL)
                #expect(await registering.end() == SIGKILL)
                relay.plan(nil)
                let again = try await person.register()
                #expect(again.code == 0, "message \(number): \(again.text)")
            }
            let engine = try await service.open()
            let accounts = try await engine.read(
                SQL("SELECT count(*) FROM accounts WHERE state = 3 AND account <> (SELECT operator FROM services)"))
            let copies = try await engine.read(SQL("SELECT count(*) FROM kit_copies"))
            await engine.close()
            #expect(try accounts[0].number(0) == UInt64(count + 1))
            #expect(try copies[0].number(0) == UInt64(count + 1))
            try await service.stopAndCheck()
        }
    }

    /// A person with a home on disk, who uses the program.
    private struct Applicant {
        private let words: [String]
        private let name: String
        private let kit: String
        private let output: String

        init(_ name: String, before relay: CuttingRelay, in site: Site) throws {
            self.name = name
            kit = site["kit of \(name)"]
            output = site["output of \(name)"]
            let password = site["password"]
            let isMade = FileManager.default.createFile(
                atPath: password, contents: Data("the password of everybody\n".utf8),
                attributes: [.posixPermissions: 0o600])
            try #require(isMade)
            words = [
                "/usr/bin/env", "HOME=\(site.path)", ServerProcess.path("tresor"), "--home", site["home of \(name)"],
                "--store", "http://127.0.0.1:\(relay.port)", "--batch", "--password-file", password,
            ]
        }

        func makeKeys() async throws {
            let made = try await Daemon.run(words + ["keygen", name, "--kit", kit, "--argon2id", "64,3"])
            try #require(made.code == 0, "\(made.text)")
        }

        func startRegistering() throws -> Daemon { try Daemon(words + ["register", "--no-login"], output: output) }

        func register() async throws -> (code: Int32?, text: String) {
            try await Daemon.run(words + ["register", "--no-login"])
        }
    }
#endif
