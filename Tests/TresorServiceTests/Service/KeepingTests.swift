// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import TresorService

    /// Deleting tresors, checking a database, and importing a store.
    @Suite(.overEveryEngine) struct KeepingTests {
        @Test func A128_aDeletedTresorCannotComeBack() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let genesis = try #require(house.store.appends.first)
            let id = try randomBytes(16)
            #expect(try await owner.reply(DeleteTresorRequest(tresor: house.tresor), id: id).status == 200)
            #expect(try await owner.reply(DeleteTresorRequest(tresor: house.tresor), id: id).status == 200)
            #expect(try await owner.reply(DeleteTresorRequest(tresor: house.tresor)) == .forbidden)
            #expect(
                try await owner.reply(EntriesRequest(tresor: house.tresor, first: 0, limit: 1)) == .forbidden)
            #expect(try await owner.reply(genesis) == .forbidden)
            #expect(try await owner.ask(TresorsRequest(after: .zero)).tresors.isEmpty)
            try await house.bench.service.sweep()
            let rows = try await house.bench.rows()
            #expect(rows[0].count == 1 && rows[1].isEmpty && rows[2].isEmpty && rows[3].isEmpty)
        }

        @Test func anOwnerDeletesATresorThatItsFounderLeft() async throws {
            let house = try await Household(Bench())
            let plans = house.owner.tresor(house.tresor)
            try await plans.perform(
                .share(with: [house.writer.chain], role: .owner, fromNow: false, notAfter: nil))
            let second = try house.signer(house.writer)
            #expect(try await second.reply(DeleteTresorRequest(tresor: house.tresor)) == .forbidden)
            try await plans.perform(.leave)
            #expect(
                try await house.signer(house.owner).reply(DeleteTresorRequest(tresor: house.tresor)) == .forbidden)
            #expect(try await second.reply(DeleteTresorRequest(tresor: house.tresor)).status == 200)
        }

        @Test(arguments: [
            "UPDATE access SET role = 1 WHERE role = 3", "UPDATE access SET last_sequence = NULL",
            "DELETE FROM access WHERE role = 2", "DELETE FROM wraps", "DELETE FROM entries WHERE sequence = 2",
            "UPDATE entries SET entry = tresor WHERE sequence = 3", "UPDATE tresors SET count = count - 1",
            "UPDATE tresors SET founder = head", "UPDATE tresors SET bytes = bytes + 1",
        ])
        func A128_checkFindsWhatTheFoldDidNotWrite(_ change: String) async throws {
            let house = try await Household(Bench())
            #expect(try await house.bench.service.check().isClean)
            _ = try await house.bench.engine.write([SQL(schema: change)])
            let report = try await house.bench.service.check()
            #expect(Set(report.findings.map(\.tresor)) == [house.tresor], "\(change)")
        }

        @Test func anEmbeddedStoreIsTakenWhole() async throws {
            let bench = try await Bench()
            let embedded = MemoryStore()
            let cast = PreviewCast(store: embedded, clock: bench.clock)
            let anna = try await cast.person("anna")
            let house = try await cast.person("house")
            try cast.introduce(anna, house)
            let plans = try await cast.tresor("plans", of: anna, readers: [house])
            try await plans.perform(.rotate)
            let report = try await bench.service.importWhole(embedded)
            #expect(report.accounts == 2 && report.tresors == 1 && report.entries == 3 && report.leftWraps == 2)
            #expect(try await bench.service.check().isClean)
            // The wraps count for their receivers, also for those who wrote nothing.
            let written = try await bench.engine.read(SQL("SELECT account, entries FROM authors WHERE entries > 0"))
            #expect(written == [SQLRow([.digest(anna.user.digest), 3])])
            #expect(try await bench.service.importWhole(embedded).present == [plans.id])
            // An import that was interrupted is run again after somebody has renewed their keys.
            let renewed = try anna.identity.renewCard(time: bench.clock.now).identity
            let put = PutCardRequest(chain: renewed.chain.bytes, replacing: anna.identity.chain.bytes)
            #expect(try await bench.signer(renewed).ask(put).outcome == .done)
            #expect(try await bench.service.importWhole(embedded).present == [plans.id])
            // The people go on with the homes that they have.
            let client = Client(home: house.client.home, store: SignedStore(bench), clock: bench.clock.read)
            let session = Session(client: client, identity: house.identity)
            #expect(try await session.tresor(plans.id).name() == Name(typed: "plans"))
        }

        /// A person has no way back but the kit: its copy comes along, and belongs to them.
        @Test func theKitCopiesOfAnEmbeddedStoreAreTaken() async throws {
            let bench = try await Bench()
            let embedded = MemoryStore()
            let cast = PreviewCast(store: embedded, clock: bench.clock)
            let anna = try await cast.person("anna")
            _ = try await cast.tresor("plans", of: anna)
            let kit = try RecoveryKit()
            let slot = try Slot.kit(of: anna.identity, kit: kit, time: bench.clock.now)
            let copy = try IdentityFile(of: anna.identity, previous: [], slots: [slot]).bytes
            let locator = try kit.locator()
            await embedded.putKitCopy(copy, locator: locator)
            // One that says nothing of whose it is, or is of somebody without an account, takes no room.
            await embedded.putKitCopy([1, 2, 3], locator: anna.user.digest)
            let report = try await bench.service.importWhole(embedded)
            #expect(report.kitCopies == 1 && report.leftKitCopies == 1)
            #expect(try await bench.service.importWhole(embedded).kitCopies == 0)
            // A request for the log does not fold all of it.
            #expect(try await bench.rows()[4].count == 1)
            let signer = try bench.signer(anna.identity)
            #expect(try await signer.ask(KitCopyRequest(locator: locator)).copy == copy)
            #expect(try await signer.ask(KitCopyRequest(locator: anna.user.digest)).copy.isEmpty)
            _ = try await signer.ask(DeleteAccountRequest())
            #expect(try await signer.ask(KitCopyRequest(locator: locator)).copy.isEmpty)
        }

        /// The wraps of somebody who was removed take no room any more.
        @Test func aRemovalGivesRoomBack() async throws {
            let house = try await Household(Bench())
            try await house.owner.tresor(house.tresor).perform(.revoke([house.writer.user]))
            #expect(try await size(of: house).isExact)
        }

        /// Wraps that are put without an entry take room, so that their removal gives back no more than they took.
        @Test func wrapsThatArePutTakeRoom() async throws {
            let house = try await Household(Bench())
            let engine = house.bench.engine
            let state = try await house.state()
            let wraps = try await engine.read(SQL("SELECT wrap FROM wraps")).map { try $0.bytes(0) }
                .filter { try UnverifiedWrap($0).isNeeded(in: state) }
            // One for each of four members, and that of a former epoch for the one who reads from then on.
            try #require(wraps.count == 5)
            let owner = try house.signer(house.owner)
            _ = try await engine.write([
                SQL(
                    """
                    UPDATE tresors SET bytes =
                    (SELECT CAST(sum(length(entry)) AS bigint) FROM entries WHERE entries.tresor = tresors.tresor)
                    """), SQL("DELETE FROM wraps"),
            ])
            for _ in 0..<2 { _ = try await owner.ask(PutWrapsRequest(tresor: house.tresor, wraps: wraps + wraps)) }
            let size = try await size(of: house)
            #expect(size.isExact && size.wraps > 0)
            try await house.owner.tresor(house.tresor).perform(.revoke([house.writer.user]))
            #expect(try await self.size(of: house).isExact)
        }

        /// The size of a tresor that its row names, and that of its entries and wraps.
        private func size(of house: Household) async throws -> (isExact: Bool, wraps: UInt64) {
            let rows = try await house.bench.engine.read { (transaction) throws(TresorError) in
                try transaction.rows(of: [
                    SQL("SELECT bytes FROM tresors"),
                    SQL("SELECT CAST(sum(length(entry)) AS bigint) FROM entries"),
                    SQL("SELECT CAST(COALESCE(sum(length(wrap)), 0) AS bigint) FROM wraps"),
                ])
            }
            let wraps = try rows[2][0].number(0)
            return (try rows[0][0].number(0) == rows[1][0].number(0) + wraps, wraps)
        }

        /// A size that somebody has spoiled is found by the check, and stops nobody.
        @Test func aSizeBelowNothingStopsNobody() async throws {
            let house = try await Household(Bench())
            _ = try await house.bench.engine.write([SQL("UPDATE tresors SET bytes = -1000000")])
            try await house.owner.tresor(house.tresor).perform(.rotate)
            #expect(try await house.bench.service.check().findings.map(\.fault) == [.size])
        }

        /// A look at a database changes nothing in it.
        @Test func theVersionOfADatabaseIsReadWithoutAChange() async throws {
            let bench = try await Bench()
            #expect(try await Schema.version(of: bench.engine) == Schema.current.version)
            let empty = try await TestDatabase(.current).open()
            #expect(try await Schema.version(of: empty) == 0)
            #expect(try await Schema.version(of: empty) == 0)
        }

        @Test func anEmbeddedStoreThatDoesNotFoldIsRefused() async throws {
            let bench = try await Bench()
            let embedded = MemoryStore()
            let cast = PreviewCast(store: embedded, clock: bench.clock)
            let plans = try await cast.tresor("plans", of: try await cast.person("anna"))
            let last = try #require(await embedded.entries(of: plans.id, from: 0, limit: 9).last)
            _ = try await embedded.append(
                LogChange(tresor: plans.id, sequence: 1, after: last, entry: [1, 2, 3]))
            await #expect(throws: TresorError.altered) { try await bench.service.importWhole(embedded) }
            #expect(try await bench.rows()[0].isEmpty)
        }
    }
#endif
