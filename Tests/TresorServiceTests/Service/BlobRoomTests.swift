// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The room of blobs: how much a part counts as, when it is given back, and how their parts are deleted.
    @Suite(.overEveryEngine) struct BlobRoomTests {
        private static func part(_ number: UInt32, of hash: Hash256 = .zero, in house: Household) -> PutBlobRequest {
            PutBlobRequest(tresor: house.tresor, hash: hash, part: number, bytes: [1])
        }

        /// A blob of so many parts of a byte that the writer has put. No request makes more than the last one short.
        static func putParts(_ count: UInt32, in house: Household) async throws {
            _ = try await house.signer(house.writer).ask(part(0, in: house))
            let (tresor, writer) = (SQLValue.digest(house.tresor.digest), house.writer.user)
            let room = SQLValue.integer(Int64(count - 1) * 512)
            let rows = (1..<count).map { Blobs.storing([1], as: $0, of: .zero, by: writer, in: house.tresor) }
            _ = try await house.bench.engine.write(
                rows + [
                    SQL("UPDATE tresors SET bytes = bytes + $2 WHERE tresor = $1", [tresor, room]),
                    SQL(
                        "UPDATE authors SET bytes = bytes + $2 WHERE tresor = $1 AND account = $3",
                        [tresor, room, .digest(writer.digest)]),
                ])
        }

        /// The bytes that the owner has used.
        private static func used(in house: Household) async throws -> UInt64 {
            try await house.signer(house.owner).ask(AccountRequest()).bytes
        }

        /// All that is counted for anybody in a tresor is what counts for its founder, and as much lies there.
        private static func expectExact(_ house: Household, at source: SourceLocation = #_sourceLocation) async throws {
            #expect(try await house.bench.service.check().isClean, sourceLocation: source)
            try await FounderRoomTests.expectExact(house, at: source)
        }

        @Test func A232_noBlobHasMorePartsThanTheLargest() async throws {
            let house = try await Household(Bench())
            let last: UInt32 = (1 << 22) - 1
            let before = try await house.bench.rows()
            for number in [last + 1, UInt32.max] {
                for person in [house.owner, house.writer] {
                    let reply = try await house.signer(person).reply(Self.part(number, in: house))
                    #expect(reply == .refused(.altered), "\(number)")
                }
                #expect(try await house.signer(house.reader).reply(Self.part(number, in: house)) == .forbidden)
            }
            #expect(try await house.bench.rows() == before)
            #expect(try await house.signer(house.writer).reply(Self.part(last, in: house)).status == 200)
        }

        @Test func A232_aPartCountsAs512BytesAtLeast() async throws {
            let house = try await Household(Bench())
            let writer = try house.signer(house.writer)
            let before = try await Self.used(in: house)
            let hashes = try (UInt8(0)..<3).map { try #require(Hash256([UInt8](repeating: $0, count: 32))) }
            for hash in hashes { _ = try await writer.ask(Self.part(0, of: hash, in: house)) }
            #expect(try await Self.used(in: house) == before + 3 * 512)
            // A part in place of another takes no more.
            _ = try await writer.ask(Self.part(0, of: hashes[1], in: house))
            #expect(try await Self.used(in: house) == before + 3 * 512)
            try await Self.expectExact(house)
            let deletion = DeleteBlobsRequest(tresor: house.tresor, hashes: hashes)
            _ = try await house.signer(house.owner).ask(deletion)
            #expect(try await Self.used(in: house) == before)
            try await Self.expectExact(house)
        }

        /// Many short parts would be many rows, which each request about the blob reads.
        @Test func A231_onlyTheLastPartOfABlobIsShort() async throws {
            let house = try await Household(Bench())
            let writer = try house.signer(house.writer)
            func put(_ number: UInt32, _ count: Int) async throws -> ServiceReply {
                try await writer.reply(
                    PutBlobRequest(
                        tresor: house.tresor, hash: .zero, part: number, bytes: [UInt8](repeating: 1, count: count)))
            }
            let whole = StoredBlob.partByteCount
            #expect(try await put(3, 5).status == 200)
            let before = try await house.bench.rows()
            for (number, count) in [(UInt32(4), whole), (4, 5), (2, whole - 1), (0, 1)] {
                #expect(try await put(number, count) == .refused(.altered), "part \(number) of \(count)")
            }
            #expect(try await house.bench.rows() == before)
            // In any order, and again, and longer than it was.
            for (number, count) in [(UInt32(0), whole), (3, 6), (2, whole), (3, whole), (4, 1), (1, whole)] {
                #expect(try await put(number, count).status == 200, "part \(number) of \(count)")
            }
            #expect(try await put(3, 6) == .refused(.altered))
            try await Self.expectExact(house)
        }

        /// A client may have put blobs before it sends them with their entry, and so may somebody else.
        @Test func blobsThatComeWithAnEntryCountOnce() async throws {
            let house = try await Household(Bench())
            let writer = try house.signer(house.writer)
            let commit = try await BlobTests.Commit(in: house, by: house.writer)
            let before = try await Self.used(in: house)
            _ = try await house.signer(house.owner).ask(
                PutBlobRequest(
                    tresor: house.tresor, hash: commit.pack.hash, part: 0, bytes: commit.pack.bytes ?? []))
            for (number, bytes) in commit.parts.enumerated() {
                _ = try await writer.ask(
                    PutBlobRequest(
                        tresor: house.tresor, hash: commit.attachment.hash, part: UInt32(number), bytes: bytes))
            }
            let put = try await Self.used(in: house)
            #expect(put == before + 700 + UInt64(StoredBlob.partByteCount) + 512)
            #expect(try await writer.ask(commit.request).outcome == .done)
            #expect(try await Self.used(in: house) == put + UInt64(commit.request.entry.count))
            try await Self.expectExact(house)
        }

        /// However many parts there are, no transaction deletes all of them.
        @Test func A231_blobsAreDeletedInPortions() async throws {
            let house = try await Household(Bench())
            let engine = MeddlingEngine(house.bench.engine)
            let service = try Service(engine: engine, settings: house.bench.settings)
            let before = try await Self.used(in: house)
            func put() async throws {
                try await Self.putParts(130, in: house)
                _ = engine.takeTexts()
            }
            func expectPortions(at source: SourceLocation = #_sourceLocation) async throws {
                let deletions = engine.takeTexts().filter { $0.hasPrefix("DELETE FROM blobs ") }
                #expect(deletions.count == 3, sourceLocation: source)
                let rows = try await house.bench.rows()
                for table in [9, 10, 11] { #expect(rows[table].isEmpty, "\(table)", sourceLocation: source) }
                #expect(try await Self.used(in: house) == before, sourceLocation: source)
                try await Self.expectExact(house, at: source)
            }
            try await put()
            let deletion = DeleteBlobsRequest(tresor: house.tresor, hashes: [.zero])
            _ = try await house.signer(house.owner).at(service).ask(deletion)
            try await expectPortions()
            try await put()
            house.bench.clock.now += Blobs.lapse + 1
            try await service.sweep()
            try await expectPortions()
        }

        /// No client waits for a slow disk: an owner's entry has the room at once, and another blob once it is erased.
        @Test func aDeletionOfBlobsIsAnsweredInItsTime() async throws {
            let house = try await Household(Bench())
            let (engine, clock) = (MeddlingEngine(house.bench.engine), house.bench.clock)
            let before = try await Self.used(in: house)
            try await Self.putParts(130, in: house)
            var settings = house.bench.settings
            settings.quotas.bytes = before + 40_000
            let (start, time) = (ContinuousClock.now, clock.now)
            settings.steadyClock = { start + .seconds(Int(clock.now - time)) }
            let service = try Service(engine: engine, settings: settings)
            let owner = try house.signer(house.owner).at(service)
            engine.beforeNextWrite { engine.beforeNextWrite { clock.now += 10 } }
            _ = try await owner.ask(DeleteBlobsRequest(tresor: house.tresor, hashes: [.zero]))
            #expect(try await house.bench.rows()[9].count == 130 - 64)
            #expect(try await Self.used(in: house) == before)
            let other = PutBlobRequest(
                tresor: house.tresor, hash: try #require(Hash256([UInt8](repeating: 1, count: 32))), part: 0,
                bytes: [UInt8](repeating: 1, count: Int(before) + 55_000))
            #expect(try await owner.reply(other).status == 507)
            #expect(try await owner.reply(try await ReserveTests.commit(10_000, in: house)).status == 200)
            try await service.sweep()
            #expect(try await owner.reply(other).status == 200)
            try await Self.expectExact(house)
            service.shutDown()
            var dueCount = 0
            for await _ in service.dueSweeps { dueCount += 1 }
            #expect(dueCount == 1)
        }

        /// Who deletes to make room has it with the answer, however many portions that takes.
        @Test func aDeletionOfBlobsEndsBeforeItsAnswer() async throws {
            let house = try await Household(Bench())
            let before = try await Self.used(in: house)
            try await Self.putParts(5, in: house)
            let hashes = [try #require(Hash256([UInt8](repeating: 1, count: 32))), .zero]
            let request = DeleteBlobsRequest(tresor: house.tresor, hashes: hashes)
            let statement = try RequestStatement(
                session: .zero, id: try randomBytes(16), time: house.bench.clock.now, operation: .deleteBlobs,
                body: request.bytes)
            let writer = house.writer.user
            let caller = TresorService.Caller(
                user: writer, device: nil, account: nil, chain: nil, request: RequestKey(statement, of: writer))
            let context = try ServiceContext(engine: house.bench.engine, settings: house.bench.settings)
            _ = try await Blobs(context: context, portionCount: 2).delete(request, by: caller)
            #expect(try await house.bench.rows()[9].isEmpty)
            #expect(try await Self.used(in: house) == before)
            try await Self.expectExact(house)
        }

        /// The owner is told *done* once nothing names the blobs, and the sweep ends what failed behind that.
        @Test func aDeletionOfBlobsThatFailsIsEndedByTheSweep() async throws {
            let house = try await Household(Bench())
            let engine = MeddlingEngine(house.bench.engine)
            let service = try Service(engine: engine, settings: house.bench.settings)
            let owner = try house.signer(house.owner).at(service)
            _ = try await owner.ask(Self.part(0, in: house))
            let failing = SQL("UPDATE tresors SET count = count WHERE tresor = $1", [.digest(.zero)]).orElse(.busy)
            engine.beforeNextWrite { engine.beforeNextWrite { engine.behindNextRead([failing]) } }
            let deletion = DeleteBlobsRequest(tresor: house.tresor, hashes: [.zero])
            #expect(try await owner.reply(deletion).status == 200)
            let wanted = BlobsRequest(tresor: house.tresor, hashes: [.zero])
            #expect(try await owner.ask(wanted).blobs == [[1]])
            try await service.sweep()
            #expect(try await owner.ask(wanted).blobs == [[]])
            try await Self.expectExact(house)
            service.shutDown()
            var dueCount = 0
            for await _ in service.dueSweeps { dueCount += 1 }
            #expect(dueCount == 1)
        }

        /// Blobs that an owner deleted go with the next sweep, but for those that were put again.
        @Test func aDeletionOfBlobsThatWasInterruptedIsEnded() async throws {
            let house = try await Household(Bench())
            let writer = try house.signer(house.writer)
            let other = try #require(Hash256([UInt8](repeating: 1, count: 32)))
            for hash in [Hash256.zero, other] { _ = try await writer.ask(Self.part(0, of: hash, in: house)) }
            _ = try await house.bench.engine.write([SQL("UPDATE blob_orphans SET time = -1")])
            _ = try await writer.ask(Self.part(0, in: house))
            try await house.bench.service.sweep()
            let wanted = BlobsRequest(tresor: house.tresor, hashes: [.zero, other])
            #expect(try await writer.ask(wanted).blobs == [[1], []])
            try await Self.expectExact(house)
        }
    }
#endif
