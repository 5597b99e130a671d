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

    /// Who gets an account by an import. Anybody may write into an embedded store.
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
