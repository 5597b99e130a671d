// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorService

    /// The program `tresor passwd` of a person with a log-in, killed after each message between it and the service.
    @Suite struct LoginKillTests {
        /// The same command, run again with the old password, goes on; then the new one logs in.
        @Test func A122_aChangeOfPasswordThatWasKilledIsRunAgain() async throws {
            let relay = try CuttingRelay()
            defer { relay.stop() }
            let service = try await KilledService(
                .sqlite, people: [], policy: ["--registration", "open", "--argon2id", "65536,3"],
                names: ["127.0.0.1:\(relay.port)"])
            relay.pass(to: service.port)
            let person = try Person(before: relay)
            relay.plan(nil)
            #expect(try await person.run("keygen", "anna", "--no-kit", "--argon2id", "64,3").code == 0)
            #expect(try await person.run("register").code == 0)
            relay.plan(nil)
            try await person.change(to: 1)
            let count = relay.messageCount
            #expect(count >= 8)
            for number in 0..<count {
                // A person sets a log-in a few times a minute. The database knows how often, and so does a process.
                if number % 2 == 1 {
                    let engine = try await service.open()
                    _ = try await engine.write([SQL("DELETE FROM login_limits")])
                    await engine.close()
                    try await service.kill(.server, 0)
                }
                relay.hold(from: number)
                let changing = try person.startChanging(to: number + 2)
                for _ in 0..<12_000 where relay.messageCount <= number { try await Task.sleep(for: .milliseconds(25)) }
                #expect(relay.messageCount > number, "message \(number): \(changing.text); \(changing.does)")
                changing.signal(SIGKILL)
                #expect(await changing.end() == SIGKILL)
                relay.plan(nil)
                try await person.change(to: number + 2)
                let entered = try await person.enter(home: "home \(number)")
                #expect(entered.code == 0, "message \(number): \(entered.text)")
            }
            try await service.stopAndCheck()
        }
    }

    /// A person with a home on disk, who changes the password again and again.
    private final class Person {
        private let site: Site
        private let port: Int
        /// The number of the password that opens the home.
        private var present = 0

        init(before relay: CuttingRelay) throws {
            site = try Site()
            port = relay.port
        }

        private func password(_ number: Int) throws -> String {
            let path = site["password \(number)"]
            let isMade = FileManager.default.createFile(
                atPath: path, contents: Data("the password \(number) of anna\n".utf8),
                attributes: [.posixPermissions: 0o600])
            try #require(isMade)
            return path
        }

        private func words(home: String) throws -> [String] {
            [
                "/usr/bin/env", "HOME=\(site.path)", ServerProcess.path("tresor"), "--home", site[home], "--store",
                "http://127.0.0.1:\(port)", "--batch", "--password-file", try password(present),
            ]
        }

        func run(_ command: String...) async throws -> (code: Int32?, text: String) {
            try await Daemon.run(words(home: "home") + command)
        }

        private func changing(to number: Int) throws -> [String] {
            try words(home: "home") + ["passwd", "--new-password-file", password(number), "--argon2id", "64,3"]
        }

        func startChanging(to number: Int) throws -> Daemon {
            try Daemon(changing(to: number), output: site["output \(number)"])
        }

        /// Changes the password, unless that is done already.
        func change(to number: Int) async throws {
            let changed = try await Daemon.run(changing(to: number))
            #expect(changed.code == 0 || changed.code == 12, "\(number): \(changed.text)")
            present = number
        }

        /// Logs in from an empty home with the present password.
        func enter(home: String) async throws -> (code: Int32?, text: String) {
            try await Daemon.run(words(home: home) + ["login", "anna", "--argon2id", "64,3"])
        }
    }
#endif
