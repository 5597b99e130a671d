// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorCommand
    @testable import TresorRemote
    @testable import TresorService

    /// A service that takes a request, whose answer is lost, and that cannot be reached afterwards.
    @Suite struct LostAnswerTests {
        private static let words = "; nobody knows whether the change was made: look before you repeat it"
        private let bench: Bench
        private let stage: CommandStage<Service>

        init() async throws {
            bench = try await Bench(.open)
            stage = try CommandStage(before: bench.service, clock: bench.clock)
            try await stage.keygen("anna")
            try await stage.run(0, as: "anna", "register", "--no-login")
        }

        private func failure(
            _ words: [String], at operation: ServiceOperation, by failure: TransportFailure = .broken
        ) async throws -> String {
            stage.cut.withLock { $0 = (operation, failure) }
            defer { stage.cut.withLock { $0 = nil } }
            return try await stage.failure(18, as: "anna", words)
        }

        @Test func aChangeMayHaveBeenMade() async throws {
            for (words, failure) in [
                (["create", "plan"], TransportFailure.broken),
                (["rotate", "-t", "plan", "--yes"], TransportFailure(.slow)),
            ] {
                let said = try await self.failure(words, at: .append, by: failure)
                #expect(said.contains(Self.words), "\(words): \(said)")
            }
            // It was, both times.
            #expect(try await stage.run(0, as: "anna", "list").contains(/plan +anna +owner +1 +2 +ok/))
            let said = try await failure(["delete", "-t", "plan", "--yes", "plan"], at: .deleteTresor)
            #expect(said.contains(Self.words), "\(said)")
            try await stage.run(15, as: "anna", "list")
        }

        @Test func whatWasNotSentIsNotMade() async throws {
            let said = try await failure(["create", "plan"], at: .append, by: .unreachable)
            #expect(!said.contains("nobody knows"), "\(said)")
            #expect(try await stage.run(0, as: "anna", "list").isEmpty)
        }

        /// A record's change waits in the outbox, and the next sync finds out.
        @Test func aChangeOfARecordIsFoundOut() async throws {
            try await stage.run(0, as: "anna", "create", "plan")
            try stage.write("words", to: "note")
            let said = try await failure(["put", "-t", "plan", "@note"], at: .append)
            #expect(said.contains("the change stays in your home") && !said.contains("nobody knows"), "\(said)")
            #expect(try await stage.run(0, as: "anna", "sync").contains(/plan +0 +1 +ok/))
        }

        @Test func aQuestionChangesNothing() async throws {
            stage.cut.withLock { $0 = (.tresors, .broken) }
            let said = try await stage.messages(18, as: "anna", "list")
            #expect(!said.contains("nobody knows"), "\(said)")
        }
    }
#endif
