// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// What frees room has some where a quota is used up (SPEC §18.7).
    @Suite(.overEveryEngine) struct ReserveTests {
        private static func hash(_ number: UInt8) throws -> Hash256 {
            try #require(Hash256([UInt8](repeating: number, count: 32)))
        }

        /// A commit of one pack.
        static func commit(_ byteCount: Int, in house: Household) async throws -> AppendRequest {
            let bytes = try randomBytes(byteCount)
            let pack = try Blob(of: bytes)
            let epoch = try await house.state().epoch
            return try await house.request(
                .commit(CommitBody(epoch: epoch, blobs: [pack])), by: house.owner
            ).with(blobs: [StoredBlob(hash: pack.hash, size: pack.size, bytes: bytes)])
        }

        @Test func anOwnerFreesRoomWhereNoneIsLeft() async throws {
            let house = try await Household(Bench())
            // Nobody reads from now on, so that a checkpoint is not void.
            try await house.owner.tresor(house.tresor).perform(.revoke([house.newcomer.user]))
            let owner = try house.signer(house.owner)
            let first = try await BlobTests.Commit(in: house, by: house.owner)
            #expect(try await owner.ask(first.request).outcome == .done)
            let used = try await owner.ask(AccountRequest()).bytes
            let full = try await house.bench.anotherService { $0.quotas.bytes = used }
            let founder = owner.at(full)
            #expect(try await founder.reply(try await Self.commit(10_000, in: house)).status == 507)
            // A small commit, as one that deletes records is. They have a sixteenth of the quota.
            var written = 0
            while try await founder.reply(try await Self.commit(3_000, in: house)).status == 200 {
                written += 1
                try #require(written < 10)
            }
            #expect(written > 1)
            // A volume beside what it replaces, once.
            let volume = try randomBytes(StoredBlob.partByteCount - 30_000)
            let named = try Blob(of: volume)
            func put(_ hash: Hash256) async throws -> Int {
                try await founder.reply(
                    PutBlobRequest(tresor: house.tresor, hash: hash, part: 0, bytes: volume)
                ).status
            }
            #expect(try await put(named.hash) == 200)
            #expect(try await put(Self.hash(1)) == 507)
            let state = try await house.state()
            let checkpoint = try await house.request(
                .checkpoint(CheckpointBody(upto: state.head.sequence, epoch: state.epoch, volumes: [named])),
                by: house.owner
            ).with(blobs: [StoredBlob(hash: named.hash, size: named.size, bytes: nil)])
            #expect(try await founder.ask(checkpoint).outcome == .done)
            let replaced = DeleteBlobsRequest(
                tresor: house.tresor, hashes: [first.pack.hash, first.attachment.hash])
            #expect(try await founder.reply(replaced).status == 200)
            #expect(try await owner.ask(AccountRequest()).bytes < used)
            #expect(try await house.bench.service.check().isClean)
        }

        /// All blobs of a tresor are deleted, and the sweep that erases them is not there yet.
        private static func deleteBlobs(in house: Household) async throws {
            _ = try await house.bench.engine.write([
                SQL(
                    """
                    INSERT INTO blob_orphans (tresor, hash, time) SELECT tresor, hash, -1 FROM blob_names WHERE true
                    ON CONFLICT (tresor, hash) DO NOTHING
                    """),
                SQL("DELETE FROM blob_names"), SQL("UPDATE blob_orphans SET time = -1"),
            ])
        }

        private static func lying(in house: Household) async throws -> UInt64 {
            let sums = try await house.bench.engine.read(UsageCache.search(house.owner.user))
            return try Usage(sums).bytes
        }

        /// An owner writes and deletes faster than a service erases, 20 times or until it refuses.
        static func writeAndDelete(
            in house: Household
        ) async throws -> (count: Int, quota: UInt64, service: Service) {
            let quota = try await lying(in: house) + 100_000
            let service = try await house.bench.anotherService { $0.quotas.bytes = quota }
            let owner = try house.signer(house.owner).at(service)
            var count = 0
            while count < 20, try await owner.reply(try await commit(50_000, in: house)).status == 200 {
                count += 1
                try await deleteBlobs(in: house)
            }
            return (count, quota, service)
        }

        @Test func A231_deletedBlobsMakeNoRoomBeyondASecondQuota() async throws {
            let house = try await Household(Bench())
            let (count, quota, service) = try await Self.writeAndDelete(in: house)
            #expect(count > 2 && count < 20)
            #expect(try await Self.lying(in: house) <= 2 * quota)
            try await service.sweep()
            let owner = try house.signer(house.owner).at(service)
            #expect(try await owner.reply(try await Self.commit(50_000, in: house)).status == 200)
        }

        /// An owner who changes keys does not wait for the sweep, unless more than a quota is to be erased.
        @Test func A232_noActOfAnOwnerIsRefusedForBlobsThatAreDeleted() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let quota = (try await Self.lying(in: house) + 100_000) / 2
            let small = try await house.bench.anotherService { $0.quotas.bytes = quota }
            func put(_ number: UInt8, _ count: Int) async throws {
                let bytes = [UInt8](repeating: number, count: count)
                _ = try await owner.ask(
                    PutBlobRequest(tresor: house.tresor, hash: try Self.hash(number), part: 0, bytes: bytes))
            }
            func act() async throws -> Int {
                let (epoch, wraps) = try await house.epoch()
                let request = try await house.request(.epoch(EpochBody(epoch)), by: house.owner, wraps: wraps)
                return try await owner.at(small).reply(request).status
            }
            try await put(1, 110_000)
            #expect(try await act() == 507)
            try await Self.deleteBlobs(in: house)
            #expect(try await act() == 200)
            for number in UInt8(2)...5 { try await put(number, 250_000) }
            try await Self.deleteBlobs(in: house)
            #expect(try await act() == 507)
            try await small.sweep()
            #expect(try await act() == 200)
        }

        /// Blobs that are put and deleted between two readings do not count in one of them alone.
        @Test func A232_roomIsJudgedByOneReading() async throws {
            let house = try await Household(Bench())
            let (tresor, user) = (house.tresor, house.owner.user)
            let key = [SQLValue.digest(tresor.digest), .digest(.zero)]
            let meanwhile = [
                Blobs.storing([UInt8](repeating: 1, count: 2_000), as: 0, of: .zero, by: user, in: tresor),
                SQL("UPDATE tresors SET bytes = bytes + 2000 WHERE tresor = $1", [key[0]]),
                SQL("INSERT INTO blob_orphans (tresor, hash, time) VALUES ($1, $2, -1)", key),
            ]
            let count = try await house.state().entryCount
            var changed = house.bench.settings
            changed.quotas.bytes = try await Self.lying(in: house) + 1_000
            let settings = changed
            func check(_ byteCount: UInt64, behindFirst statements: [SQL] = []) async throws {
                let engine = ReadBehindEngine(house.bench.engine, statements)
                try await Room(context: ServiceContext(engine: engine, settings: settings)).check(
                    Demand(
                        tresor: tresor, founder: user, author: user, right: .owner, entryCount: count,
                        bytes: byteCount))
            }
            await #expect(throws: TresorError.failed(.full)) { try await check(2_000, behindFirst: meanwhile) }
            try await check(500)
        }

        /// Who sees and reads a tresor changes also where no room is left.
        @Test func anOwnerSharesAndRevokesWhereNoRoomIsLeft() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let used = try await owner.ask(AccountRequest()).bytes
            func act(_ byteCount: UInt64) async throws -> Int {
                let service = try await house.bench.anotherService { $0.quotas.bytes = byteCount }
                let (epoch, wraps) = try await house.epoch()
                let request = try await house.request(.epoch(EpochBody(epoch)), by: house.owner, wraps: wraps)
                return try await owner.at(service).reply(request).status
            }
            #expect(try await act(used / 4) == 507)
            #expect(try await act(used - 1) == 200)
        }

        /// A writer gives back what was refused later, and takes nothing from anybody.
        @Test func A128_aWriterDeletesWhatTheyAlonePutAndNoEntryNames() async throws {
            let house = try await Household(Bench())
            let (owner, writer) = (try house.signer(house.owner), try house.signer(house.writer))
            let commit = try await BlobTests.Commit(in: house, by: house.writer)
            #expect(try await writer.ask(commit.request).outcome == .done)
            let used = try await owner.ask(AccountRequest()).bytes
            let whole = [UInt8](repeating: 1, count: StoredBlob.partByteCount)
            for (signer, number, part, bytes) in [
                (writer, 1, 0, whole), (writer, 1, 1, [1]), (writer, 2, 0, whole), (owner, 2, 1, [1]),
                (owner, 3, 0, [1]),
            ] as [(Signer, UInt8, UInt32, [UInt8])] {
                _ = try await signer.ask(
                    PutBlobRequest(tresor: house.tresor, hash: try Self.hash(number), part: part, bytes: bytes))
            }
            func delete(_ hashes: Hash256...) async throws -> ServiceReply {
                try await writer.reply(DeleteBlobsRequest(tresor: house.tresor, hashes: hashes))
            }
            let before = try await house.bench.rows()
            for other in [try Self.hash(2), try Self.hash(3), commit.pack.hash] {
                #expect(try await delete(Self.hash(1), other) == .forbidden, "\(other)")
            }
            #expect(try await house.bench.rows() == before)
            // What was never put keeps nothing back.
            #expect(try await delete(Self.hash(4), Self.hash(1)).status == 200)
            let rest = UInt64(StoredBlob.partByteCount + 512 + 512)
            #expect(try await owner.ask(AccountRequest()).bytes == used + rest)
            try await FounderRoomTests.expectExact(house)
        }
    }

    /// An engine behind whose first reading somebody else commits statements.
    private final class ReadBehindEngine: SQLEngine {
        private let engine: any SQLEngine
        private let statements: Mutex<[SQL]>

        init(_ engine: any SQLEngine, _ statements: [SQL]) {
            self.engine = engine
            self.statements = Mutex(statements)
        }

        var dialect: SQLDialect { engine.dialect }

        func write<Value: Sendable>(
            erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value { try await engine.write(erasing: erasing, body) }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value {
            let value = try await engine.read(body)
            let now = statements.withLock { statements in
                defer { statements = [] }
                return statements
            }
            if !now.isEmpty { _ = try await engine.write(now) }
            return value
        }

        func notify(_ hint: [UInt8]) { engine.notify(hint) }
        func hints() -> AsyncStream<[UInt8]> { engine.hints() }
        func close() async { await engine.close() }
    }
#endif
