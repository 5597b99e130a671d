// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import Tresor
    @testable import TresorRemote

    /// An app registers with a password, and logs in on another machine (SPEC §20.5).
    @Suite(.overEveryEngine) struct LibraryLoginTests {
        private static let cheap = try? Argon2id.Cost(memoryKiB: 65_536, passes: 3)

        /// The lines of the guide, on a service in this process.
        @Test func theGuideToASignInWorks() async throws {
            let bench = try await Bench(withLogins: true)
            bench.clock.now = UInt64(Date.now.timeIntervalSince1970)
            let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let store = ServiceStage(bench).process().store
            let plan = Data("plan".utf8)

            let client = Client(at: folder.appending(path: "anna"), store: store)
            let anna = try await client.register("anna", password: Password("correct horse battery"))
            let plans = try await anna.create("interventions")
            let sealed = try await plans.seal(plan, record: "knee", type: "application/json")

            let desk = Client(at: folder.appending(path: "desk"), store: store)
            let there = try await desk.logIn("anna", password: Password("correct horse battery"))
            let opened = try await there.tresor("interventions").open(sealed, record: "knee")
            print(opened.data == plan)
            #expect(opened.data == plan)

            let pages = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Sources/Tresor/Tresor.docc")
            let guide = try String(contentsOf: pages.appending(path: "InAnApp.md"), encoding: .utf8)
            let section = try #require(guide.components(separatedBy: "## Sign in from any machine").last)
            let block = try #require(section.components(separatedBy: "```swift\n").dropFirst().first)
            let lines = try #require(block.components(separatedBy: "```").first).split(separator: "\n")
            let test = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
            #expect(lines.count == 9)
            for line in lines.dropFirst() { #expect(test.contains("            \(line)\n"), "\(line)") }
            #expect(lines[0] == "let store = try HTTPStore(\"https://tresor.clinic.example\")")
        }

        @Test func aRegistrationIsRepeated() async throws {
            let cost = try #require(Self.cheap)
            let bench = try await Bench(withLogins: true)
            let client = ServiceStage(bench).client(of: MemoryHome())
            let first = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
            let again = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
            #expect(first.identity.chain == again.identity.chain)
            #expect(
                await errorOf {
                    _ = try await client.register("anna", password: Password("wrong horse battery"), cost: cost)
                } == .wrongPassword)
            #expect(
                await errorOf {
                    _ = try await client.register("bruno", password: Password("correct horse battery"), cost: cost)
                } == .usage(.identityExists))
            let other = ServiceStage(bench).client(of: MemoryHome())
            #expect(
                await errorOf {
                    _ = try await other.register("anna", password: Password("another horse battery"), cost: cost)
                } == .unverified)
        }

        /// A password that was changed in the home reaches the log-in by another registration, and the former one is over.
        @Test func aRegistrationGivesTheLogInThePasswordOfTheHome() async throws {
            let cost = try #require(Self.cheap)
            let bench = try await Bench(withLogins: true)
            let client = ServiceStage(bench).client(of: MemoryHome())
            let anna = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
            try await anna.unlocking.changePassword(to: Password("another horse battery"), cost: cost)
            _ = try await client.register("anna", password: Password("another horse battery"), cost: cost)
            let elsewhere = ServiceStage(bench).client(of: MemoryHome())
            #expect(
                await errorOf {
                    _ = try await elsewhere.logIn("anna", password: Password("correct horse battery"), cost: cost)
                } == .wrongPassword)
            let there = try await elsewhere.logIn("anna", password: Password("another horse battery"), cost: cost)
            #expect(there.identity.chain == anna.identity.chain)
        }

        /// A log-in that the password opens stays, and its owner still learns who guesses.
        @Test func aRegistrationWithTheSamePasswordKeepsTheCountOfFailures() async throws {
            let cost = try #require(Self.cheap)
            let bench = try await Bench(withLogins: true)
            let client = ServiceStage(bench).client(of: MemoryHome())
            let anna = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
            let guesser = ServiceStage(bench).client(of: MemoryHome())
            #expect(
                await errorOf {
                    _ = try await guesser.logIn("anna", password: Password("wrong horse battery"), cost: cost)
                } == .wrongPassword)
            bench.clock.now += 61
            _ = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
            let kept = try await anna.client.login.account()
            #expect(kept.failures == 1 && kept.statement?.revision == 1)
            try await anna.unlocking.changePassword(to: Password("another horse battery"), cost: cost)
            _ = try await client.register("anna", password: Password("another horse battery"), cost: cost)
            let anew = try await anna.client.login.account()
            #expect(anew.failures == 0 && anew.statement?.revision == 2)
        }

        /// Guesses that use up the tries do not make the person forget who guessed.
        @Test func aRegistrationThatCannotTryTheLogInSetsNothing() async throws {
            let cost = try #require(Self.cheap)
            let bench = try await Bench(withLogins: true)
            let client = ServiceStage(bench).client(of: MemoryHome())
            let anna = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
            for _ in 0..<20 {
                let guesser = ServiceStage(bench).client(of: MemoryHome())
                _ = await errorOf {
                    _ = try await guesser.logIn("anna", password: Password("wrong horse battery"), cost: cost)
                }
            }
            #expect(
                await errorOf {
                    _ = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
                } == .busy)
            #expect(try await anna.client.login.account().statement?.revision == 1)
        }

        /// New keys end the log-in. Registered again, the password opens them.
        @Test func aRegistrationBehindARenewalSetsTheLogInAnew() async throws {
            let cost = try #require(Self.cheap)
            let bench = try await Bench(withLogins: true)
            let client = ServiceStage(bench).client(of: MemoryHome())
            let anna = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
            let renewed = try await anna.renewal.renew(
                password: Password("another horse battery"), cost: cost, kit: nil)
            #expect(try await renewed.renewal.finish().isEmpty)
            let elsewhere = ServiceStage(bench).client(of: MemoryHome())
            for words in ["correct horse battery", "another horse battery"] {
                #expect(
                    await errorOf { _ = try await elsewhere.logIn("anna", password: Password(words), cost: cost) }
                        == .wrongPassword)
            }
            _ = try await client.register("anna", password: Password("another horse battery"), cost: cost)
            let there = try await elsewhere.logIn("anna", password: Password("another horse battery"), cost: cost)
            #expect(there.chain == renewed.chain)
        }

        /// A kit changes the password of the home alone. Registered again, the log-in has it too.
        @Test func aRegistrationBehindARecoveryGivesTheLogInTheNewPassword() async throws {
            let cost = try #require(Self.cheap)
            let bench = try await Bench(withLogins: true)
            let anna = try await ServiceStage(bench).client(of: MemoryHome()).register(
                "anna", password: Password("correct horse battery"), cost: cost)
            let kit = try RecoveryKit()
            let typed = try RecoveryKit(typed: kit.words())
            try await anna.unlocking.setKit(kit)
            let client = ServiceStage(bench).client(of: MemoryHome())
            _ = try await client.recover(kit: typed, newPassword: Password("another horse battery"), cost: cost)
            _ = try await ServiceStage(bench).client(of: MemoryHome()).logIn(
                "anna", password: Password("correct horse battery"), cost: cost)
            _ = try await client.register("anna", password: Password("another horse battery"), cost: cost)
            let elsewhere = ServiceStage(bench).client(of: MemoryHome())
            #expect(
                await errorOf {
                    _ = try await elsewhere.logIn("anna", password: Password("correct horse battery"), cost: cost)
                } == .wrongPassword)
            let there = try await elsewhere.logIn("anna", password: Password("another horse battery"), cost: cost)
            #expect(there.chain == anna.chain)
        }

        /// A person who waits for the operator keeps the identity, and is registered by the same call later.
        @Test func whoIsNotAdmittedWaits() async throws {
            let cost = try #require(Self.cheap)
            let bench = try await Bench(.closed, withLogins: true)
            let home = MemoryHome()
            let client = ServiceStage(bench).client(of: home)
            #expect(
                await errorOf {
                    _ = try await client.register("anna", password: Password("correct horse battery"), cost: cost)
                } == .waiting)
            #expect(home.read(.identity) != nil)
            let elsewhere = ServiceStage(bench).client(of: MemoryHome())
            #expect(
                await errorOf {
                    _ = try await elsewhere.logIn("anna", password: Password("correct horse battery"), cost: cost)
                } == .wrongPassword)
            // A password that was changed meanwhile is that of the log-in by the next call.
            let waiting = try await client.unlock(password: Password("correct horse battery"))
            try await waiting.unlocking.changePassword(to: Password("another horse battery"), cost: cost)
            #expect(
                await errorOf {
                    _ = try await client.register("anna", password: Password("another horse battery"), cost: cost)
                } == .waiting)
            _ = try await bench.admin.ask(
                AdmitRequest(user: waiting.user, card: waiting.chain.newest.hash, isAdmitted: true))
            let anna = try await client.register("anna", password: Password("another horse battery"), cost: cost)
            let there = try await elsewhere.logIn("anna", password: Password("another horse battery"), cost: cost)
            #expect(anna.chain == waiting.chain && there.chain == waiting.chain)
        }

        @Test func aWrongPasswordLeavesTheHomeEmpty() async throws {
            let cost = try #require(Self.cheap)
            let bench = try await Bench(withLogins: true)
            _ = try await ServiceStage(bench).client(of: MemoryHome()).register(
                "anna", password: Password("correct horse battery"), cost: cost)
            let home = MemoryHome()
            let client = ServiceStage(bench).client(of: home)
            for name in ["anna", "nobody"] {
                #expect(
                    await errorOf {
                        _ = try await client.logIn(name, password: Password("wrong horse battery"), cost: cost)
                    } == .wrongPassword)
            }
            #expect(home.read(.identity) == nil)
        }

        @Test func aStoreThatIsNoServiceHasNoLogIn() async throws {
            let home = MemoryHome()
            let client = Client(home: home, store: MemoryStore(), clock: { 1_777_730_400 })
            #expect(
                await errorOf {
                    _ = try await client.register("anna", password: Password("correct horse battery"))
                } == .unsupported)
            #expect(
                await errorOf {
                    _ = try await client.logIn("anna", password: Password("correct horse battery"))
                } == .unsupported)
            #expect(home.read(.identity) == nil)
        }
    }
#endif
