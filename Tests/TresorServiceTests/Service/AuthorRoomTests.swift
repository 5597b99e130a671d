// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import TestSupport
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The room of people: what others write leaves the owners theirs.
    @Suite(.overEveryEngine) struct AuthorRoomTests {
        /// A quota of bytes that leaves so much to others than the owners, beside what is used.
        static func quota(leaving bytes: UInt64, beside used: UInt64) -> UInt64 { (used + bytes) / 9 * 10 + 10 }

        private static func put(_ number: UInt8, _ count: Int, in house: Household) -> PutBlobRequest {
            PutBlobRequest(
                tresor: house.tresor, hash: Hash256([UInt8](repeating: number, count: 32)) ?? .zero, part: 0,
                bytes: [UInt8](repeating: number, count: count))
        }

        private static func epoch(in house: Household) async throws -> AppendRequest {
            let (epoch, wraps) = try await house.epoch()
            return try await house.request(.epoch(EpochBody(epoch)), by: house.owner, wraps: wraps)
        }

        @Test func A232_aWriterLeavesTheFounderMoreThanHalf() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let used = try await owner.ask(AccountRequest()).bytes
            let small = try await house.bench.anotherService {
                $0.quotas.bytes = Self.quota(leaving: 400_000, beside: used)
            }
            let founder = owner.at(small)
            let writer = try house.signer(house.writer).at(small)
            for number in UInt8(1)...2 {
                #expect(try await writer.reply(Self.put(number, 100_000, in: house)).status == 200)
            }
            #expect(try await writer.reply(Self.put(3, 100_000, in: house)).status == 507)
            #expect(try await writer.reply(Self.put(3, 1_000, in: house)).status == 507)
            #expect(try await founder.reply(try founder.founding()).status == 200)
            #expect(try await founder.reply(try await Self.epoch(in: house)).status == 200)
            #expect(try await founder.reply(Self.put(4, 150_000, in: house)).status == 200)
        }

        @Test func A232_aWriterLeavesTheOwnersEntries() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let count = try await house.state().entryCount
            // Two of what is left beside the tenth: one for the writer.
            let small = try await house.bench.anotherService { $0.quotas.entries = (count + 2) / 9 * 10 + 10 }
            let left = (count + 2) / 9 * 9 + 9 - count
            let writer = try house.signer(house.writer).at(small)
            var written: UInt64 = 0
            while try await writer.reply(try await house.request(.additive(.sample), by: house.writer)).status == 200 {
                written += 1
                try #require(written <= left)
            }
            #expect(written == left / 2)
            let more = try await house.request(.additive(.sample), by: house.owner)
            #expect(try await owner.at(small).reply(more).status == 200)
        }

        @Test func A232_noActOfAnOwnerIsRefusedForWhatOthersWrote() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let writer = try house.signer(house.writer)
            let (used, count) = (try await owner.ask(AccountRequest()).bytes, try await house.state().entryCount)
            #expect(try await writer.reply(Self.put(1, 250_000, in: house)).status == 200)
            for _ in 0..<3 {
                _ = try await writer.ask(try await house.request(.additive(.sample), by: house.writer))
            }
            // The quota was lowered: others have written more than it since.
            let small = try await house.bench.anotherService {
                $0.quotas.bytes = (used + 100_000) / 2
                $0.quotas.entries = count + 2
            }
            let founder = owner.at(small)
            #expect(try await founder.reply(Self.put(2, 10, in: house)).status == 507)
            let content = try await house.request(.additive(.sample), by: house.owner)
            #expect(try await founder.reply(content).status == 507)
            #expect(try await founder.reply(try await Self.epoch(in: house)).status == 200)
            #expect(try await founder.reply(try founder.founding()).status == 200)
            // But an owner's own writing has its limit.
            let smallest = try await house.bench.anotherService { $0.quotas.bytes = 1_000 }
            #expect(try await owner.at(smallest).reply(try await Self.epoch(in: house)).status == 507)
            let shortest = try await house.bench.anotherService { $0.quotas.entries = 1 }
            #expect(try await owner.at(shortest).reply(try await Self.epoch(in: house)).status == 507)
        }

        /// Bytes behind a tombstone count for the founder until they are gone, and for those who wrote them.
        @Test func A232_noActOfAnOwnerIsRefusedForWhatIsBeingDeleted() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let second = try await house.cast.tresor("second", of: house.owner, writers: [house.writer]).id
            let used = try await owner.ask(AccountRequest()).bytes
            let blob = PutBlobRequest(
                tresor: second, hash: .zero, part: 0, bytes: [UInt8](repeating: 1, count: 250_000))
            #expect(try await house.signer(house.writer).reply(blob).status == 200)
            #expect(try await owner.reply(DeleteTresorRequest(tresor: second)).status == 200)
            let small = try await house.bench.anotherService { $0.quotas.bytes = used + 100_000 }
            let founder = owner.at(small)
            #expect(try await founder.reply(Self.put(2, 10, in: house)).status == 507)
            #expect(try await founder.reply(try await Self.epoch(in: house)).status == 200)
            try await small.sweep()
            #expect(try await founder.reply(Self.put(2, 10, in: house)).status == 200)
        }

        @Test func A232_bodiesThatNobodyReadsAreFew() async throws {
            let house = try await Household(Bench())
            func request(_ count: Int, by author: Session) async throws -> AppendRequest {
                let body = AdditiveBody(type: 200, [UInt8](repeating: 1, count: count))
                return try await house.request(.additive(body), by: author)
            }
            func append(_ count: Int, by author: Session) async throws -> Int {
                try await house.signer(author).reply(try await request(count, by: author)).status
            }
            #expect(try await append(65_536, by: house.owner) == 507)
            for _ in 0..<16 { #expect(try await append(65_000, by: house.owner) == 200) }
            #expect(try await append(65_000, by: house.owner) == 507)
            #expect(try await append(65_000, by: house.writer) == 200)
            let next = try await request(65_000, by: house.owner)
            house.bench.clock.now += 86_400
            #expect(try await house.signer(house.owner).reply(next).status == 200)
        }

        /// Wraps count for who put them, while they are there. All that is counted for anybody is what counts for the
        /// founder.
        @Test func A232_wrapsCountForWhoPutThem() async throws {
            let house = try await Household(Bench())
            let reader = house.reader.user
            func counted(_ statement: SQL) async throws -> Int64 {
                try await house.bench.engine.read(statement).first?.integer(0) ?? 0
            }
            func bytesOfReader() async throws -> Int64 {
                try await counted(SQL("SELECT bytes FROM authors WHERE account = $1", [.digest(reader.digest)]))
            }
            try await FounderRoomTests.expectExact(house)
            let before = try await bytesOfReader()
            let wrap = try await house.junk(for: house.reader.chain)
            for _ in 0..<2 {
                let put = PutWrapsRequest(tresor: house.tresor, wraps: [wrap.bytes])
                #expect(try await house.signer(house.reader).reply(put).status == 200)
                #expect(try await bytesOfReader() == before + Int64(wrap.bytes.count))
            }
            try await FounderRoomTests.expectExact(house)
            try await house.owner.tresor(house.tresor).perform(.revoke([reader]))
            #expect(try await bytesOfReader() == before)
            try await FounderRoomTests.expectExact(house)
        }

        @Test func halfOfWhatIsLeftIsHalf() {
            #expect(Room.leavesHalf(45, beside: 0, of: 0, in: 100))
            #expect(!Room.leavesHalf(46, beside: 0, of: 0, in: 100))
            #expect(Room.leavesHalf(5, beside: 40, of: 40, in: 100))
            #expect(!Room.leavesHalf(6, beside: 40, of: 40, in: 100))
            #expect(Room.leavesHalf(22, beside: 0, of: 45, in: 100))
            #expect(!Room.leavesHalf(23, beside: 0, of: 45, in: 100))
            #expect(!Room.leavesHalf(0, beside: 0, of: 91, in: 100))
            #expect(!Room.leavesHalf(0, beside: .max, of: 1, in: .max))
        }

        @Test func A232_tombstonesCountInTheQuota() async throws {
            let bench = try await Bench(quotas: { $0.tresors = 2 })
            let anna = try await bench.person("anna")
            for _ in 0..<2 {
                let founding = try anna.founding()
                #expect(try await anna.reply(founding).status == 200)
                #expect(try await anna.reply(DeleteTresorRequest(tresor: founding.tresor)).status == 200)
            }
            #expect(try await anna.reply(try anna.founding()).status == 507)
            try await bench.service.sweep()
            let account = try await anna.ask(AccountRequest())
            #expect(account.tresors == 2 && account.bytes == 0)
        }

        @Test func aTresorIsErasedInParts() async throws {
            let house = try await Household(Bench())
            let engine = CountingEngine(house.bench.engine)
            let service = try Service(engine: engine, settings: house.bench.settings)
            let owner = try house.signer(house.owner).at(service)
            _ = try await house.bench.engine.write(
                (0..<UInt32(130)).map {
                    Blobs.storing([1], as: $0, of: .zero, by: house.owner.user, in: house.tresor)
                })
            let entries = try await house.bench.rows()[1]
            #expect(try await owner.reply(DeleteTresorRequest(tresor: house.tresor)).status == 200)
            // The answer waits for the tombstone alone, and a sweep is due.
            #expect(try await house.bench.rows()[1] == entries)
            service.shutDown()
            var dueCount = 0
            for await _ in service.dueSweeps { dueCount += 1 }
            #expect(dueCount == 1)
            let before = engine.count
            try await service.sweep()
            // Blobs alone go in three parts, and each table is looked at until nothing is left.
            #expect(engine.count - before > 12)
            try await expectErased(house)
        }

        @Test func aDeletionThatWasInterruptedIsEnded() async throws {
            let house = try await Household(Bench())
            _ = try await house.bench.engine.write([
                SQL("UPDATE tresors SET deleted = 1"), SQL("DELETE FROM access"),
                SQL("INSERT INTO deletions (tresor) VALUES ($1)", [.digest(house.tresor.digest)]),
            ])
            // Until the rest is gone, it takes room.
            #expect(try await house.signer(house.owner).ask(AccountRequest()).bytes > 0)
            try await house.bench.service.sweep()
            try await expectErased(house)
            #expect(try await house.signer(house.owner).ask(AccountRequest()).bytes == 0)
        }

        /// However many there are, one sweep after a start ends all of them.
        @Test func allDeletionsThatWereInterruptedAreEnded() async throws {
            let bench = try await Bench()
            _ = try await bench.engine.write(
                (UInt8(1)...33).map {
                    SQL("INSERT INTO deletions (tresor) VALUES ($1)", [.bytes([UInt8](repeating: $0, count: 32))])
                })
            try await bench.service.sweep()
            #expect(try await bench.rows()[13].isEmpty)
        }

        /// A deletion by another process at the same time looks like nothing, unless one waits for the other.
        @Test func whatLiesBehindATombstoneIsErasedByOneProcessAtATime() async throws {
            let house = try await Household(Bench())
            let engine = MeddlingEngine(house.bench.engine)
            let service = try Service(engine: engine, settings: house.bench.settings)
            _ = try await house.bench.engine.write(
                (0..<5).map { number in
                    SQL(
                        "INSERT INTO states (tresor, count, part, state) VALUES ($1, 1, $2, $3)",
                        [.digest(house.tresor.digest), .integer(Int64(number + 100)), .bytes([1])])
                })
            let owner = try house.signer(house.owner).at(service)
            #expect(try await owner.reply(DeleteTresorRequest(tresor: house.tresor)).status == 200)
            try await service.sweep()
            let texts = engine.takeTexts()
            for table in ["wraps", "blobs", "entries", "blob_names", "blob_orphans", "authors", "states"] {
                let places = texts.indices.filter { texts[$0].hasPrefix("DELETE FROM \(table) ") }
                #expect(!places.isEmpty, "\(table)")
                for place in places { #expect(texts[place - 1].hasPrefix("UPDATE deletions "), "\(table)") }
                // At least two portions, and a look at what is left.
                if table == "states" { #expect(places.count >= 3) }
            }
            try await expectErased(house)
        }

        /// One process is between two statements while another one sweeps.
        @Test(.longRun) func twoProcessesEraseOneTombstone() async throws {
            guard EngineKind.current == .postgres else { return }
            let house = try await Household(Bench())
            let (engine, tresor) = (house.bench.engine, SQLValue.digest(house.tresor.digest))
            _ = try await engine.write(
                (0..<UInt32(70)).map {
                    Blobs.storing([1], as: $0, of: .zero, by: house.owner.user, in: house.tresor)
                } + [
                    SQL("UPDATE tresors SET deleted = 1"), SQL("DELETE FROM access"),
                    SQL("INSERT INTO deletions (tresor) VALUES ($1)", [tresor]),
                ])
            let (isOpen, isSeen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let first = Task {
                try await engine.write { (transaction) throws(TresorError) in
                    _ = try transaction.run([
                        SQL("UPDATE deletions SET tresor = tresor WHERE tresor = $1", [tresor]),
                        SQL("DELETE FROM blobs WHERE tresor = $1 AND part < 64", [tresor]),
                    ])
                    isOpen.signal()
                    isSeen.wait()
                }
            }
            try await Cores.apart { isOpen.wait() }
            let other = try await house.bench.anotherService()
            let second = Task { try await other.sweep() }
            let waiting = SQL(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
            try await wait(looks: 100_000) { try await engine.read(waiting).first?.integer(0) != 0 }
            isSeen.signal()
            try await first.value
            try await second.value
            try await expectErased(house)
        }

        @Test func aStepOfASweepThatFailsEndsNoOther() async throws {
            let house = try await Household(Bench())
            let second = try await house.cast.tresor("second", of: house.owner).id
            let blob = PutBlobRequest(tresor: second, hash: .zero, part: 0, bytes: [1])
            #expect(try await house.signer(house.owner).reply(blob).status == 200)
            _ = try await house.bench.engine.write([
                SQL("UPDATE tresors SET deleted = 1 WHERE tresor = $1", [.digest(house.tresor.digest)]),
                SQL("INSERT INTO deletions (tresor) VALUES ($1)", [.digest(house.tresor.digest)]),
            ])
            house.bench.clock.now += Blobs.lapse + 1
            let engine = MeddlingEngine(house.bench.engine)
            let service = try Service(engine: engine, settings: house.bench.settings)
            // The first write of a sweep drops invitations and registrations.
            engine.behindNextRead([
                SQL("UPDATE tresors SET count = count WHERE tresor = $1", [.digest(.zero)]).orElse(.busy)
            ])
            await #expect(throws: TresorError.busy) { try await service.sweep() }
            let rows = try await house.bench.rows()
            for table in [9, 11, 13] { #expect(rows[table].isEmpty, "\(table)") }
            try await service.sweep()
        }

        private func expectErased(_ house: Household) async throws {
            let rows = try await house.bench.rows()
            #expect(rows[0].count == 1)
            for table in [1, 2, 3, 4, 9, 10, 11, 12, 13] { #expect(rows[table].isEmpty, "\(table)") }
            #expect(try await house.bench.engine.read(SQL("SELECT bytes FROM tresors")) == [SQLRow([0])])
        }
    }

    extension Signer {
        /// The same person, who asks another process.
        func at(_ service: Service) -> Signer {
            Signer(service: service, clock: clock, identity: identity, key: key)
        }
    }
#endif
