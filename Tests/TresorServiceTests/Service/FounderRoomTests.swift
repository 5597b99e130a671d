// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The bytes of a founder are what is left of a tresor beside those that others wrote.
    @Suite(.overEveryEngine) struct FounderRoomTests {
        private struct Part: Hashable {
            var entries: UInt64 = 0
            var bytes: UInt64 = 0
        }

        /// The bytes in the one tresor of a database, by who wrote or put them.
        private static func lying(in house: Household) async throws -> [UserID: Part] {
            let rows = try await house.bench.rows()
            var parts: [UserID: Part] = [:]
            for row in rows[1] {
                let bytes = try row.bytes(2)
                let author = try Entry(bytes).author
                parts[author, default: Part()].entries += 1
                parts[author, default: Part()].bytes += UInt64(bytes.count)
            }
            for row in rows[2] {
                parts[UserID(try row.digest(3)), default: Part()].bytes += UInt64(try row.bytes(5).count)
            }
            for row in rows[9] {
                let room = Blobs.room(ofPart: try row.bytes(3).count)
                parts[UserID(try row.digest(4)), default: Part()].bytes += UInt64(room)
            }
            return parts
        }

        /// As much is counted for each person as lies there, and for the others the rest.
        static func expectExact(_ house: Household, at source: SourceLocation = #_sourceLocation) async throws {
            let parts = try await lying(in: house)
            let count = parts.values.reduce(0) { $0 + $1.entries }
            let bytes = parts.values.reduce(0) { $0 + $1.bytes }
            let sizes = try await house.bench.engine.read(SQL("SELECT bytes FROM tresors"))
            #expect(sizes == [SQLRow([.number(bytes)])], sourceLocation: source)
            let context = try ServiceContext(engine: house.bench.engine, settings: house.bench.settings)
            for person in [house.owner, house.writer, house.reader, house.newcomer] {
                let own = parts[person.user] ?? Part()
                let written = try await Room(context: context).written(
                    Demand(
                        tresor: house.tresor, founder: house.owner.user, author: person.user, right: .other,
                        entryCount: count, bytes: 0))
                #expect(Part(entries: written.entries, bytes: written.bytes) == own, sourceLocation: source)
                let others = Part(entries: written.othersEntries, bytes: written.othersBytes)
                #expect(
                    others == Part(entries: count - own.entries, bytes: bytes - own.bytes), sourceLocation: source)
            }
        }

        /// No row of *authors* changes with an entry of the founder.
        @Test func A232_whatTheFounderWroteIsWhatIsLeft() async throws {
            let house = try await Household(Bench())
            try await Self.expectExact(house)
            let before = try await house.bench.rows()[12]
            try await house.owner.tresor(house.tresor).perform(.rename(try Name(typed: "care"), kind: nil))
            #expect(try await house.bench.rows()[12] == before)
            try await Self.expectExact(house)
            for author in [house.writer, house.owner] {
                let request = try await house.request(.additive(.sample), by: author)
                #expect(try await house.signer(author).ask(request).outcome == .done)
                try await Self.expectExact(house)
            }
            let hash = try #require(Hash256([UInt8](repeating: 1, count: 32)))
            for person in [house.owner, house.writer] {
                let put = PutBlobRequest(tresor: house.tresor, hash: hash, part: 0, bytes: [1])
                #expect(try await house.signer(person).reply(put).status == 200)
                try await Self.expectExact(house)
            }
            try await house.owner.tresor(house.tresor).perform(.revoke([house.writer.user]))
            try await Self.expectExact(house)
        }

        /// An owner who did not found the tresor acts, whatever the founder wrote.
        @Test func A232_noActOfAnotherOwnerIsRefusedForWhatTheFounderWrote() async throws {
            let house = try await Household(Bench())
            try await house.owner.tresor(house.tresor).perform(
                .share(with: [house.writer.chain], role: .owner, fromNow: false, notAfter: nil))
            let second = house.writer
            let used = try await house.signer(house.owner).ask(AccountRequest()).bytes
            let blob = PutBlobRequest(
                tresor: house.tresor, hash: .zero, part: 0, bytes: [UInt8](repeating: 1, count: 200_000))
            #expect(try await house.signer(house.owner).reply(blob).status == 200)
            let count = try await house.state().entryCount
            let small = try await house.bench.anotherService {
                $0.quotas.bytes = used + 100_000
                $0.quotas.entries = count - 1
            }
            let signer = try house.signer(second).at(small)
            let content = try await house.request(.additive(.sample), by: second)
            #expect(try await signer.reply(content).status == 507)
            let (epoch, wraps) = try await house.epoch()
            let act = try await house.request(.epoch(EpochBody(epoch)), by: second, wraps: wraps)
            #expect(try await signer.reply(act).status == 200)
            // But that owner's own writing has its limit.
            let smallest = try await house.bench.anotherService { $0.quotas.bytes = 1_000 }
            let (last, more) = try await house.epoch()
            let refused = try await house.request(.epoch(EpochBody(last)), by: second, wraps: more)
            #expect(try await house.signer(second).at(smallest).reply(refused).status == 507)
        }
    }
#endif
