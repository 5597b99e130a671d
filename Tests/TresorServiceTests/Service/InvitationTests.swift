// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Invitations beside people who register without one.
    @Suite(.overEveryEngine) struct InvitationTests {
        private func invite(_ bench: Bench) async throws -> Invitation {
            let invitation = try Invitation()
            _ = try await bench.admin.ask(
                InviteRequest(
                    hash: try invitation.hash(), label: .empty, until: bench.clock.now + Invitation.duration))
            return invitation
        }

        @Test func A126_strangersWhoFillTheListDoNotStopTheInvited() async throws {
            let bench = try await Bench(.byInvitation, quotas: { $0.openCases = 2 })
            for name in ["stranger 1", "stranger 2"] {
                let signer = try bench.stranger(name)
                _ = try await signer.ask(signer.registration())
                #expect(try await signer.ask(try signer.finishing()).state == .complete)
            }
            let anna = try bench.stranger("anna")
            #expect(try await anna.reply(anna.registration()).status == 429)
            let unknown = try Invitation()
            #expect(try await anna.reply(anna.registration(invitation: unknown)) == .forbidden)
            let invitation = try await invite(bench)
            #expect(try await anna.ask(anna.registration(invitation: invitation)).state == .asked)
            #expect(try await anna.ask(try anna.finishing()).state == .active)
            let bert = try bench.stranger("bert")
            #expect(try await bert.reply(bert.registration()).status == 429)
        }

        @Test(arguments: [false, true])
        func A234_anInvitationComesBeforeAStrangerUnderTheHandle(isFinished: Bool) async throws {
            let bench = try await Bench(.byInvitation)
            let squatter = try bench.stranger("dave")
            _ = try await squatter.ask(squatter.registration())
            if isFinished { _ = try await squatter.ask(try squatter.finishing()) }
            let dave = try bench.stranger("dave")
            #expect(try await dave.reply(dave.registration()) == .refused(.unverified))
            let invitation = try await invite(bench)
            #expect(try await dave.ask(dave.registration(invitation: invitation)).state == .asked)
            #expect(try await squatter.reply(AccountRequest()) == .unauthorized)
            #expect(try await squatter.reply(squatter.registration()) == .refused(.unverified))
            // One invitation does not come before another, and stays good.
            let (other, second) = (try bench.stranger("dave"), try await invite(bench))
            #expect(try await other.reply(other.registration(invitation: second)) == .refused(.unverified))
            #expect(try await dave.ask(try dave.finishing()).state == .active)
            #expect(try await other.reply(other.registration(invitation: second)) == .refused(.unverified))
            let erik = try bench.stranger("erik")
            #expect(try await erik.ask(erik.registration(invitation: second)).state == .asked)
        }

        @Test func A234_anInvitationComesBeforeTheLimitsOfItsSource() async throws {
            let bench = try await Bench(.byInvitation)
            let (first, second) = (try await invite(bench), try await invite(bench))
            for number in 0..<10 {
                let stranger = try bench.stranger("stranger \(number)")
                _ = try await stranger.ask(stranger.registration())
            }
            let anna = try bench.stranger("anna")
            #expect(try await anna.reply(anna.registration()).status == 429)
            #expect(try await anna.reply(anna.registration(invitation: try Invitation())).status == 429)
            #expect(try await anna.ask(anna.registration(invitation: first)).state == .asked)
            // A source that proves nothing is barred, and an invitation is heard.
            let eve = try bench.stranger("eve")
            var status = 401
            for _ in 0..<200 where status == 401 { status = try await eve.reply(AccountRequest()).status }
            #expect(status == 429)
            let bert = try bench.stranger("bert")
            #expect(try await bert.ask(bert.registration(invitation: second)).state == .asked)
            #expect(try await eve.reply(eve.registration(invitation: second)).status == 429)
        }

        @Test func A234_whoHasOnlyAskedStandsInTheInboxAndCanBeRefused() async throws {
            let bench = try await Bench(.closed)
            let squatter = try bench.stranger("dave")
            _ = try await squatter.ask(squatter.registration())
            let admin = try bench.admin
            let waiting = try await admin.ask(InboxRequest(after: .zero)).cases
            #expect(waiting.map(\.state) == [.asked] && waiting.map(\.chain) == [squatter.identity.chain.bytes])
            let card = squatter.identity.chain.newest.hash
            let admission = AdmitRequest(user: squatter.user, card: card, isAdmitted: true)
            #expect(try await admin.reply(admission) == .forbidden)
            let refusal = AdmitRequest(user: squatter.user, card: card, isAdmitted: false)
            #expect(try await admin.reply(refusal).status == 200)
            let dave = try bench.stranger("dave")
            #expect(try await dave.ask(dave.registration()).state == .asked)
        }

        @Test func A234_aCaseWithoutAnInvitationLapses() async throws {
            let bench = try await Bench(.closed)
            let (anna, bert) = (try bench.stranger("anna"), try bench.stranger("bert"))
            _ = try await anna.ask(anna.registration())
            _ = try await anna.ask(try anna.finishing())
            _ = try await bert.ask(bert.registration(invitation: try await invite(bench)))
            _ = try await bert.ask(try bert.finishing())
            bench.clock.now += 30 * 86_400
            let late = try bench.stranger("anna")
            #expect(try await late.reply(late.registration()) == .refused(.unverified))
            bench.clock.now += 1
            let later = try bench.stranger("anna")
            #expect(try await later.ask(later.registration()).state == .asked)
            #expect(try await bench.signer(bert.identity).ask(AccountRequest()).state == .complete)
        }

        @Test func A234_noKitCopyIsTakenBeforeTheAccountIsActive() async throws {
            let bench = try await Bench(.closed)
            let anna = try bench.stranger("anna")
            let put = PutKitCopyRequest(locator: anna.user.digest, copy: [1])
            _ = try await anna.ask(anna.registration())
            #expect(try await anna.reply(put) == .refused(.waiting))
            _ = try await anna.ask(try anna.finishing())
            #expect(try await anna.reply(put) == .refused(.waiting))
            let card = anna.identity.chain.newest.hash
            _ = try await bench.admin.ask(AdmitRequest(user: anna.user, card: card, isAdmitted: true))
            #expect(try await anna.reply(put).status == 200)
        }
    }
#endif
