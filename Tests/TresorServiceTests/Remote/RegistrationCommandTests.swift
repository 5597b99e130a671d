// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorCommand
    @testable import TresorService

    /// `register` and `approve` before a service that judges, each person with a home on disk.
    @Suite struct RegistrationCommandTests {
        /// A service of which a test can lose an answer.
        private final class Handler: ServiceHandler {
            private let bench: Bench
            private let losing = Mutex<ServiceOperation?>(nil)

            private let source: [UInt8]

            /// - Parameter source: the address of everybody; empty for one of which nothing is counted.
            init(_ bench: Bench, source: [UInt8] = []) { (self.bench, self.source) = (bench, source) }

            /// The operation whose answers do not arrive.
            var lost: ServiceOperation? {
                get { losing.withLock { $0 } }
                set { losing.withLock { $0 = newValue } }
            }

            func answer(_ call: ServiceCall) async -> ServiceReply {
                let call = ServiceCall(
                    operation: call.operation, body: call.body, authorization: call.authorization, source: source,
                    audiences: call.audiences)
                let reply = await bench.service.answer(call)
                return call.operation == lost ? .refused(.failed(.other)) : reply
            }

            func isHealthy() async -> Bool { await bench.service.isHealthy() }
        }

        /// A service with its operator, whose home is on disk.
        private func stage(_ bench: Bench, source: [UInt8] = []) async throws -> CommandStage<Handler> {
            let stage = try CommandStage(before: Handler(bench, source: source), clock: bench.clock)
            try await stage.settle(bench.operatorIdentity)
            return stage
        }

        private func line(_ text: String) -> String { text.trimmingCharacters(in: .newlines) }

        private func user(_ name: String, on stage: CommandStage<Handler>) async throws -> String {
            let card = try await stage.run(0, as: name, "card", "--json")
            let found = try #require(card.firstMatch(of: /"user":"([0-9a-z]{52})"/))
            return String(found.1)
        }

        @Test func peopleRegisterWaitAndWorkTogether() async throws {
            let bench = try await Bench(.byInvitation)
            let stage = try await stage(bench)
            try await stage.keygen("anna")
            try await stage.keygen("bruno")
            try await stage.run(13, as: "anna", "list")
            let code = try await stage.run(0, as: "operator", "register", "--invite", "ward 3")
            #expect(code.wholeMatch(of: /[0-9a-hjkmnp-tv-z]{26}\n/) != nil)
            try stage.write(code.uppercased(), to: "invitation")
            let registered = try await stage.messages(
                0, as: "anna", "register", "--no-login", "--invitation", "@invitation")
            #expect(registered.contains("recover --new-kit"))
            try await stage.run(0, as: "anna", "register", "--no-login")
            let used = try await stage.failure(13, as: "bruno", "register", "--no-login", "--invitation", "@invitation")
            #expect(used.contains("it was used") && used.contains(/hint: tresor[^\n]*--no-login/))

            let told = try await stage.failure(17, as: "bruno", "register", "--no-login")
            #expect(told.contains("the operator of \"https://tresor.example\" has to admit you"))
            // A second statement, of a later time, would be refused.
            bench.clock.now += 60
            try await stage.run(17, as: "bruno", "register", "--no-login")
            try await stage.run(17, as: "bruno", "list")
            let his = line(try await stage.run(0, as: "bruno", "card", "--number"))
            let inbox = try await stage.run(0, as: "operator", "approve")
            #expect(inbox.contains("bruno") && !inbox.contains("anna"))
            #expect(try await stage.run(0, as: "operator", "approve", "--json").contains(his))
            let id = String(try await user("bruno", on: stage).prefix(10))
            // A person who does not operate the service sees nobody who waits for it, and admits nobody.
            #expect(try await stage.run(0, as: "anna", "approve").isEmpty)
            try await stage.run(10, as: "anna", "approve", id, "--yes")
            try await stage.run(64, as: "operator", "approve", id)
            let short = try await stage.failure(64, as: "operator", "approve", String(id.prefix(5)), "--yes")
            #expect(short.contains("is too short: name at least 6 characters of the id"))
            try await stage.run(0, as: "operator", "approve", id, "--yes")
            #expect(try await stage.run(0, as: "operator", "approve").isEmpty)
            try await stage.run(10, as: "operator", "approve", id, "--yes")
            try await stage.run(0, as: "bruno", "register", "--no-login")

            let hers = line(try await stage.run(0, as: "anna", "card", "--number"))
            try await stage.run(0, as: "anna", "verify", "bruno", "--number", his)
            try await stage.run(0, as: "bruno", "verify", "anna", "--number", hers)
            try await stage.run(0, as: "anna", "create", "plans")
            try await stage.run(0, as: "anna", "share", "-t", "plans", "bruno")
            try stage.write("a plan", to: "plan")
            try await stage.run(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@plan.tresor")
            #expect(try await stage.run(0, as: "bruno", "decrypt", "@plan.tresor") == "a plan")
        }

        /// A service takes nothing from anybody that a store in a file gives up.
        @Test func theHintsOfAService() async throws {
            let stage = try await stage(try await Bench(.open))
            try stage.write("the password of bruno\n", to: "bruno.password")
            let made = try await stage.messages(0, as: "bruno", "keygen", "bruno", "--no-kit", "--argon2id", "64,3")
            #expect(made.contains(/hint: tresor[^\n]* register\n/) && made.contains("register --no-login"))
            #expect(made.contains("the service was not asked"))
            try await stage.run(0, as: "bruno", "register", "--no-login")
            try stage.write("the password of eve\n", to: "eve.password")
            let file = ["--store", "@eve.db"]
            for words in [
                ["keygen", "eve", "--no-kit", "--argon2id", "64,3"], ["create", "hers"],
                ["export", "-t", "hers", "-o", "@hers.export"],
            ] {
                try await stage.run(0, as: "eve", words + file)
            }
            let refused = try await stage.failure(13, as: "bruno", "import", "@hers.export")
            #expect(refused.contains("hint: tresor ") && refused.contains("--store FILE"))
        }

        @Test func theOperatorAloneInvitesAndAdmits() async throws {
            let bench = try await Bench(.open)
            let stage = try await stage(bench)
            try await stage.keygen("anna")
            try await stage.run(0, as: "anna", "register", "--no-login")
            let invite = try await stage.failure(13, as: "anna", "register", "--invite", "ward")
            #expect(invite.contains("only the operator"))
            #expect(try await stage.run(0, as: "anna", "approve").isEmpty)
        }

        /// The handle of a person who was refused is free; that of another is not.
        @Test func A121_aHandleBelongsToOnePerson() async throws {
            let bench = try await Bench(.closed)
            let stage = try await stage(bench)
            try await stage.keygen("anna")
            try await stage.run(17, as: "anna", "register", "--no-login")
            let eve = try bench.stranger("anna")
            await #expect(throws: TresorError.unverified) { _ = try await eve.ask(eve.registration()) }
            let id = try await user("anna", on: stage)
            let refused = try await stage.run(0, as: "operator", "approve", "--refuse", id, "--yes", "--json")
            #expect(refused.contains(#""state":"refused""#) && refused.contains(id))
            #expect(try await eve.ask(eve.registration()).state == .asked)
            let taken = try await stage.failure(16, as: "anna", "register", "--no-login")
            #expect(taken.contains("another card under the handle anna"))
            #expect(taken.contains("the handle of a closed account stays taken"))
            #expect(
                taken.contains(/hint: tresor[^\n]*--no-login[^\n]*--invitation FILE/)
                    && taken.contains(/hint: tresor[^\n]* login anna --home DIR\n/)
                    && taken.contains(/hint: tresor[^\n]* keygen NAME --home DIR\n/) && !taken.contains("--force"))
        }

        /// A new identity would lose them what they have.
        @Test func A234_whoHasTresorsIsNotToldToMakeAnotherIdentity() async throws {
            let bench = try await Bench(.open)
            let stage = try await stage(bench)
            try await stage.keygen("anna")
            try await stage.run(0, as: "anna", "register", "--no-login")
            try await stage.run(0, as: "anna", "create", "plans")
            // Their service lost the account to somebody who asked under the handle.
            let eve = try bench.stranger("anna")
            _ = try await bench.engine.write([
                SQL("DELETE FROM accounts WHERE handle = $1", [.bytes(eve.identity.handle.bytes)])
            ])
            _ = try await eve.ask(eve.registration())
            let taken = try await stage.failure(16, as: "anna", "register", "--no-login")
            #expect(taken.contains(/hint: tresor[^\n]*--no-login[^\n]*--invitation FILE/) && !taken.contains("--force"))
        }

        @Test func A234_whoHasOnlyAskedCanOnlyBeRefused() async throws {
            let bench = try await Bench(.closed)
            let stage = try await stage(bench)
            let eve = try bench.stranger("anna")
            _ = try await eve.ask(eve.registration())
            let list = try await stage.run(0, as: "operator", "approve")
            #expect(list.contains("account (asked)"))
            let id = eve.user.description
            let early = try await stage.failure(13, as: "operator", "approve", id, "--yes")
            #expect(early.contains("has asked, and not sent everything"))
            #expect(early.contains("--yes --refuse"))
            try await stage.run(0, as: "operator", "approve", id, "--refuse", "--yes")
            #expect(try await stage.run(0, as: "operator", "approve").isEmpty)
        }

        /// Whatever answer is lost, the same command goes on.
        @Test(arguments: [ServiceOperation.server, .register, .finish, .card, .putCard])
        func aRegistrationGoesOnWhereItEnded(_ lost: ServiceOperation) async throws {
            let bench = try await Bench(.byInvitation)
            let stage = try await stage(bench)
            let code = try await stage.run(0, as: "operator", "register", "--invite", "ward 3")
            try stage.write(code, to: "invitation")
            try await stage.keygen("anna")
            stage.handler.lost = lost
            try await stage.run(18, as: "anna", "register", "--no-login", "--invitation", "@invitation")
            stage.handler.lost = nil
            let told = try await stage.run(
                0, as: "anna", "register", "--no-login", "--invitation", "@invitation", "--json")
            #expect(told.contains(#""type":"registration""#) && told.contains(#""state":"active""#))
            try await stage.run(0, as: "anna", "create", "plans")
        }

        /// Its address has used up its registrations, and a good invitation would pass.
        @Test func aMistypedInvitationIsDoubtedWhereManyRegister() async throws {
            let bench = try await Bench(.byInvitation)
            let stage = try await stage(bench, source: [192, 0, 2, 1])
            try await stage.keygen("anna")
            let code = line(try await stage.run(0, as: "operator", "register", "--invite", "ward 3"))
            try stage.write(code, to: "good")
            try stage.write(try Invitation().text, to: "mistyped")
            for number in 0..<10 {
                let stranger = try bench.stranger("stranger \(number)")
                let call = try stranger.call(stranger.registration())
                let reply = await bench.service.answer(
                    ServiceCall(
                        operation: call.operation, body: call.body, authorization: call.authorization,
                        source: [192, 0, 2, 1]))
                #expect(reply.status == 200)
            }
            let told = try await stage.failure(11, as: "anna", "register", "--no-login", "--invitation", "@mistyped")
            #expect(told.contains("the invitation is not good, since one that is has room of its own"), "\(told)")
            #expect(told.contains("run the command again in 2 min"), "\(told)")
            let without = try await stage.failure(11, as: "anna", "register", "--no-login")
            #expect(!without.contains("invitation") && without.contains("in 2 min"), "\(without)")
            try await stage.run(0, as: "anna", "register", "--no-login", "--invitation", "@good")
        }

        @Test func aTresorBeyondTheQuotaIsRefusedWithItsNumbers() async throws {
            let bench = try await Bench(quotas: { $0.tresors = 1 })
            let stage = try await stage(bench)
            try await stage.keygen("anna")
            try await stage.run(0, as: "anna", "register", "--no-login")
            try await stage.run(0, as: "anna", "create", "one")
            let told = try await stage.failure(18, as: "anna", "create", "two")
            #expect(told.contains("you have made 1 of 1 tresors, the deleted ones too, and have "), "\(told)")
        }

        @Test func everyExampleOfThePagesRuns() async throws {
            let bench = try await Bench(.byInvitation)
            let stage = try await stage(bench)
            let invite = "tresor register --invite \"ward 3\""
            try stage.write(try await stage.example(invite, as: "operator"), to: "invitation")
            for name in ["anna", "bruno", "cara"] { try await stage.keygen(name) }
            let register = ["tresor register --no-login --invitation invitation.txt", "tresor register --no-login"]
            _ = try await stage.example(
                register[0], as: "anna", replacing: ["invitation.txt": stage.path("invitation")])
            _ = try await stage.example(register[1], as: "anna")
            try await stage.run(17, as: "bruno", "register", "--no-login")
            try await stage.run(17, as: "cara", "register", "--no-login")
            let list = "tresor approve"
            #expect(try await stage.example(list, as: "operator").split(separator: "\n").count == 3)
            // A terminal answers the question of this one.
            let admit = "tresor approve k3m9xq"
            let bruno = try await user("bruno", on: stage)
            _ = try await stage.example(admit + " --yes", as: "operator", replacing: ["k3m9xq": bruno])
            let refuse = "tresor approve k3m9xq --refuse --yes"
            let cara = try await user("cara", on: stage)
            _ = try await stage.example(refuse, as: "operator", replacing: ["k3m9xq": cara])
            // A script runs the first one: that takes a service with a key.
            #expect(Set(["tresor register"] + register + [invite]) == Set(RegisterCommand.page.examples))
            #expect(Set([list, admit, refuse]) == Set(ApproveCommand.page.examples))
        }
    }
#endif
