// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorServer
    @testable import TresorService

    /// The accounts and invitations that the person who runs a service sees and ends.
    @Suite(.overEveryEngine) struct AccountDirectoryTests {
        /// A file of revocations that cannot be written.
        private struct FullLog: RevocationLog {
            func append(_ revocation: Revocation) throws(TresorError) { throw .store(.full) }
            func checkPlace() {}
        }

        @Test func peopleAreListedWithWhatTheyHave() async throws {
            let house = try await Household(Bench())
            let waiting = try house.bench.stranger("waiting")
            _ = try await waiting.ask(waiting.registration())
            let directory = house.bench.service.directory
            let people = try await directory.people(after: nil)
            #expect(people.map(\.user) == people.map(\.user).sorted())
            let owner = try #require(people.first { $0.user == house.owner.user })
            #expect(owner.handle.text == "owner" && owner.state == .active && owner.founded == 1 && owner.joined == 1)
            let removed = try #require(people.first { $0.user == house.removed.user })
            #expect(removed.founded == 0 && removed.joined == 0)
            // The owners can take somebody out before the account is closed.
            #expect(try await directory.owners(beside: house.reader.user).handles == [owner.handle])
            #expect(try await directory.owners(beside: house.owner.user).handles.isEmpty)
            #expect(try await directory.owners(beside: house.removed.user).handles.isEmpty)
            let asked = try #require(people.first { $0.user == waiting.user })
            #expect(asked.state == .asked && asked.registered == house.bench.clock.now)
            #expect(try await directory.person(house.owner.user) == owner)
            #expect(try await directory.person(called: owner.handle) == owner)
            #expect(try await directory.person(called: try Name(typed: "nobody")) == nil)
            for person in people {
                let later = try await directory.people(after: person.user)
                #expect(later == people.filter { $0.user > person.user })
            }
        }

        /// Owners of what the person founded can delete it, and are asked first.
        @Test func theOwnersOfWhatSomebodyFoundedComeFirst() async throws {
            let house = try await Household(Bench())
            let letters = try await house.cast.tresor("letters", of: house.reader)
            try await letters.perform(
                .share(with: [house.writer.chain], role: .owner, fromNow: false, notAfter: nil))
            let directory = house.bench.service.directory
            let all = try await directory.owners(beside: house.reader.user)
            #expect(all.handles.map(\.text) == ["writer", "owner"] && !all.areCut)
            let first = try await directory.owners(beside: house.reader.user, limit: 1)
            #expect(first.handles.map(\.text) == ["writer"] && first.areCut)
        }

        /// Nobody else takes anybody out of a tresor whose only owner leaves, or lets anybody in without its approver.
        @Test func whatStandsWithoutSomebodyIsCounted() async throws {
            let house = try await Household(Bench())
            let directory = house.bench.service.directory
            _ = try await house.cast.tresor("diary", of: house.owner)
            #expect(try await directory.loneTresors(of: house.owner.user) == 1)
            #expect(try await directory.loneTresors(of: house.writer.user) == 0)
            let plans = house.owner.tresor(house.tresor)
            try await plans.perform(.setApprovers([house.removed.chain]))
            let approver = try #require(try await directory.person(house.removed.user))
            #expect(approver.joined == 0 && approver.approving == 1)
            try await plans.perform(.setApprovers([]))
            try await plans.perform(.share(with: [house.writer.chain], role: .owner, fromNow: false, notAfter: nil))
            #expect(try await directory.loneTresors(of: house.owner.user) == 0)
            // An owner whose account is closed takes nobody out.
            try await directory.close(house.writer.user)
            #expect(try await directory.loneTresors(of: house.owner.user) == 1)
        }

        /// The account goes, and nothing of anybody else.
        @Test func closingEndsAnAccountAndNothingElse() async throws {
            let house = try await Household(Bench())
            let noted = NotedRevocations()
            let service = try await house.bench.anotherService { $0.revocations = noted }
            let (owner, reader) = (try house.signer(house.owner), try house.signer(house.reader))
            let (device, share) = try await owner.trustedDevice()
            _ = try await owner.ask(PutKitCopyRequest(locator: owner.user.digest, copy: [1]))
            let cursor = try await owner.ask(NewsRequest(cursor: [], seconds: 0)).cursor
            try await house.owner.tresor(house.tresor).perform(.rotate)
            let before = try await house.bench.rows()
            try await service.directory.close(owner.user)
            let handle = try Revocation.hash(of: owner.identity.handle, at: service.id)
            #expect(noted.list == [.account(owner.user, handle: handle)])
            // Logs, wraps, access, states, blobs and invitations are as before.
            let after = try await house.bench.rows()
            for table in [0, 1, 2, 3, 4, 6, 9, 10, 11, 12, 13] { #expect(after[table] == before[table]) }
            #expect(before[5].count == after[5].count)
            #expect(before[5].filter { !after[5].contains($0) }.count == 1)
            // Sessions, devices and kit copies are gone at once, in every process.
            #expect(try await owner.reply(AccountRequest()) == .unauthorized)
            #expect(try await device.reply(ServerShareRequest(device: share.id)) == .unauthorized)
            #expect(try await reader.ask(KitCopyRequest(locator: owner.user.digest)).copy.isEmpty)
            // Others go on, and see the card that their logs hold, but find nobody to share with.
            #expect(try await reader.ask(CardRequest(user: owner.user)).chain == owner.identity.chain.bytes)
            #expect(try await reader.ask(CardsRequest(handle: owner.identity.handle.bytes)).chains.isEmpty)
            let entries = try await reader.ask(EntriesRequest(tresor: house.tresor, first: 0, limit: 100)).entries
            #expect(entries.count > 1)
            #expect(try await service.check().isClean)
            // The handle is nobody else's, and the account does not come back.
            let other = try house.bench.stranger("owner")
            #expect(try await other.reply(other.registration()) == .refused(.unverified))
            #expect(try await owner.reply(owner.registration()) == .unauthorized)
            #expect(try await service.directory.person(owner.user)?.state == .closed)
            await #expect(throws: TresorError.noAccess) { try await service.directory.close(owner.user) }
            // A wait that had begun tells nothing more.
            let context = try ServiceContext(engine: house.bench.engine, settings: house.bench.settings)
            let statement = try RequestStatement(
                session: .zero, id: try randomBytes(16), time: house.bench.clock.now, operation: .news, body: [])
            let caller = TresorService.Caller(
                user: owner.user, device: nil, account: nil, chain: nil, request: RequestKey(statement, of: owner.user))
            let news = try await News(context: context).news(NewsRequest(cursor: cursor, seconds: 0), by: caller)
            #expect(news.tresors.isEmpty)
        }

        @Test func theOperatorAndPeopleWithoutAnAccountAreNotClosed() async throws {
            let bench = try await Bench(.closed)
            let anna = try bench.stranger("anna")
            _ = try await anna.ask(anna.registration())
            for user in [bench.operatorIdentity.user, anna.user, UserID(.zero)] {
                await #expect(throws: TresorError.noAccess) { try await bench.service.directory.close(user) }
            }
            #expect(try await anna.ask(AccountRequest()).state == .asked)
            #expect(try await bench.admin.ask(AccountRequest()).state == .active)
        }

        @Test func A237_whatCannotBeNotedIsNotClosed() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let (device, share) = try await anna.trustedDevice()
            let service = try await bench.anotherService { $0.revocations = FullLog() }
            await #expect(throws: TresorError.store(.full)) { try await service.directory.close(anna.user) }
            #expect(try await anna.ask(AccountRequest()).state == .active)
            #expect(try await device.ask(ServerShareRequest(device: share.id)).share.count == 32)
        }

        /// An order that stands in the file is done at the next start, whatever the database made of it.
        @Test func A237_aClosingThatFailedLateIsNotCalledNothing() async throws {
            let bench = try await Bench()
            let directory = try TestDirectory()
            let log = try RevokedLog.open(
                at: directory["server.key.revoked"], of: bench.service.id, creating: true)
            let engine = FailingEngine(bench.engine)
            var settings = bench.settings
            settings.revocations = log
            let service = try Service(engine: engine, settings: settings)
            defer { service.shutDown() }
            let anna = try await bench.person("anna")
            func message(_ error: TresorError) -> String {
                StoredService.failure(
                    error, after: log, "closed nothing", "the account of anna may be closed",
                    list: "tresor-server accounts"
                ).message
            }
            let failure = TresorError.store(.inputOutput)
            engine.fail(failure, count: 1)
            await #expect(throws: failure) { try await service.directory.close(anna.user) }
            #expect(message(failure).hasPrefix("closed nothing: the database failed"))
            let changed = "closed nothing: it has changed in between; look at tresor-server accounts, and try again"
            #expect(message(.noAccess) == changed)
            engine.failEnds(failure, count: 1)
            await #expect(throws: failure) { try await service.directory.close(anna.user) }
            let late = "the account of anna may be closed, now or at the next start of the service: the database failed"
            #expect(message(failure).hasPrefix(late) && message(failure).hasSuffix("accounts, and run it again"))
            #expect(try await anna.ask(AccountRequest()).state == .active)
            let next = try await bench.anotherService()
            try await log.read { (page) throws(TresorError) in try await next.apply(page) }
            #expect(try await next.directory.person(anna.user)?.state == .closed)
        }

        @Test func A237_aClosedAccountStaysClosedBehindABackup() async throws {
            let noting = try await NotingBench()
            let anna = try await noting.person("anna")
            let (device, share) = try await anna.trustedDevice()
            let backup = try await Backup(of: noting.bench)
            try await noting.service.directory.close(anna.user)
            let service = try await noting.restart(from: backup)
            #expect(try await anna.at(service).reply(AccountRequest()) == .unauthorized)
            #expect(try await device.at(service).reply(ServerShareRequest(device: share.id)) == .unauthorized)
        }

        /// A backup of before the registration has no row to close.
        @Test func A237_aClosedAccountStaysClosedBehindABackupWithoutIt() async throws {
            let noting = try await NotingBench()
            let backup = try await Backup(of: noting.bench)
            let anna = try await noting.person("anna")
            try await noting.service.directory.close(anna.user)
            var service = try await noting.restart(from: backup)
            #expect(try await service.directory.person(anna.user) == nil)
            for _ in 0..<2 {
                #expect(try await anna.at(service).reply(anna.registration()) == .forbidden)
                service = try await noting.restart()
            }
            #expect(try await service.directory.person(anna.user) == nil)
            let bert = try noting.bench.stranger("bert").at(service)
            #expect(try await bert.ask(bert.registration()).state == .asked)
        }

        /// Somebody else's case was under the handle, and lapsed before the closed account was made.
        @Test(arguments: [Registration.open, .closed])
        func A237_theHandleOfAClosedAccountStaysTaken(registration: Registration) async throws {
            let noting = try await NotingBench(registration)
            let admin = try noting.bench.admin.at(noting.service)
            func admission(_ person: Signer, _ isAdmitted: Bool = true) -> AdmitRequest {
                AdmitRequest(user: person.user, card: person.identity.chain.newest.hash, isAdmitted: isAdmitted)
            }
            let rival = try noting.bench.stranger("anna").at(noting.service)
            _ = try await rival.ask(rival.registration())
            if registration == .closed { _ = try await rival.ask(rival.finishing()) }
            let backup = try await Backup(of: noting.bench)
            _ = try await noting.bench.engine.write([
                SQL("DELETE FROM accounts WHERE account = $1", [.digest(rival.user.digest)])
            ])
            let anna = try noting.bench.stranger("anna").at(noting.service)
            _ = try await anna.ask(anna.registration())
            _ = try await anna.ask(anna.finishing())
            if registration == .closed { _ = try await admin.ask(admission(anna)) }
            try await noting.service.directory.close(anna.user)
            let service = try await noting.restart(from: backup)
            if registration == .closed {
                #expect(try await admin.at(service).reply(admission(rival)) == .forbidden)
            } else {
                #expect(try await rival.at(service).reply(rival.finishing()) == .refused(.unverified))
            }
            #expect(try await rival.at(service).reply(rival.registration()) == .refused(.unverified))
            #expect(try await admin.at(service).reply(admission(rival, false)).status == 200)
            let other = try noting.bench.stranger("anna").at(service)
            #expect(try await other.reply(other.registration()) == .refused(.unverified))
            #expect(try await anna.at(service).reply(anna.registration()) == .forbidden)
        }

        /// A person who makes an account and deletes it keeps its handle from nobody for ever.
        @Test func theHandleOfADeletedAccountIsFreeBehindABackup() async throws {
            let noting = try await NotingBench()
            let backup = try await Backup(of: noting.bench)
            let anna = try await noting.person("anna")
            _ = try await anna.ask(DeleteAccountRequest())
            let other = try noting.bench.stranger("anna")
            #expect(try await other.at(noting.restart()).reply(other.registration()) == .refused(.unverified))
            let service = try await noting.restart(from: backup)
            #expect(try await anna.at(service).reply(anna.registration()) == .forbidden)
            #expect(try await other.at(service).ask(other.registration()).state == .asked)
        }

        /// Nobody finds out which handles were closed. The database has no row of the closed account.
        @Test func A237_aClosedHandleIsRefusedAsAnActiveOneIs() async throws {
            let bench = try await Bench(quotas: { $0.openCases = 1 })
            _ = try await bench.person("active")
            let hash = try Revocation.hash(of: Name(typed: "closed"), at: bench.service.id)
            try await bench.service.apply([.account(UserID(.zero), handle: hash)])
            let rivals = try ["active", "closed"].map { try bench.stranger($0) }
            for rival in rivals { #expect(try await rival.reply(rival.registration()) == .refused(.unverified)) }
            let waiting = try bench.stranger("waiting")
            #expect(try await waiting.ask(waiting.registration()).state == .asked)
            for rival in rivals {
                #expect(try await rival.reply(rival.registration()).status == 429)
                let unknown = try Invitation()
                #expect(try await rival.reply(rival.registration(invitation: unknown)) == .forbidden)
            }
        }

        /// An operator who is told of the file looks for another one, and has no need to.
        @Test func A237_aFaultOfTheDatabaseIsNotOneOfTheFile() async throws {
            let bench = try await Bench()
            let directory = try TestDirectory()
            let log = try RevokedLog.open(
                at: directory["server.key.revoked"], of: bench.service.id, creating: true)
            try log.append(.invitation(.zero))
            let engine = FailingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            defer { service.shutDown() }
            var place = StoreOptions()
            (place.store, place.serverKey) = ("clinic.db", nil)
            let said = "cannot take what was revoked out of the database clinic.db: "
            for opener in [RevokedLogOptions.Opener.run, .another] {
                for (fault, words) in [
                    (.inputOutput, "input or output failed"),
                    (.full, "no space left; make room on its disk, and start this again"),
                ] as [(TresorError.Fault, String)] {
                    engine.fail(.store(fault))
                    var failure: ServerFailure?
                    do {
                        try await opener.takeBack(log, from: service, in: place)
                    } catch {
                        failure = error
                    }
                    #expect(failure?.message == said + words)
                }
                engine.fail(nil)
                try await opener.takeBack(log, from: service, in: place)
            }
        }

        /// Beside PostgreSQL, the server key leads to the file.
        @Test func A237_aFileThatNobodyNamedIsNotPassedOver() async throws {
            let bench = try await Bench()
            var (place, revocations) = (StoreOptions(), RevokedLogOptions())
            (place.store, place.serverKey, revocations.revokedLog) = ("postgresql:///clinic", nil, nil)
            do {
                try await revocations.takeBack(from: bench.service, place, bench.engine)
                Issue.record("it was passed over")
            } catch {
                #expect(error as? ServerFailure == .usage("name the file of the server key: --server-key FILE"))
            }
        }

        /// A backup may have the account as it was before it was active.
        @Test(arguments: [Registration.open, .byInvitation, .closed])
        func A237_aClosedAccountStaysClosedBehindABackupOfItsBeginning(registration: Registration) async throws {
            let noting = try await NotingBench(registration)
            let invitation = registration == .byInvitation ? try await noting.invite() : nil
            let admin = try noting.bench.admin.at(noting.service)
            let anna = try noting.bench.stranger("anna").at(noting.service)
            let admission = AdmitRequest(
                user: anna.user, card: anna.identity.chain.newest.hash, isAdmitted: true)
            _ = try await anna.ask(anna.registration(invitation: invitation))
            var backup = try await Backup(of: noting.bench)
            #expect(try await noting.service.directory.person(anna.user)?.state == .asked)
            _ = try await anna.ask(anna.finishing())
            if registration == .closed {
                backup = try await Backup(of: noting.bench)
                #expect(try await noting.service.directory.person(anna.user)?.state == .complete)
                _ = try await admin.ask(admission)
            }
            try await noting.service.directory.close(anna.user)
            let service = try await noting.restart(from: backup)
            #expect(try await service.directory.person(anna.user)?.state == .closed)
            #expect(try await anna.at(service).reply(anna.finishing()) == .unauthorized)
            #expect(try await anna.at(service).reply(anna.registration(invitation: invitation)) == .unauthorized)
            #expect(try await admin.at(service).reply(admission) == .forbidden)
        }

        /// An invitation is taken from somebody whom the operator refuses, also behind a backup of before.
        @Test func A237_whoWasRefusedIsInvitedNoMore() async throws {
            let noting = try await NotingBench(.byInvitation)
            let invitation = try await noting.invite()
            let eve = try noting.bench.stranger("eve").at(noting.service)
            _ = try await eve.ask(eve.registration(invitation: invitation))
            let backup = try await Backup(of: noting.bench)
            _ = try await noting.bench.admin.at(noting.service).ask(
                AdmitRequest(user: eve.user, card: eve.identity.chain.newest.hash, isAdmitted: false))
            let service = try await noting.restart(from: backup)
            #expect(try await eve.at(service).ask(eve.finishing()).state == .complete)
            #expect(try await eve.at(service).reply(eve.registration(invitation: invitation)) == .forbidden)
        }

        @Test func openInvitationsAreListed() async throws {
            let noting = try await NotingBench(.byInvitation)
            let directory = noting.service.directory
            var hashes: [Hash256] = []
            for _ in 0..<4 { hashes.append(try await noting.invite().hash()) }
            let (used, begun) = (try await noting.invite(), try await noting.invite())
            let (anna, bert) = (try noting.bench.stranger("anna"), try noting.bench.stranger("bert"))
            _ = try await anna.ask(anna.registration(invitation: used))
            _ = try await anna.ask(anna.finishing())
            _ = try await bert.ask(bert.registration(invitation: begun))
            let open = try await directory.invitations(after: nil)
            #expect(open.map(\.hash) == (hashes + [try begun.hash()]).sorted())
            let handles = open.compactMap(\.handle)
            #expect(handles == [bert.identity.handle])
            #expect(try await directory.invitations(after: open[1].hash) == Array(open[2...]))
            // Those whose time is over are open no more.
            noting.bench.clock.now += 1_001
            #expect(try await directory.invitations(after: nil).map(\.handle) == [bert.identity.handle])
        }

        @Test func A234_aWithdrawnInvitationIsGoodForNobody() async throws {
            let noting = try await NotingBench(.byInvitation)
            let directory = noting.service.directory
            let (unused, begun, used) =
                (try await noting.invite(), try await noting.invite(), try await noting.invite())
            let (anna, bert) = (try noting.bench.stranger("anna"), try noting.bench.stranger("bert"))
            _ = try await anna.ask(anna.registration(invitation: used))
            #expect(try await anna.ask(anna.finishing()).state == .active)
            _ = try await bert.ask(bert.registration(invitation: begun))
            let backup = try await Backup(of: noting.bench)
            try await directory.withdraw(unused.hash())
            try await directory.withdraw(begun.hash())
            await #expect(throws: TresorError.noAccess) { try await directory.withdraw(used.hash()) }
            await #expect(throws: TresorError.noAccess) { try await directory.withdraw(unused.hash()) }
            let carl = try noting.bench.stranger("carl")
            #expect(try await carl.reply(carl.registration(invitation: unused)) == .forbidden)
            #expect(try await carl.reply(carl.registration(invitation: begun)) == .forbidden)
            // Behind a backup it stays so, also for somebody who had begun.
            let service = try await noting.restart(from: backup)
            #expect(try await carl.at(service).reply(carl.registration(invitation: unused)) == .forbidden)
            #expect(try await bert.at(service).ask(bert.finishing()).state == .complete)
            #expect(try await anna.at(service).ask(AccountRequest()).state == .active)
        }
    }
#endif
