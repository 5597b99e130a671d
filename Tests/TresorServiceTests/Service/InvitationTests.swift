// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Invitations beside people who register without one.
    @Suite struct InvitationTests {
        @Test func A126_strangersWhoFillTheListDoNotStopTheInvited() async throws {
            let bench = try await Bench(.byInvitation, quotas: { $0.openCases = 2 })
            for name in ["stranger 1", "stranger 2"] {
                let signer = try bench.stranger(name)
                _ = try await signer.ask(signer.registration())
                #expect(try await signer.ask(try signer.finishing()).state == .complete)
            }
            let anna = try bench.stranger("anna")
            #expect(try await anna.reply(anna.registration()).status == 429)
            let invitation = try Invitation()
            #expect(try await anna.reply(anna.registration(invitation: invitation)) == .forbidden)
            _ = try await bench.admin.ask(
                InviteRequest(hash: try invitation.hash(), label: .empty, until: bench.clock.now + 10))
            #expect(try await anna.ask(anna.registration(invitation: invitation)).state == .asked)
            #expect(try await anna.ask(try anna.finishing()).state == .active)
            let bert = try bench.stranger("bert")
            #expect(try await bert.reply(bert.registration()).status == 429)
        }
    }
#endif
