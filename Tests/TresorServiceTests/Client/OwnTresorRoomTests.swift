// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import Tresor
    @testable import TresorService

    /// The messages of a person's devices to each other, before a service that has no room for them (SPEC §19.8).
    @Suite struct OwnTresorRoomTests {
        private static let lack = "tresor: your other devices learn nothing new from this one before there is room for "

        private func stage() async throws -> CommandStage<SwitchedService> {
            let bench = try await Bench(.open)
            let stage = try CommandStage(before: SwitchedService(bench), clock: bench.clock)
            try await stage.people()
            try stage.write("a plan", to: "plan")
            return stage
        }

        /// Everything else is synced. With room for one more tresor, the next sync does the rest.
        @Test func aQuotaOfTresorsThatIsUsedUpIsNoFailureOfASync() async throws {
            let stage = try await stage()
            try await stage.handler.change { $0.quotas.tresors = 1 }
            try await stage.run(0, as: "anna", "create", "plans")
            try await stage.run(0, as: "anna", "put", "-t", "plans", "--later", "@plan")
            let homes = stage.sizes(of: ["marks", "wraps"], in: "anna")
            let table = try await stage.run(0, as: "anna", "sync")
            #expect(table.contains(/plans +0 +1 +ok/), "\(table)")
            for _ in 0..<2 {
                let said = try await stage.messages(0, as: "anna", "sync")
                #expect(
                    said.split(separator: "\n").count { $0.hasPrefix(Self.lack + "one more tresor of yours: ") } == 1)
                #expect(
                    said.contains("a limit of what you, or who made the tresor, may keep there is reached"), "\(said)")
            }
            // No attempt leaves anything behind.
            #expect(stage.sizes(of: ["marks", "wraps"], in: "anna") == homes)
            try await stage.handler.change { $0.quotas.tresors = 2 }
            let said = try await stage.messages(0, as: "anna", "sync")
            #expect(said.contains("your other devices learn whom you have verified") && !said.contains(Self.lack))
        }

        /// The own tresor has as many entries as one may have: what is new waits in the home.
        @Test func anOwnTresorThatIsFullIsNoFailureOfASync() async throws {
            let stage = try await stage()
            try await stage.handler.change { $0.quotas.entries = 2 }
            try await stage.run(0, as: "anna", "create", "plans")
            try await stage.run(0, as: "anna", "sync")
            try await stage.run(0, as: "anna", "share", "-t", "plans", "bruno")
            for _ in 0..<2 {
                let said = try await stage.messages(0, as: "anna", "sync")
                #expect(said.contains(Self.lack + "it: "), "\(said)")
            }
            try await stage.handler.change { $0.quotas.entries = 100 }
            #expect(try await !stage.messages(0, as: "anna", "sync").contains(Self.lack))
        }

        /// Without room for bytes, what the person wants to send is a failure as before.
        @Test func whatAPersonWantsToSendStillFails() async throws {
            let stage = try await stage()
            try await stage.run(0, as: "anna", "create", "plans")
            try await stage.handler.change { $0.quotas.bytes = 1 }
            #expect(try await stage.messages(0, as: "anna", "sync").contains(Self.lack))
            try await stage.run(18, as: "anna", "put", "-t", "plans", "@plan")
            let said = try await stage.messages(18, as: "anna", "sync")
            #expect(said.contains("nothing was sent, and the changes stay in your home: "), "\(said)")
            #expect(said.contains(Self.lack))
        }
    }
#endif
