// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorService

    /// A service that is away in the middle of many approvals.
    @Suite struct ApproveOutageTests {
        @Test func whatWasSentIsSaidToBe() async throws {
            let bench = try await Bench(.open)
            let stage = try CommandStage(before: SwitchedService(bench), clock: bench.clock)
            try await stage.people()
            try await stage.run(0, as: "anna", "create", "x", "--approver", "bruno")
            for name in ["carl", "dora"] {
                try await stage.keygen(name)
                try await stage.run(0, as: name, "register", "--no-login")
                try await stage.compare("anna", with: name)
                try await stage.run(0, as: "anna", "share", "-t", "x", name)
            }
            func waiting() async throws -> [String] {
                let lines = try await stage.run(0, as: "bruno", "approve").split(separator: "\n")
                return lines.compactMap { $0.firstMatch(of: /^([0-9a-z]{10}) +share/) }.map { String($0.1) }
            }
            let ids = try await waiting()
            try #require(ids.count == 2)
            stage.handler.stop(behind: .append)
            let said = try await stage.messages(18, as: "bruno", "approve", ids[0], ids[1], "--yes")
            let words = "up to 2 approvals may have happened, and the log could not be read again: the store"
            #expect(said.contains(words), "\(said)")
            #expect(said.contains(/hint: tresor[^\n]* approve\n/), "\(said)")
            // It was in the log.
            _ = stage.handler.take()
            #expect(try await waiting() == [ids[1]])
        }
    }
#endif
