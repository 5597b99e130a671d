// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import Tresor
    @testable import TresorRemote
    @testable import TresorService

    /// New keys for an identity, with a service.
    @Suite struct ServiceRenewalTests {
        private let words = "the password of anna"

        /// The same home in a process whose exchange of a number, counted from 0, loses its answer and is the last.
        private func cut(_ session: Session, at number: Int, on stage: ServiceStage) -> Session {
            let store = stage.process { $0 == number ? .losingAnswer : $0 > number ? .unreachable : nil }.store
            return Session(
                client: Client(home: session.client.home, store: store, clock: stage.bench.clock.read),
                identity: session.identity)
        }

        /// The identity that the home has by now.
        private func reopened(_ session: Session, on stage: ServiceStage) async throws -> Session {
            let client = stage.client(of: session.client.home)
            if try client.identityFileBlocking().chain == session.chain { return stage.again(session) }
            return try await client.unlock(password: Password(words))
        }

        /// The outcome of the command.
        private func run(_ session: Session) async throws -> Session {
            if try session.renewal.isUnfinishedBlocking() {
                let outcomes = try await session.renewal.finishInEachTresor()
                #expect(outcomes.allSatisfy { $0.error == nil })
                return session
            }
            try await session.renewal.check()
            let renewed = try await session.renewal.renew(
                password: Password(words), cost: .floor, kit: try RecoveryKit())
            let failures = try await renewed.renewal.finish()
            if let error = failures.values.first { throw error }
            return renewed
        }

        /// Whatever answer is the last one, running it again completes the renewal: one new generation, published and in
        /// the tresor, no server share of an old device, and one kit copy.
        @Test func aRenewalThatIsCutAnywhereIsFinishedByRunningItAgain() async throws {
            var number = 0
            var isCut = true
            while isCut {
                let stage = ServiceStage(try await Bench())
                let anna = try await stage.person("anna")
                let tresor = try await anna.create("plans").id
                try await anna.unlocking.setKit(try RecoveryKit())
                _ = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
                let first = cut(anna, at: number, on: stage)
                let error = await errorOf { _ = try await run(first) }
                isCut = error != nil
                if isCut { _ = try await run(reopened(anna, on: stage)) }
                let renewed = try await reopened(anna, on: stage)
                let file = try renewed.client.identityFileBlocking()
                #expect(renewed.chain.newest.generation == 1 && file.devices.isEmpty, "cut at \(number)")
                #expect(try await renewed.client.store.card(of: anna.user) == renewed.chain.bytes, "cut at \(number)")
                let state = try await renewed.tresor(tresor).state()
                #expect(
                    state.chain(of: anna.user) == renewed.chain && !state.isRekeyPending
                        && state.founderGeneration == 1, "cut at \(number)")
                let locator = try #require(file.kitLocator)
                #expect(try await renewed.client.store.kitCopy(locator: locator) != nil, "cut at \(number)")
                #expect(try await stage.escrow() == (0, 1), "cut at \(number)")
                #expect(try !renewed.client.cleanup.isPendingBlocking(), "cut at \(number)")
                #expect(try await stage.bench.service.check().isClean)
                number += 1
            }
            #expect(number > 15)
        }

        /// The home is lost after the new kit was made, and before the service has seen the new keys.
        @Test func theNewKitOpensAnIdentityThatWasNotPublished() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            _ = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            let kit = try RecoveryKit()
            let typed = try RecoveryKit(typed: kit.words())
            _ = try await anna.renewal.renew(password: Password(words), cost: .floor, kit: kit)
            let home = MemoryHome()
            let recovered = try await stage.client(of: home).recovery.recover(
                kit: typed, newPassword: Password(words), cost: .floor)
            #expect(recovered.isFromStore && recovered.session.chain.newest.generation == 1)
            #expect(try await recovered.session.client.store.card(of: anna.user) == recovered.session.chain.bytes)
            #expect(try await stage.escrow().shares == 0)
            #expect(try recovered.session.renewal.isUnfinishedBlocking())
            #expect(try await recovered.session.renewal.finishInEachTresor().allSatisfy { $0.error == nil })
            #expect(try !recovered.session.renewal.isUnfinishedBlocking())
        }

        /// Beside a service that has never met them, nothing of a copy in a file counts as a renewal that was interrupted.
        @Test func aCopyInAFileLeavesNothingToResume() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let kit = try RecoveryKit()
            let typed = try RecoveryKit(typed: kit.words())
            let renewed = try await anna.renewal.renew(password: Password(words), cost: .floor, kit: kit)
            let copy = try #require(try renewed.unlocking.kitCopyBlocking()?.copy)
            let other = ServiceStage(try await Bench())
            let home = MemoryHome()
            let recovered = try await other.client(of: home).recovery.recover(
                kit: typed, from: copy, newPassword: Password(words), cost: .floor)
            #expect(recovered.refusal == .noAccess && recovered.session.chain.newest.generation == 1)
            #expect(home.read(.cleanupJournal) == nil)
            #expect(try !recovered.session.renewal.isUnfinishedBlocking())
        }

        /// A service that knows the keys deletes the shares, and is noted for no copy that it may have deleted.
        @Test func A31_aServiceIsNotedForACopyOnlyWhereItIsToHaveIt() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let kit = try RecoveryKit()
            let typed = try RecoveryKit(typed: kit.words())
            try await anna.unlocking.setKit(kit)
            let copy = try #require(try anna.unlocking.kitCopyBlocking()?.copy)
            _ = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            let recovered = try await stage.client(of: MemoryHome()).recovery.recover(
                kit: typed, from: copy, newPassword: Password(words), cost: .floor)
            #expect(recovered.refusal == nil)
            #expect(try await stage.escrow().shares == 0)
            #expect(try !recovered.session.unlocking.isKitCopyDue())
            try recovered.session.unlocking.awaitKitCopy()
            #expect(try recovered.session.unlocking.isKitCopyDue())
            // It takes it once: from then on, a later kit may have deleted it.
            try await recovered.session.unlocking.restoreKitCopy()
            #expect(try !recovered.session.unlocking.isKitCopyDue())
        }

        /// A home may use several stores. New keys do not wait for another one.
        @Test func aTresorOfAnotherStoreHoldsUpNothing() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let other = Session(
                client: Client(
                    home: anna.client.home, store: MemoryStore(), named: StoreName(Array("/other".utf8)),
                    clock: stage.bench.clock.read),
                identity: anna.identity)
            try await other.client.people.publishCard()
            let there = try await other.create("there").id
            let here = try await anna.create("here").id
            #expect(try await anna.tresors.all().first { $0.tresor == there }?.isElsewhere == true)
            #expect(
                try await anna.client.audit.check().contains {
                    $0.subject == .tresor(there) && $0.remark == .elsewhere
                })
            let renewed = try await anna.renewal.renew(password: Password(words), cost: .floor, kit: nil)
            let outcomes = try await renewed.renewal.finishInEachTresor()
            #expect(outcomes.filter(\.isElsewhere).map(\.tresor) == [there])
            #expect(outcomes.filter { !$0.isElsewhere }.map(\.tresor) == [here])
            #expect(outcomes.first { $0.tresor == here }?.error == nil)
            #expect(try !renewed.renewal.isUnfinishedBlocking())
        }
    }
#endif
