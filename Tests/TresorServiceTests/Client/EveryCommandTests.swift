// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import Tresor
    @testable import TresorCommand
    @testable import TresorRemote
    @testable import TresorService

    /// The commands of the help, before a service that judges.
    @Suite struct EveryCommandTests {
        /// The operations that the service was asked for since the last look.
        private final class Handler: ServiceHandler {
            private let bench: Bench
            private let seen = Mutex<[ServiceOperation]>([])
            /// An operation that is refused, and the error.
            let refused = Mutex<(operation: ServiceOperation, error: TresorError)?>(nil)

            init(_ bench: Bench) { self.bench = bench }

            func answer(_ call: ServiceCall) async -> ServiceReply {
                seen.withLock { $0.append(call.operation) }
                if let refused = refused.withLock(\.self), refused.operation == call.operation {
                    return ServiceReply(Refusal(refused.error))
                }
                return await bench.service.answer(call)
            }

            func isHealthy() async -> Bool { true }

            func take() -> [ServiceOperation] {
                seen.withLock { seen in
                    defer { seen = [] }
                    return seen
                }
            }
        }

        private func stage() async throws -> (CommandStage<Handler>, Handler) {
            let bench = try await Bench(.open)
            let handler = Handler(bench)
            return (try CommandStage(before: handler, clock: bench.clock), handler)
        }

        private func line(_ text: String) -> String { text.trimmingCharacters(in: .newlines) }

        /// Two people who have registered and compared their numbers.
        private func people(on stage: CommandStage<Handler>) async throws {
            for name in ["anna", "bruno"] {
                try await stage.keygen(name)
                try await stage.run(0, as: name, "register", "--no-login")
            }
            let hers = line(try await stage.run(0, as: "anna", "card", "--number"))
            let his = line(try await stage.run(0, as: "bruno", "card", "--number"))
            try await stage.run(0, as: "anna", "verify", "bruno", "--number", his)
            try await stage.run(0, as: "bruno", "verify", "anna", "--number", hers)
        }

        @Test func everyCommandWorks() async throws {
            let (stage, handler) = try await stage()
            try await people(on: stage)
            try stage.write("a plan", to: "plan")
            try await stage.run(0, as: "anna", "create", "plans")
            _ = handler.take()
            try await stage.run(0, as: "anna", "share", "-t", "plans", "bruno")
            let asked = handler.take()
            // The log is read again where a second passes between two steps.
            let once = [ServiceOperation.server, .card, .cards, .tresors, .wraps, .append, .wraps]
            #expect(asked.filter { $0 != .entries } == once, "\(asked)")
            try await stage.run(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@plan.tresor")
            #expect(try await stage.run(0, as: "bruno", "decrypt", "@plan.tresor") == "a plan")
            try await stage.run(0, as: "bruno", "inspect", "@plan.tresor")
            #expect(try await stage.run(0, as: "bruno", "members", "-t", "anna/plans").contains("bruno"))
            #expect(try await stage.run(0, as: "bruno", "list", "--json").contains("plans"))
            #expect(try await stage.run(0, as: "anna", "log", "-t", "plans").contains("bruno"))
            try await stage.run(0, as: "anna", "log", "-t", "plans", "--head")
            try await stage.run(0, as: "anna", "card", "bruno")
            try await stage.run(0, as: "anna", "card", "--publish")
            try await stage.run(0, as: "anna", "check", "--deep", "@plan.tresor")
            try await stage.run(0, as: "bruno", "check")
            try await stage.run(0, as: "anna", "check", "--repair", "-t", "plans")
            try await stage.run(0, as: "bruno", "check", "--repair", "-t", "anna/plans")
            try await stage.run(0, as: "anna", "export", "-t", "plans", "-o", "@plans.export")
            try await stage.run(0, as: "bruno", "import", "@plans.export")
            try await stage.run(0, as: "anna", "reseal", "@plan.tresor")
            try await stage.run(0, as: "anna", "rotate", "-t", "plans", "--yes")
            try await stage.run(0, as: "anna", "revoke", "-t", "plans", "bruno", "--yes")
            try await stage.run(13, as: "bruno", "decrypt", "@plan.tresor", "-o", "@out")
            try await stage.run(10, as: "anna", "share", "-t", "plans", "nobody")
            try await stage.run(0, as: "anna", "share", "-t", "plans", "bruno", "--from-now", "--until", "2030-01-01")
            try await stage.run(13, as: "bruno", "delete", "-t", "anna/plans", "--yes", "plans")
            try await stage.run(0, as: "bruno", "revoke", "-t", "anna/plans", "--me", "--yes")
            _ = handler.take()
            try await stage.run(0, as: "anna", "delete", "-t", "plans", "--yes", "plans")
            #expect(handler.take().contains(.deleteTresor))
            #expect(!(try await stage.run(0, as: "anna", "list")).contains("plans"))
            try await stage.run(0, as: "anna", "create", "plans")
        }

        /// A service does not tell a deleted tresor from a lost one, and takes neither back from a member.
        @Test func aDeletedTresorIsNotRestoredByAMember() async throws {
            let (stage, _) = try await stage()
            try await people(on: stage)
            try await stage.run(0, as: "anna", "create", "plans")
            try await stage.run(0, as: "anna", "share", "-t", "plans", "bruno")
            try await stage.run(0, as: "bruno", "list")
            for name in ["", ".password"] {
                try FileManager.default.copyItem(
                    atPath: stage.path("anna\(name)"), toPath: stage.path("desk\(name)"))
            }
            try await stage.run(0, as: "anna", "delete", "-t", "plans", "--yes", "plans")
            let text = try await stage.failure(13, as: "bruno", "check", "--repair", "-t", "plans")
            #expect(text.contains(", and takes it back from anna alone, and not if it was deleted;"), "\(text)")
            #expect(text.contains("hint: ask anna to run: tresor check --repair -t "), "\(text)")
            #expect(!text.contains("hint: tresor"), "\(text)")
            // Another device of hers is not sent to herself.
            let own = try await stage.failure(13, as: "desk", "check", "--repair", "-t", "plans")
            #expect(own.contains("the service shows you nothing of ") && !own.contains("hint"), "\(own)")
            try await stage.run(0, as: "bruno", "delete", "-t", "plans", "--yes", "plans")
            try await stage.run(0, as: "bruno", "list")
        }

        @Test func everyWayToTheIdentityWorks() async throws {
            let (stage, _) = try await stage()
            try await people(on: stage)
            try await stage.run(0, as: "anna", "create", "plans")
            try await stage.run(0, as: "anna", "recover", "--new-kit", "--kit", "@kit")
            try await stage.run(0, as: "anna", "remember", "--name", "ward 3")
            let devices = try await stage.run(0, as: "anna", "device", "list", "--json")
            let id = try #require(devices.firstMatch(of: /"id":"([0-9a-z]+)"/))
            try await stage.run(0, as: "anna", "device", "revoke", String(id.1), "--yes")
            try await stage.run(0, as: "anna", "list")
            try await stage.run(0, as: "anna", "remember")
            try await stage.run(0, as: "anna", "forget")
            try stage.write("the new password of anna\n", to: "new")
            try await stage.run(0, as: "anna", "passwd", "--new-password-file", "@new", "--argon2id", "64,3")
            try stage.write("the new password of anna\n", to: "anna.password")
            try await stage.run(
                0, as: "anna", "rotate", "--identity", "--kit", "@kit2", "--yes", "--argon2id", "64,3")
            #expect(try await stage.run(0, as: "anna", "list").contains("plans"))
            #expect(!(try await stage.run(0, as: "anna", "check")).contains(#/(?:^|\n)bad /#))
            #expect(try await stage.run(0, as: "bruno", "card", "anna", "--json").contains("\"generation\":1"))
            // An empty home with the words alone.
            try stage.write("the third password\n", to: "empty.password")
            try await stage.run(
                0, as: "empty", "recover", "--kit", "@kit2", "--new-password-file", "@empty.password", "--argon2id",
                "64,3")
            #expect(try await stage.run(0, as: "empty", "list").contains("plans"))
            try await stage.run(0, as: "empty", "check")
        }

        /// The words are made with the identity; the service gets the copy that they open with the registration.
        @Test func aKitIsMadeBeforeTheRegistration() async throws {
            let (stage, _) = try await stage()
            try stage.write("the password of cara\n", to: "cara.password")
            try await stage.run(0, as: "cara", "keygen", "cara", "--kit", "@kit", "--argon2id", "64,3")
            try await stage.run(0, as: "cara", "register", "--no-login")
            let check = try await stage.run(0, as: "cara", "check")
            #expect(!check.contains("warn") || !check.contains("kit"))
            try stage.write("the second password\n", to: "empty.password")
            try await stage.run(
                0, as: "empty", "recover", "--kit", "@kit", "--new-password-file", "@empty.password", "--argon2id",
                "64,3")
            try await stage.run(0, as: "empty", "list")
        }

        /// A quota and a disk have one status, and two codes.
        @Test func aServiceWithAFullDiskSaysSo() async throws {
            let (stage, handler) = try await stage()
            try await people(on: stage)
            handler.refused.withLock { $0 = (.append, .store(.full)) }
            let text = try await stage.failure(18, as: "anna", "create", "plans")
            #expect(
                text.contains("has no room left: its disk is full; tell its operator\n"), "\(text)")
        }

        /// It says no more than that it does not know the question.
        @Test func aServiceOfAnotherReleaseDoesNotSayThatThereIsNoLogIn() async throws {
            let (stage, handler) = try await stage()
            for person in ["anna", "bruno"] {
                try await stage.keygen(person)
                try await stage.run(0, as: person, "register", "--no-login")
            }
            handler.refused.withLock { $0 = (.account, .unsupported) }
            let refusal = try await stage.failure(19, as: "anna", "logout", "--erase", "--yes")
            let reason = "is of another release, and does not say whether it has a log-in of yours"
            #expect(refusal.contains("\(reason); with --force this home is erased"), "\(refusal)")
            #expect(!refusal.contains("nowhere else"), "\(refusal)")
            #expect(refusal.contains("recover --new-kit\n"), "\(refusal)")
            #expect(stage.sizes(of: ["identity"], in: "anna") != [0])
            let text = try await stage.messages(0, as: "anna", "logout", "--erase", "--yes", "--force")
            #expect(text.contains("nothing shows that your identity opens elsewhere: the service at"), "\(text)")
            #expect(text.contains("your sessions at"), "\(text)")
            #expect(stage.sizes(of: ["identity"], in: "anna") == [0])
            // The copy of a kit needs no answer to the question.
            try await stage.run(0, as: "bruno", "recover", "--new-kit", "--kit", "@kit")
            let kept = try await stage.messages(0, as: "bruno", "logout", "--erase", "--yes")
            #expect(kept.contains("the identity stays elsewhere: the words of its kit open it"), "\(kept)")
        }

        /// One person on two devices, of which one makes new keys. A service hears nobody with the older ones.
        @Test func aDeviceWithOlderKeysIsToldWhyNobodyHearsIt() async throws {
            let (stage, _) = try await stage()
            try await stage.keygen("anna")
            try await stage.run(0, as: "anna", "register", "--no-login")
            for name in ["", ".password"] {
                try FileManager.default.copyItem(
                    atPath: stage.path("anna\(name)"), toPath: stage.path("desk\(name)"))
            }
            try await stage.run(0, as: "desk", "list")
            try await stage.run(0, as: "anna", "rotate", "--identity", "--no-kit", "--yes", "--argon2id", "64,3")
            for words in ["list", "create plans", "card dora"] {
                let text = try await stage.failure(
                    13, as: "desk", words.split(separator: " ").map(String.init))
                #expect(
                    text.contains("does not take the keys of this home: ask its operator"), "\(words): \(text)")
                #expect(text.contains("or you have newer keys in another home"), "\(words): \(text)")
                #expect(text.contains("if it is none of these, somebody else has your identity"), "\(words): \(text)")
                #expect(text.contains("recover --home DIR\n"), "\(words): \(text)")
                #expect(text.contains("login anna\n"), "\(words): \(text)")
            }
            let text = try await stage.failure(13, as: "desk", "register", "--no-login")
            #expect(text.contains("or the service does not go by this address\n"), "\(text)")
            #expect(text.contains("recover --home DIR\n") && !text.contains("register --no-login"), "\(text)")
            #expect(text.contains("login anna\n"), "\(text)")
            try await stage.run(0, as: "anna", "create", "plans")
        }

        @Test func somebodyWhoNeverRegisteredIsToldTo() async throws {
            let (stage, _) = try await stage()
            try await stage.keygen("cara")
            for words in ["list", "create plans", "card dora"] {
                let text = try await stage.failure(
                    13, as: "cara", words.split(separator: " ").map(String.init))
                #expect(text.contains("this home has not registered at \""), "\(words): \(text)")
                #expect(text.contains(/hint: tresor[^\n]* register\n/), "\(words): \(text)")
                #expect(text.contains(/hint: tresor[^\n]* register --no-login\n/), "\(words): \(text)")
            }
        }
    }
#endif
