// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import TestSupport
    import Testing
    import TresorCore
    import TresorService

    /// The program `tresor` of a person with a log-in, killed after each message between it and the service. Run again,
    /// the same command goes on or begins anew, and then the log-in opens the newest keys with the newest password.
    @Suite struct LoginKillTests {
        /// The same command, run again with the old password, goes on; then the new one logs in.
        @Test func A122_aChangeOfPasswordThatWasKilledIsRunAgain() async throws {
            let person = try await Person()
            try await person.change(to: 1)
            for number in 0..<person.messages(atLeast: 8) {
                // A person sets a log-in a few times a minute. The database knows how often, and so does a process.
                if number % 2 == 1 { try await person.forgetLimits() }
                #expect(try await person.kill(at: number, person.changing(to: number + 2)))
                try await person.change(to: number + 2)
                try await person.expectLogIn(after: number)
            }
            try await person.stop()
        }

        /// An empty home gets the identity whole, or has none: it may log in again.
        @Test func aLogInThatWasKilledIsRunAgain() async throws {
            let person = try await Person()
            #expect(try await person.enter(home: "entered").code == 0)
            for number in (0..<person.messages(atLeast: 6)).sampled(3) {
                try await person.forgetLimits()
                let home = "home \(number)"
                #expect(try await person.kill(at: number, person.entering(home: home)))
                try await person.expectLogIn(to: home, after: number)
            }
            try await person.stop()
        }

        /// A home with older keys has these, or the newer ones.
        @Test func aHomeThatWasKilledFollowsNewerKeysWhenItLogsInAgain() async throws {
            let person = try await Person()
            #expect(try await person.enter(home: "old").code == 0)
            #expect(try await person.run(Person.renewing).code == 0)
            try person.copy(home: "old", to: "entered")
            person.relay.plan(nil)
            #expect(try await person.enter(home: "entered").code == 0)
            for number in (0..<person.messages(atLeast: 6)).sampled(3) {
                try await person.forgetLimits()
                let home = "home \(number)"
                try person.copy(home: "old", to: home)
                #expect(try await person.kill(at: number, person.entering(home: home)))
                try await person.expectLogIn(to: home, after: number)
            }
            try await person.stop()
        }

        /// New keys bring their log-in with them. How many messages they take depends on what the home has read.
        @Test(.longRun) func newKeysThatWereKilledAreGoneOnWithAndLogIn() async throws {
            let person = try await Person()
            #expect(try await person.run(["create", "plans"]).code == 0)
            var number = 0
            while true {
                let before = try person.writtenGeneration()
                guard try await person.kill(at: number, person.words(home: "home") + Person.renewing) else { break }
                let written = try person.writtenGeneration()
                let again = try await person.run(Person.renewing)
                #expect(again.code == 0, "message \(number): \(again.text)")
                // New keys that the home has written are gone on with. Those that the command has told are done.
                let isTold = person.output(at: number).contains("has new keys, generation \(written)")
                #expect(written == before || written == before + 1, "message \(number)")
                #expect(
                    try person.writtenGeneration() == (isTold ? written : before) + 1,
                    "message \(number): \(again.text)")
                try await person.expectLogIn(after: number)
                try await person.forgetLimits()
                number += 1
            }
            #expect(number >= 30)
            try await person.stop()
        }

        /// The kit sets a new password here and at the service.
        @Test(.longRun) func aRecoveryThatWasKilledIsRunAgainAndLogsIn() async throws {
            let person = try await Person()
            person.relay.plan(nil)
            try await person.recover(home: "recovered", with: 1)
            for number in 0..<person.messages(atLeast: 10) {
                try await person.forgetLimits()
                let home = "lost \(number)"
                #expect(try await person.kill(at: number, person.recovering(home: home, with: number + 2)))
                try await person.recover(home: home, with: number + 2)
                try await person.expectLogIn(after: number, from: home)
            }
            try await person.stop()
        }
    }

    /// A person with a log-in at a service of their own, whose program is killed again and again.
    private final class Person {
        static let renewing = ["rotate", "--identity", "--no-kit", "--yes", "--argon2id", "64,3"]

        let relay: CuttingRelay
        private let service: KilledService
        private let site: Site
        /// The number of the password that opens the home.
        private var present = 0

        /// Makes an identity with a kit, and registers with its password.
        init() async throws {
            relay = try CuttingRelay()
            site = try Site()
            service = try await KilledService(
                .sqlite, people: [], policy: ["--registration", "open", "--argon2id", "65536,3"],
                names: ["127.0.0.1:\(relay.port)"])
            relay.pass(to: service.port)
            let kept = ["keygen", "anna", "--kit", site["kit"], "--argon2id", "64,3"]
            for words in [kept, ["register"]] {
                let ended = try await run(words)
                try #require(ended.code == 0, "\(ended.text)")
            }
            relay.plan(nil)
        }

        /// Ends the service, which then compares what it has.
        func stop() async throws {
            relay.stop()
            try await service.stopAndCheck()
        }

        /// The number of messages since the last plan.
        func messages(atLeast least: Int) -> Int {
            let count = relay.messageCount
            #expect(count >= least)
            return count
        }

        /// Lets the person, and strangers, do again what they may do a few times a minute.
        func forgetLimits() async throws {
            let engine = try await service.open()
            _ = try await engine.write([SQL("DELETE FROM login_limits")])
            await engine.close()
            try await service.kill(.server, 0)
        }

        /// Runs a command, holds a message and all that follow it, and kills the command there.
        ///
        /// - Returns: whether it came so far; a command that ended before was not killed.
        func kill(at message: Int, _ words: [String]) async throws -> Bool {
            relay.hold(from: message)
            defer { relay.plan(nil) }
            let running = try Daemon(words, output: site["output \(message)"])
            for _ in 0..<12_000 where relay.messageCount <= message && running.isRunning {
                try await Task.sleep(for: .milliseconds(25))
            }
            guard relay.messageCount > message else {
                #expect(await running.end() == 0, "message \(message): \(running.text)")
                return false
            }
            running.signal(SIGKILL)
            #expect(await running.end() == SIGKILL)
            return true
        }

        private func password(_ number: Int) throws -> String {
            let path = site["password \(number)"]
            let isMade = FileManager.default.createFile(
                atPath: path, contents: Data("the password \(number) of anna\n".utf8),
                attributes: [.posixPermissions: 0o600])
            try #require(isMade)
            return path
        }

        /// The outputs of a command that was killed.
        func output(at message: Int) -> String {
            (try? String(contentsOfFile: site["output \(message)"], encoding: .utf8)) ?? ""
        }

        /// The generation of the identity in the home's file, which no command has to go on with for it.
        func writtenGeneration() throws -> UInt32 {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: site["home"] + "/identity"))
            return try IdentityFile(Array(bytes)).chain.newest.generation
        }

        func words(home: String) throws -> [String] {
            [
                "/usr/bin/env", "HOME=\(site.path)", ServerProcess.path("tresor"), "--home", site[home], "--store",
                "http://127.0.0.1:\(relay.port)", "--batch", "--password-file", try password(present),
            ]
        }

        func run(_ command: [String], home: String = "home") async throws -> (code: Int32?, text: String) {
            try await Daemon.run(words(home: home) + command)
        }

        func copy(home: String, to other: String) throws {
            try FileManager.default.copyItem(atPath: site[home], toPath: site[other])
        }

        func changing(to number: Int) throws -> [String] {
            try words(home: "home") + ["passwd", "--new-password-file", password(number), "--argon2id", "64,3"]
        }

        /// Changes the password, unless that is done already.
        func change(to number: Int) async throws {
            let changed = try await Daemon.run(changing(to: number))
            #expect(changed.code == 0 || changed.code == 12, "\(number): \(changed.text)")
            present = number
        }

        func recovering(home: String, with number: Int) throws -> [String] {
            try words(home: home) + [
                "recover", "--kit", site["kit"], "--new-password-file", password(number), "--argon2id", "64,3",
            ]
        }

        /// Restores the identity from the kit, with another password from now on.
        func recover(home: String, with number: Int) async throws {
            let recovered = try await Daemon.run(recovering(home: home, with: number))
            #expect(recovered.code == 0, "\(number): \(recovered.text)")
            present = number
        }

        func entering(home: String) throws -> [String] {
            try words(home: home) + ["login", "anna", "--argon2id", "64,3"]
        }

        /// Logs in with the present password.
        func enter(home: String) async throws -> (code: Int32?, text: String) {
            try await Daemon.run(entering(home: home))
        }

        /// Expects that the present password brings the newest keys to a home, which it then opens.
        ///
        /// - Parameter other: a home with the newest keys.
        func expectLogIn(to home: String? = nil, after message: Int, from other: String = "home") async throws {
            let home = home ?? "entered \(message)"
            let entered = try await enter(home: home)
            #expect(entered.code == 0, "message \(message): \(entered.text)")
            let listed = try await run(["list"], home: home)
            #expect(
                listed.code == 0 || listed.text.contains("made with your old keys"),
                "message \(message): \(listed.text)")
            let (here, there) = (try await generation(of: home), try await generation(of: other))
            #expect(here == there, "message \(message)")
        }

        private func generation(of home: String) async throws -> String {
            let shown = try await run(["card", "--json"], home: home)
            let found = try #require(shown.text.firstMatch(of: /"generation":([0-9]+)/), "\(shown.text)")
            return String(found.1)
        }
    }
#endif
