// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import TresorService

    extension Service {
        /// Takes a store as its plan has it.
        func importWhole(_ store: any Store) async throws(TresorError) -> ImportReport {
            try await importStore(store, by: try await planImport(of: store))
        }
    }

    /// The people who get an account by an import. Anybody may write into an embedded store.
    @Suite(.overEveryEngine) struct StoreImportTests {
        private let embedded = MemoryStore()

        @Test func A242_thePeopleInTheLogsAloneGetAccounts() async throws {
            let bench = try await Bench(.closed)
            let cast = PreviewCast(store: embedded, clock: bench.clock)
            let (anna, house) = (try await cast.person("anna"), try await cast.person("house"))
            try cast.introduce(anna, house)
            _ = try await cast.tresor("plans", of: anna, readers: [house])
            let ghost = try await cast.person("chief-physician")
            let plan = try await bench.service.planImport(of: embedded)
            #expect(plan.members.map(\.user) == [anna.user, house.user].sorted())
            #expect(plan.others.map(\.user) == [ghost.user])
            #expect(try await bench.rows()[5].count == 1, "a look makes no account")
            // Nor does anybody get one who comes after the look.
            let late = try await cast.person("late")
            _ = try await cast.tresor("late", of: late)
            let report = try await bench.service.importStore(embedded, by: plan)
            #expect(report.accounts == 2 && report.waiting == 1 && report.tresors == 1)
            for (session, state) in [(anna, AccountState.active), (house, .active), (ghost, .complete)] {
                #expect(try await bench.signer(session.identity).ask(AccountRequest()).state == state)
            }
            let founding = try bench.signer(ghost.identity)
            #expect(try await founding.reply(founding.founding()) == .refused(.waiting))
            #expect(try await bench.signer(late.identity).reply(AccountRequest()) == .unauthorized)
            let waiting = try await bench.admin.ask(InboxRequest(after: .zero)).cases
            #expect(waiting.map(\.chain) == [ghost.chain.bytes])
            // Those who came later get one by another look, and who waits is in a log by now.
            try cast.introduce(late, ghost)
            _ = try await cast.tresor("ours", of: late, readers: [ghost])
            #expect(try await bench.service.importWhole(embedded).accounts == 2)
            #expect(try await founding.ask(AccountRequest()).state == .active)
        }

        /// The backup has no rows of the people who were closed, and the store has their cards.
        @Test func A237_aClosedAccountIsNeitherImportedNorAdmitted() async throws {
            let noting = try await NotingBench()
            let backup = try await Backup(of: noting.bench)
            let cast = PreviewCast(store: embedded, clock: noting.bench.clock)
            let (anna, house) = (try await cast.person("anna"), try await cast.person("house"))
            try cast.introduce(anna, house)
            _ = try await cast.tresor("plans", of: anna, readers: [house])
            let ghost = try await cast.person("ghost")
            for session in [anna, ghost] {
                let person = try noting.bench.signer(session.identity).at(noting.service)
                _ = try await person.ask(person.registration())
                _ = try await person.ask(person.finishing())
                try await noting.service.directory.close(session.user)
            }
            let service = try await noting.restart(from: backup)
            let plan = try await service.planImport(of: embedded)
            #expect(plan.members.map(\.user) == [house.user] && plan.others.isEmpty)
            #expect(plan.closed.map(\.user) == [anna.user, ghost.user].sorted())
            let report = try await service.importStore(embedded, by: plan)
            #expect(report.accounts == 1 && report.waiting == 0 && report.tresors == 1)
            for session in [anna, ghost] {
                #expect(try await service.directory.person(session.user) == nil)
            }
            // Somebody who waits all the same is refused, and not admitted.
            _ = try await noting.bench.engine.write([
                Account.insertion(of: anna.chain, .complete, invitation: nil, at: noting.bench.clock.now)
            ])
            let admin = try noting.bench.admin.at(service)
            func decide(_ isAdmitted: Bool) async throws -> ServiceReply {
                try await admin.reply(
                    AdmitRequest(user: anna.user, card: anna.chain.newest.hash, isAdmitted: isAdmitted))
            }
            #expect(try await decide(true) == .forbidden)
            #expect(try await service.directory.person(anna.user)?.state == .complete)
            #expect(try await decide(false).status == 200)
            #expect(try await service.directory.person(anna.user) == nil)
        }

        /// Only what nobody but this person owns stays out, and comes in once another identity owns it.
        @Test func A242_aHandleThatSomebodyHasKeepsNobodyElseOut() async throws {
            let bench = try await Bench()
            let known = try await bench.person("eva")
            let cast = PreviewCast(store: embedded, clock: bench.clock)
            let (eva, tom, kim) = (
                try await cast.person("eva"), try await cast.person("tom"), try await cast.person("kim")
            )
            try cast.introduce(eva, tom, kim)
            let hers = try await cast.tresor("hers", of: eva, readers: [tom])
            let ours = try await cast.tresor("ours", of: kim, readers: [eva])
            _ = try await cast.tresor("alone", of: tom)
            let plan = try await bench.service.planImport(of: embedded)
            #expect(plan.members.map(\.user) == [tom.user, kim.user].sorted() && plan.left == [hers.id])
            #expect(plan.rivals == [ImportPlan.Rival(chain: eva.chain, other: known.identity.chain, isIn: true)])
            var report = try await bench.service.importStore(embedded, by: plan)
            #expect(report.accounts == 2 && report.tresors == 2)
            let entries = try await bench.signer(kim.identity).ask(
                EntriesRequest(tresor: ours.id, first: 0, limit: 100))
            #expect(!entries.entries.isEmpty)
            report = try await bench.service.importWhole(embedded)
            #expect(report.accounts == 0 && report.tresors == 0 && report.present.count == 2)
            let other = try await cast.person("eva-2")
            try cast.introduce(eva, other)
            try await hers.perform(.share(with: [other.chain], role: .owner, fromNow: false, notAfter: nil))
            report = try await bench.service.importWhole(embedded)
            #expect(report.accounts == 1 && report.tresors == 1)
            #expect(try await bench.signer(other.identity).ask(AccountRequest()).state == .active)
        }

        /// Two people in the logs have one handle. A store takes the card of one of them alone, and the logs of both.
        @Test func A242_oneOfTwoNamesakesOfTheStoreGetsTheHandle() async throws {
            let bench = try await Bench()
            let elsewhere = MemoryStore()
            let casts = [embedded, elsewhere].map { PreviewCast(store: $0, clock: bench.clock) }
            let (first, second) = (try await casts[0].person("max"), try await casts[1].person("max"))
            let eva = try await casts[0].person("eva")
            _ = await elsewhere.putCard(
                eva.chain.bytes, user: eva.user, handle: eva.handle.bytes, replacing: nil)
            try casts[1].introduce(second, eva)
            _ = try await casts[0].tresor("plans", of: first)
            let plans = try await casts[1].tresor("plans", of: second, readers: [eva]).id
            var previous: [UInt8]?
            for (sequence, entry) in await elsewhere.entries(of: plans, from: 0, limit: .max).enumerated() {
                let change = try LogChange(tresor: plans, sequence: UInt64(sequence), after: previous, entry: entry)
                let outcome = try await embedded.append(change)
                try #require(outcome == .done)
                previous = entry
            }
            for user in [second.user, eva.user] {
                let wraps = try await elsewhere.wraps(of: user, in: plans, epoch: nil).map { bytes in
                    StoredWrap(user: user, epoch: try UnverifiedWrap(bytes).epoch, bytes: bytes)
                }
                await embedded.putWraps(wraps, in: plans)
            }
            let plan = try await bench.service.planImport(of: embedded)
            let namesakes = plan.members.filter { $0.user != eva.user }
            #expect(plan.members.count == 2 && namesakes.count == 1)
            #expect(plan.rivals.map(\.other) == namesakes && plan.left.count == 1)
            let report = try await bench.service.importStore(embedded, by: plan)
            #expect(report.accounts == 2 && report.tresors == 1)
        }

        @Test func A242_aStrangerUnderTheHandleGivesWay() async throws {
            let bench = try await Bench(.closed)
            let squatter = try bench.stranger("anna")
            _ = try await squatter.ask(squatter.registration())
            let cast = PreviewCast(store: embedded, clock: bench.clock)
            let anna = try await cast.person("anna")
            _ = try await cast.tresor("plans", of: anna)
            #expect(try await bench.service.importWhole(embedded).accounts == 1)
            #expect(try await bench.signer(anna.identity).ask(AccountRequest()).state == .active)
            #expect(try await squatter.reply(AccountRequest()) == .unauthorized)
        }

        /// The log knows newer keys than the card in the file, or the reverse.
        @Test func A242_anAccountBeginsWithTheNewestCard() async throws {
            let bench = try await Bench(.closed)
            let cast = PreviewCast(store: embedded, clock: bench.clock)
            let anna = try await cast.person("anna")
            _ = try await cast.tresor("plans", of: anna)
            let renewed = try anna.identity.renewCard(time: bench.clock.now).identity
            let outcome = await embedded.putCard(
                renewed.chain.bytes, user: anna.user, handle: anna.handle.bytes, replacing: anna.chain.bytes)
            try #require(outcome == .done)
            #expect(try await bench.service.planImport(of: embedded).members == [renewed.chain])
            _ = try await bench.service.importWhole(embedded)
            #expect(try await bench.signer(anna.identity).reply(AccountRequest()) == .unauthorized)
            #expect(try await bench.signer(renewed).ask(AccountRequest()).state == .active)
        }
    }
#endif
