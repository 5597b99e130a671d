// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorCommand
    @testable import TresorService

    /// A service that takes a request, whose answer is lost, and that cannot be reached afterwards.
    @Suite struct LostAnswerTests {
        private static let words = "; nobody knows whether the change was made: look before you repeat it"

        @Test func aChangeMayHaveBeenMade() async throws {
            let bench = try await Bench(.open)
            let stage = try CommandStage(before: bench.service, clock: bench.clock)
            try await stage.keygen("anna")
            try await stage.run(0, as: "anna", "register", "--no-login")
            let acts: [(ServiceOperation, [String])] = [
                (.append, ["create", "plan"]), (.append, ["rotate", "-t", "plan", "--yes"]),
                (.deleteTresor, ["delete", "-t", "plan", "--yes", "plan"]),
            ]
            for (operation, words) in acts {
                stage.cut.withLock { $0 = operation }
                let said = try await stage.failure(18, as: "anna", words)
                #expect(said.contains(Self.words), "\(words): \(said)")
                stage.cut.withLock { $0 = nil }
                // It was, each time.
                let list = try await stage.run(operation == .deleteTresor ? 15 : 0, as: "anna", "list")
                #expect(operation == .deleteTresor || list.contains("plan"), "\(words): \(list)")
            }
        }

        @Test func aQuestionChangesNothing() async throws {
            let bench = try await Bench(.open)
            let stage = try CommandStage(before: bench.service, clock: bench.clock)
            try await stage.keygen("anna")
            try await stage.run(0, as: "anna", "register", "--no-login")
            stage.cut.withLock { $0 = .tresors }
            let said = try await stage.messages(18, as: "anna", "list")
            #expect(!said.contains("nobody knows"), "\(said)")
        }
    }
#endif
