// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// How people get an account, each step once and again.
    @Suite(.overEveryEngine) struct RegistrationTests {
        @Test func whereEverybodyMayRegisterAPersonIsAdmittedAtOnce() async throws {
            let bench = try await Bench(.open)
            let anna = try bench.stranger("anna")
            #expect(try await anna.reply(AccountRequest()) == .unauthorized)
            #expect(try await anna.ask(anna.registration()).state == .asked)
            #expect(try await anna.ask(anna.registration()).state == .asked)
            #expect(try await anna.reply(CardRequest(user: anna.user)) == .refused(.waiting))
            #expect(try await anna.ask(AccountRequest()).state == .asked)
            let finish = try anna.finishing()
            #expect(try await anna.ask(finish).state == .active)
            #expect(try await anna.ask(finish).state == .active)
            #expect(try await anna.ask(anna.registration()).state == .active)
            let account = try await anna.ask(AccountRequest())
            #expect(account.statement == finish.statement && !account.hasRecord && account.failures == 0)
            #expect(
                try await anna.ask(UsersRequest(prefix: Array(anna.user.digest.bytes.prefix(3)))).users == [anna.user])
            #expect(
                try await anna.ask(CardsRequest(handle: anna.identity.handle.bytes)).chains
                    == [anna.identity.chain.bytes])
        }

        @Test func A121_anotherCardOrStatementDoesNotTakeOver() async throws {
            let bench = try await Bench(.open)
            let anna = try bench.stranger("anna")
            let eve = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            #expect(try await eve.reply(eve.registration()) == .refused(.unverified))
            // Somebody else's chain in the body proves nothing.
            let stolen = RegisterRequest(chain: anna.identity.chain.bytes, invitation: [], blinded: [])
            #expect(try await eve.reply(stolen) == .unauthorized)
            #expect(try await eve.reply(try anna.finishing()) == .unauthorized)
            let bert = try await bench.person("bert")
            #expect(try await bert.reply(try anna.finishing()) == .refused(.altered))
            #expect(try await anna.reply(try anna.finishing(server: .zero)) == .refused(.altered))
            _ = try await anna.ask(try anna.finishing())
            bench.clock.now += 1
            #expect(try await anna.reply(try anna.finishing()).error == .busy)
            #expect(try await eve.reply(eve.registration()) == .refused(.unverified))
            #expect(try await bert.ask(CardsRequest(handle: anna.identity.handle.bytes)).chains.count == 1)
        }

        @Test func A121_anAccountReservesNoHandleForAnotherUserID() async throws {
            let bench = try await Bench(.open)
            func seed() throws -> SecretKey<SeedUse> {
                try SecretKey(SecretBytes(copying: [UInt8](repeating: 7, count: 32).span))
            }
            let anna = try bench.signer(
                try Identity.make(handle: try Name(typed: "anna"), time: bench.clock.now, seed: try seed()))
            _ = try await anna.ask(anna.registration())
            _ = try await anna.ask(try anna.finishing())
            // The same key, under another handle: another user id.
            let other = try Identity.make(
                handle: try Name(typed: "dr-house"), time: bench.clock.now, seed: try seed())
            #expect(other.user != anna.user)
            let squatting = RegisterRequest(chain: other.chain.bytes, invitation: [], blinded: [])
            #expect(try await anna.reply(squatting) == .unauthorized)
            // Without an account, and with the newer generation of somebody who has one, it is the same.
            let stranger = try bench.signer(
                try Identity.make(handle: try Name(typed: "eve"), time: bench.clock.now, seed: try seed()))
            #expect(try await stranger.reply(squatting) == .unauthorized)
            let renewed = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity)
            #expect(try await renewed.reply(squatting) == .unauthorized)
            #expect(try await anna.ask(CardsRequest(handle: other.handle.bytes)).chains.isEmpty)
            _ = try await bench.person("dr-house")
        }

        @Test func A121_aPersonRenewsWhileTheyWait() async throws {
            let bench = try await Bench(.closed)
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            let next = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity)
            #expect(try await next.ask(next.registration()).state == .asked)
            #expect(try await anna.reply(anna.registration()) == .unauthorized)
            #expect(try await next.ask(try next.finishing()).state == .complete)
            let waiting = try #require(try await bench.admin.ask(InboxRequest(after: .zero)).cases.first)
            #expect(waiting.chain == next.identity.chain.bytes)
        }

        @Test func whereTheOperatorAdmitsAPersonWaits() async throws {
            let bench = try await Bench(.closed)
            let admin = try bench.admin
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            // Nobody can be admitted before they have sent everything.
            #expect(try await admin.ask(InboxRequest(after: .zero)).cases.map(\.state) == [.asked])
            let card = anna.identity.chain.newest.hash
            let admission = AdmitRequest(user: anna.user, card: card, isAdmitted: true)
            #expect(try await admin.reply(admission) == .forbidden)
            #expect(try await anna.ask(try anna.finishing()).state == .complete)
            #expect(try await anna.reply(TresorsRequest(after: .zero)) == .refused(.waiting))
            #expect(try await admin.ask(CardRequest(user: anna.user)).chain.isEmpty)
            let inbox = try await admin.ask(InboxRequest(after: .zero))
            #expect(!inbox.more && inbox.cases.map(\.chain) == [anna.identity.chain.bytes])
            #expect(inbox.cases.map(\.asked) == [bench.clock.now] && inbox.cases.map(\.state) == [.complete])
            #expect(
                try await admin.reply(AdmitRequest(user: anna.user, card: .zero, isAdmitted: true))
                    == .refused(.unverified))
            #expect(try await admin.reply(admission).status == 200)
            #expect(try await admin.reply(admission).status == 200)
            #expect(try await anna.ask(AccountRequest()).state == .active)
            // Nobody is refused after that.
            let refusal = AdmitRequest(user: anna.user, card: card, isAdmitted: false)
            #expect(try await admin.reply(refusal) == .forbidden)
        }

        @Test func aRefusalFreesTheHandle() async throws {
            let bench = try await Bench(.closed)
            let admin = try bench.admin
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            _ = try await anna.ask(try anna.finishing())
            let card = anna.identity.chain.newest.hash
            _ = try await admin.ask(AdmitRequest(user: anna.user, card: card, isAdmitted: false))
            #expect(try await anna.reply(AccountRequest()) == .unauthorized)
            let other = try bench.stranger("anna")
            #expect(try await other.ask(other.registration()).state == .asked)
        }

        @Test func anInvitationAdmitsOnePersonOnce() async throws {
            let bench = try await Bench(.byInvitation)
            let admin = try bench.admin
            let invitation = try Invitation()
            let until = bench.clock.now + Invitation.duration
            let invite = InviteRequest(hash: try invitation.hash(), label: try Name(typed: "ward 3"), until: until)
            let anna = try bench.stranger("anna")
            #expect(try await anna.reply(anna.registration(invitation: invitation)) == .forbidden)
            #expect(try await admin.reply(invite).status == 200)
            #expect(try await admin.reply(invite) == .refused(.failed(.other)))
            _ = try await anna.ask(anna.registration(invitation: invitation))
            _ = try await anna.ask(anna.registration(invitation: invitation))
            let eve = try bench.stranger("eve")
            #expect(try await eve.reply(eve.registration(invitation: invitation)) == .forbidden)
            #expect(try await anna.ask(try anna.finishing()).state == .active)
            _ = try await eve.ask(eve.registration())
            #expect(try await eve.ask(try eve.finishing()).state == .complete)
            #expect(try await admin.ask(InboxRequest(after: .zero)).cases.map(\.label) == [.empty])
        }

        @Test func anInvitationMayComeLater() async throws {
            let bench = try await Bench(.byInvitation)
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            _ = try await anna.ask(try anna.finishing())
            let invitation = try Invitation()
            _ = try await bench.admin.ask(
                InviteRequest(hash: try invitation.hash(), label: .empty, until: bench.clock.now + 10))
            #expect(try await anna.ask(anna.registration(invitation: invitation)).state == .active)
        }

        @Test func invitationsEnd() async throws {
            let bench = try await Bench(.byInvitation)
            let invitation = try Invitation()
            let admin = try bench.admin
            let anna = try bench.stranger("anna")
            _ = try await admin.ask(
                InviteRequest(hash: try invitation.hash(), label: .empty, until: bench.clock.now + 10))
            #expect(
                try await admin.reply(InviteRequest(hash: .zero, label: .empty, until: bench.clock.now - 1)).status
                    == 400)
            // Fourteen days, by a clock that may differ by five minutes.
            let latest = bench.clock.now + Invitation.duration + 300
            #expect(try await admin.reply(InviteRequest(hash: .zero, label: .empty, until: latest)).status == 200)
            let tooLong = InviteRequest(hash: anna.user.digest, label: .empty, until: latest + 1)
            #expect(try await admin.reply(tooLong) == .refused(.failed(.other)))
            bench.clock.now += 11
            #expect(try await anna.reply(anna.registration(invitation: invitation)) == .forbidden)
        }

        @Test func aRegistrationThatNobodyEndsLapses() async throws {
            let bench = try await Bench(.open)
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            bench.clock.now += 7 * 86_400
            let late = try bench.stranger("anna")
            #expect(try await late.reply(late.registration()) == .refused(.unverified))
            bench.clock.now += 1
            let later = try bench.stranger("anna")
            #expect(try await later.ask(later.registration()).state == .asked)
        }

        @Test func openCasesAndTriesAreLimited() async throws {
            let bench = try await Bench(.closed, quotas: { $0.openCases = 2 })
            for name in ["anna", "bert"] {
                let signer = try bench.stranger(name)
                _ = try await signer.ask(signer.registration())
            }
            let third = try bench.stranger("cara")
            #expect(try await third.reply(third.registration()).status == 429)
            for _ in 0..<10 { _ = try await third.reply(third.registration()) }
            let reply = try await third.reply(third.registration())
            #expect(reply.status == 429)
            #expect(reply.retryAfter ?? 0 > 10)
        }

        @Test func aDeletedAccountKeepsItsHandleAndItsCard() async throws {
            let bench = try await Bench(.open)
            let anna = try await bench.person("anna")
            let bert = try await bench.person("bert")
            _ = try await anna.ask(PutKitCopyRequest(locator: anna.user.digest, copy: [1]))
            _ = try await anna.trustedDevice()
            let id = try randomBytes(16)
            #expect(try await anna.reply(DeleteAccountRequest(), id: id).status == 200)
            #expect(try await anna.reply(DeleteAccountRequest(), id: id).status == 200)
            #expect(try await anna.reply(AccountRequest()) == .unauthorized)
            #expect(try await anna.reply(anna.registration()) == .unauthorized)
            #expect(try await bert.ask(KitCopyRequest(locator: anna.user.digest)).copy.isEmpty)
            #expect(try await bert.ask(CardRequest(user: anna.user)).chain == anna.identity.chain.bytes)
            #expect(try await bert.ask(CardsRequest(handle: anna.identity.handle.bytes)).chains.isEmpty)
            let other = try bench.stranger("anna")
            #expect(try await other.reply(other.registration()) == .refused(.unverified))
            #expect(try await bench.admin.reply(DeleteAccountRequest()) == .forbidden)
        }
    }
#endif
