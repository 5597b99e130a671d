// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import TresorServer
    @testable import TresorService

    /// A backup brings nothing to life again that was revoked since.
    @Suite(.overEveryEngine) struct RestoreTests {
        @Test func A237_aRevokedDeviceStaysRevoked() async throws {
            let noting = try await NotingBench()
            let anna = try await noting.person("anna")
            let (stolen, share) = try await anna.trustedDevice()
            let (other, kept) = try await anna.trustedDevice()
            let backup = try await Backup(of: noting.bench)
            _ = try await anna.ask(DeleteServerSharesRequest(devices: [share.id]))
            let service = try await noting.restart(from: backup)
            #expect(try await stolen.at(service).reply(ServerShareRequest(device: share.id)) == .unauthorized)
            #expect(try await other.at(service).ask(ServerShareRequest(device: kept.id)).share.count == 32)
            // All of them, and then the account.
            _ = try await anna.at(service).ask(DeleteServerSharesRequest(devices: []))
            _ = try await anna.at(service).ask(DeleteAccountRequest())
            let last = try await noting.restart(from: backup)
            #expect(try await other.at(last).reply(ServerShareRequest(device: kept.id)) == .unauthorized)
            #expect(try await anna.at(last).reply(AccountRequest()) == .unauthorized)
        }

        @Test func A237_anOldSeedStaysOld() async throws {
            let noting = try await NotingBench()
            let thief = try await noting.person("anna")
            let backup = try await Backup(of: noting.bench)
            let anna = try noting.renewed(thief)
            #expect(try await anna.publish(after: thief).status == 200)
            let service = try await noting.restart(from: backup)
            #expect(try await thief.at(service).reply(AccountRequest()) == .unauthorized)
            #expect(try await thief.at(service).reply(thief.registration()) == .unauthorized)
            noting.bench.clock.now += 1
            let fork = try noting.renewed(thief).at(service)
            #expect(try await fork.publish(after: thief) == .unauthorized)
            #expect(try await fork.reply(fork.registration()) == .unauthorized)
            // The person comes back with what they have, or with what they made of it since.
            let later = try noting.renewed(anna).at(service)
            #expect(try await later.publish(after: thief).status == 200)
            #expect(try await later.ask(AccountRequest()).state == .active)
            #expect(try await anna.at(service).reply(AccountRequest()) == .unauthorized)
        }

        @Test func A237_thePersonComesBackWithTheSameCard() async throws {
            let noting = try await NotingBench()
            let former = try await noting.person("anna")
            let backup = try await Backup(of: noting.bench)
            let anna = try noting.renewed(former)
            _ = try await anna.publish(after: former)
            let service = try await noting.restart(from: backup)
            #expect(try await anna.at(service).publish(after: former).status == 200)
            #expect(try await anna.at(service).ask(AccountRequest()).state == .active)
            // Then nothing is awaited any more.
            let next = try noting.renewed(anna).at(try await noting.restart())
            #expect(try await next.publish(after: anna).status == 200)
        }

        /// The first of two cards with one number was written down, and then its transaction failed.
        @Test func A237_theLastOfTwoCardsIsAwaited() async throws {
            let noting = try await NotingBench()
            let former = try await noting.person("anna")
            let first = try noting.renewed(former)
            noting.bench.clock.now += 1
            let second = try noting.renewed(former)
            let next = try noting.renewed(second)
            let service = try await noting.restart()
            let revocations = [first, second].map { Revocation(renewalTo: $0.identity.chain) }
            // Each start reads all of them.
            for _ in 0..<2 { try await service.apply(revocations) }
            #expect(try await first.at(service).publish(after: former) == .unauthorized)
            #expect(try await second.at(service).publish(after: former).status == 200)
            // A higher number comes before a lower one, wherever it stands.
            _ = try await noting.bench.engine.write([
                Account.replacement(by: former.identity.chain, after: 1)
            ])
            try await service.apply([Revocation(renewalTo: next.identity.chain)] + revocations)
            #expect(try await second.at(service).publish(after: former) == .unauthorized)
            #expect(try await next.at(service).publish(after: former).status == 200)
        }

        /// Nothing is written down for a request that is refused behind its change.
        @Test func A237_whatIsRefusedIsNotWrittenDown() async throws {
            let bench = try await Bench(.closed)
            let noted = NotedRevocations()
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            _ = try await anna.ask(anna.finishing())
            let renewed = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity)
            let rows = try await bench.rows()
            let service = try await bench.anotherService { $0.revocations = noted }
            let unknown = try Invitation()
            #expect(
                try await renewed.at(service).reply(renewed.registration(invitation: unknown)) == .forbidden)
            #expect(try await bench.rows() == rows)
            #expect(noted.list.isEmpty)
            #expect(try await renewed.at(service).reply(renewed.registration()).status == 200)
            #expect(noted.list == [Revocation(renewalTo: renewed.identity.chain)])
            // A copy of a request was answered in the meantime.
            let engine = MeddlingEngine(bench.engine)
            var settings = bench.settings
            settings.revocations = noted
            let slow = try Service(engine: engine, settings: settings)
            let admin = try bench.admin
            let call = try admin.call(EndSessionsRequest())
            engine.beforeNextWrite { _ = await service.answer(call) }
            #expect(await slow.answer(call) == ServiceReply(DoneAnswer()))
            #expect(noted.list.count == 2)
        }

        @Test func A237_endedSessionsStayEnded() async throws {
            let noting = try await NotingBench()
            let anna = try await noting.person("anna")
            let backup = try await Backup(of: noting.bench)
            noting.bench.clock.now += 10
            _ = try await anna.ask(EndSessionsRequest())
            let service = try await noting.restart(from: backup)
            let era = try await noting.bench.era(of: anna.user)
            #expect(era != .first)
            #expect(try await anna.at(service).reply(AccountRequest()) == ServiceReply(.ended(now: era)))
            #expect(try await noting.bench.renewed(anna).at(service).reply(AccountRequest()).status == 200)
        }

        /// A session may be dated long after it was signed, so that no record of its end lapses.
        @Test func A237_aSessionOfALaterYearStaysEnded() async throws {
            let noting = try await NotingBench()
            let anna = try await noting.person("anna")
            let backup = try await Backup(of: noting.bench)
            let later = noting.bench.clock.now + 366 * 86_400
            let key = try SessionKey(
                of: anna.identity, device: nil, server: noting.service.id, since: later, duration: 3_600)
            _ = try await anna.ask(EndSessionsRequest())
            noting.bench.clock.now = later
            let service = try await noting.restart(from: backup)
            let stolen = Signer(service: service, clock: anna.clock, identity: anna.identity, key: key)
            let ended = ServiceReply(Refusal.ended(now: try await noting.bench.era(of: anna.user)))
            #expect(try await stolen.reply(AccountRequest()) == ended)
        }

        @Test func A237_anInvitationIsGoodOnce() async throws {
            let noting = try await NotingBench(.byInvitation)
            let (used, withdrawn, fresh) = (
                try await noting.invite(), try await noting.invite(), try await noting.invite()
            )
            let backup = try await Backup(of: noting.bench)
            let anna = try noting.bench.stranger("anna").at(noting.service)
            _ = try await anna.ask(anna.registration(invitation: used))
            #expect(try await anna.ask(try anna.finishing()).state == .active)
            let bert = try noting.bench.stranger("bert").at(noting.service)
            _ = try await bert.ask(bert.registration(invitation: withdrawn))
            _ = try await noting.bench.admin.at(noting.service).ask(
                AdmitRequest(user: bert.user, card: bert.identity.chain.newest.hash, isAdmitted: false))
            let service = try await noting.restart(from: backup)
            for invitation in [used, withdrawn] {
                let eve = try noting.bench.stranger("eve").at(service)
                #expect(try await eve.reply(eve.registration(invitation: invitation)) == .forbidden)
            }
            let cara = try noting.bench.stranger("cara").at(service)
            #expect(try await cara.ask(cara.registration(invitation: fresh)).state == .asked)
        }

        /// A start without a restore changes nothing.
        @Test func A237_theRecordsChangeNothingInADatabaseThatHasThem() async throws {
            let noting = try await NotingBench(.byInvitation)
            let invitation = try await noting.invite()
            let former = try noting.bench.stranger("anna").at(noting.service)
            _ = try await former.ask(former.registration(invitation: invitation))
            _ = try await former.ask(try former.finishing())
            let anna = try noting.renewed(former)
            _ = try await anna.publish(after: former)
            let (_, share) = try await anna.trustedDevice()
            _ = try await anna.trustedDevice()
            _ = try await anna.ask(DeleteServerSharesRequest(devices: [share.id]))
            _ = try await anna.ask(EndSessionsRequest())
            let rows = try await noting.bench.rows()
            _ = try await noting.restart()
            #expect(try await noting.bench.rows() == rows)
        }

        @Test func A237_whatCannotBeWrittenDownIsNotRevoked() async throws {
            let bench = try await Bench()
            let directory = try TestDirectory()
            _ = try RevokedLog.open(at: directory["server.key.revoked"], of: bench.service.id, creating: true)
            let unwritable = RevokedLog(
                try FileDescriptor(directory["server.key.revoked"], O_RDONLY), at: directory["server.key.revoked"],
                of: bench.service.id)
            let service = try await bench.anotherService { $0.revocations = unwritable }
            let anna = try await bench.person("anna").at(service)
            let (device, share) = try await anna.trustedDevice()
            let rows = try await bench.rows()
            let next = try bench.signer(try anna.identity.renewCard(time: bench.clock.now).identity).at(service)
            #expect(try await next.publish(after: anna).status == 503)
            #expect(try await anna.reply(DeleteServerSharesRequest(devices: [share.id])).status == 503)
            #expect(try await anna.reply(EndSessionsRequest()).status == 503)
            #expect(try await anna.reply(DeleteAccountRequest()).status == 503)
            #expect(try await bench.rows() == rows)
            #expect(try await device.reply(ServerShareRequest(device: share.id)).status == 200)
        }
    }

    /// A backup, where nobody knows what was revoked since.
    @Suite(.overEveryEngine) struct DistrustTests {
        private func rows(_ bench: Bench) async throws -> (shares: Int, invitations: Int) {
            let rows = try await bench.rows()
            return (rows[7].count, rows[6].count)
        }

        @Test func A237_sharesInvitationsAndSessionsOfTheBackupAreGone() async throws {
            let noting = try await NotingBench(.byInvitation)
            _ = try await noting.invite()
            let invitation = try await noting.invite()
            let admin = try noting.bench.admin.at(noting.service)
            let (_, _) = try await admin.trustedDevice()
            let anna = try noting.bench.stranger("anna").at(noting.service)
            _ = try await anna.ask(anna.registration(invitation: invitation))
            noting.bench.clock.now += 1
            try await noting.service.distrust(operator: nil)
            let left = try await rows(noting.bench)
            #expect(left.shares == 0 && left.invitations == 0)
            #expect(try await admin.reply(AccountRequest()).status == 401)
            // The person who was invited waits for the operator.
            let again = try await noting.bench.renewed(anna)
            #expect(try await again.ask(again.finishing()).state == .complete)
        }

        @Test func A237_theOperatorDecidesAboutTheNextCard() async throws {
            let noting = try await NotingBench()
            let thief = try await noting.person("anna")
            try await noting.service.distrust(operator: nil)
            let anna = try await noting.bench.renewed(noting.renewed(thief))
            noting.bench.clock.now += 1
            let fork = try await noting.bench.renewed(noting.renewed(thief))
            #expect(try await fork.publish(after: thief) == .refused(.waiting))
            #expect(try await anna.publish(after: thief) == .refused(.waiting))
            let admin = try await noting.bench.renewed(noting.bench.admin.at(noting.service))
            let shown = try await admin.ask(InboxRequest(after: .zero)).cases
            #expect(shown.map(\.chain) == [fork.identity.chain.bytes])
            #expect(shown.map(\.state) == [.complete] && shown.map(\.asked) == [noting.bench.clock.now])
            func decide(_ person: Signer, _ isAdmitted: Bool) async throws -> ServiceReply {
                try await admin.reply(
                    AdmitRequest(
                        user: person.user, card: person.identity.chain.newest.hash, isAdmitted: isAdmitted))
            }
            #expect(try await decide(anna, true) == .refused(.unverified))
            #expect(try await decide(fork, false).status == 200)
            #expect(try await anna.publish(after: thief) == .refused(.waiting))
            #expect(try await decide(anna, true).status == 200)
            #expect(try await anna.ask(AccountRequest()).state == .active)
            #expect(try await thief.reply(AccountRequest()) == .unauthorized)
            #expect(try await admin.ask(InboxRequest(after: .zero)).cases.isEmpty)
            // The decision counts for this card. The next one comes as usual.
            #expect(try await decide(anna, true).status == 200)
            let next = try await noting.bench.renewed(noting.renewed(anna))
            #expect(try await next.publish(after: anna).status == 200)
        }

        @Test func A237_theOperatorsCardComesFromTheOperator() async throws {
            let noting = try await NotingBench()
            let old = try noting.bench.admin.at(noting.service)
            var new = try noting.renewed(old)
            let other = try await noting.person("anna")
            await #expect(throws: TresorError.unverified) {
                try await noting.service.distrust(operator: other.identity.chain)
            }
            try await noting.service.distrust(operator: new.identity.chain)
            new = try await noting.bench.renewed(new)
            #expect(try await old.reply(InboxRequest(after: .zero)) == .unauthorized)
            #expect(try await new.reply(InboxRequest(after: .zero)).status == 200)
            // Nobody else could decide about it.
            let next = try await noting.bench.renewed(noting.renewed(new))
            #expect(try await next.publish(after: new).status == 200)
        }
    }
#endif
