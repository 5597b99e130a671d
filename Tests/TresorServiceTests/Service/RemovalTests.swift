// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// A log with a removal, and a service whose database is older than that.
    struct RestoredHousehold {
        let house: Household
        /// The requests that made the log. The last one removed somebody.
        let requests: [AppendRequest]
        let bench: Bench
        /// The file of revocations.
        let revocations: [Revocation]
        /// A process that has read it at its start.
        let service: Service

        /// - Parameters:
        ///   - count: the number of entries that the backup has.
        ///   - seconds: the time from the removal to the start of that process.
        ///   - extend: makes the log longer, and returns what did not go through the store of the household.
        init(
            to count: Int, after seconds: UInt64 = RequestStatement.maximumLead + 1,
            extending extend: (Household) async throws -> [AppendRequest] = { _ in [] }
        ) async throws {
            house = try await Household(Bench())
            let further = try await extend(house)
            requests = (house.store.appends + further).sorted { $0.sequence < $1.sequence }
            // The removal is written down where it is made.
            let noted = NotedRevocations()
            let before = try await Bench()
            let noting = try await before.anotherService { $0.revocations = noted }
            let owner = try await Self.register(house.owner, at: before).at(noting)
            for request in requests { _ = try await owner.ask(request) }
            bench = try await Bench()
            service = try await bench.anotherService()
            let founder = try await Self.register(house.owner, at: bench)
            for request in requests.prefix(count) { _ = try await founder.ask(request) }
            bench.clock.now += seconds
            revocations = noted.list
            try await service.apply(revocations)
        }

        private static func register(_ session: Session, at bench: Bench) async throws -> Signer {
            let signer = try bench.signer(session.identity)
            if try await signer.ask(signer.registration()).state == .asked {
                _ = try await signer.ask(try signer.finishing())
            }
            return signer
        }

        func signer(_ session: Session) async throws -> Signer {
            try await Self.register(session, at: bench).at(service)
        }

        /// A request to append an entry that somebody signs now, behind so many others.
        func request(
            _ body: EntryBody, by author: Session, behind count: Int, wraps: [[UInt8]] = [], removing: [UserID] = [],
            dated time: UInt64? = nil
        ) throws -> AppendRequest {
            let previous = try Entry(requests[count - 1].entry).hash()
            let entry = try Entry(
                tresor: house.tresor, sequence: UInt64(count), previous: previous, author: author.identity,
                time: time ?? bench.clock.now, body: body)
            return AppendRequest(
                tresor: house.tresor, sequence: entry.sequence, previous: previous, entry: entry.bytes, wraps: wraps,
                removing: removing)
        }

        /// An entry that the writer of a household signs and sends.
        static func write(in house: Household, dated time: UInt64) async throws -> AppendRequest {
            let entry = try await house.entry(.additive(.sample), by: house.writer, time: time)
            let request = AppendRequest(
                tresor: house.tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, wraps: [],
                removing: [])
            _ = try await house.signer(house.writer).ask(request)
            return request
        }

        /// A reply to an entry that somebody signs now.
        func reply(_ body: EntryBody, by author: Session, behind count: Int) async throws -> ServiceReply {
            try await signer(author).reply(try request(body, by: author, behind: count))
        }
    }

    extension ServiceReply {
        /// The refusal of an entry in the place of a removal.
        fileprivate static let behind = ServiceReply(Refusal(.store(.behind)))
        fileprivate static let done = ServiceReply(OutcomeAnswer(.done))
    }

    /// Removals, in a database that comes from a backup.
    @Suite(.overEveryEngine) struct RemovalTests {
        private let sample = EntryBody.additive(.sample)

        /// Whoever writes first after a restore does not decide: the owner's home restores the log.
        @Test func A237_aRemovalIsRestoredBeforeAnybodyWrites() async throws {
            let restored = try await RestoredHousehold(to: 3)
            let (house, requests) = (restored.house, restored.requests)
            let last = requests.count - 1
            #expect(last == 4)
            // The end of a log that this process knows makes no difference.
            for _ in 0..<2 {
                #expect(try await restored.reply(sample, by: house.writer, behind: 3) == .behind)
                #expect(try await restored.reply(sample, by: house.owner, behind: 3) == .behind)
            }
            let owner = try await restored.signer(house.owner)
            #expect(try await owner.ask(requests[3]).outcome == .done)
            for author in [house.writer, house.owner] {
                #expect(try await restored.reply(sample, by: author, behind: last) == .behind)
            }
            #expect(try await owner.ask(requests[4]).outcome == .done)
            #expect(try await restored.reply(sample, by: house.writer, behind: last + 1) == .done)
            #expect(try await restored.service.check().isClean)
        }

        /// Others restore what they have not signed, and nothing else ends where the removal was.
        @Test func A237_anyMemberRestoresARemoval() async throws {
            let restored = try await RestoredHousehold(to: 3)
            let (house, requests) = (restored.house, restored.requests)
            let writer = try await restored.signer(house.writer)
            #expect(try await writer.ask(requests[3].with(wraps: [])).outcome == .done)
            // The person who was removed does not take its place by leaving.
            let leave = try restored.request(
                .leave, by: house.removed, behind: 4, removing: [house.removed.user])
            #expect(try await restored.signer(house.removed).reply(leave) == .behind)
            #expect(try await writer.ask(requests[4].with(wraps: [])).outcome == .done)
            #expect(try await restored.reply(sample, by: house.writer, behind: 5) == .done)
        }

        /// The author of an entry may be the only one who remembers it. The clock of the author may have been ahead, and a
        /// log that was imported may have any time.
        @Test(arguments: [0, RequestStatement.maximumLead, 10 * 366 * 86_400] as [UInt64])
        func aWriterAloneRemembers(lead: UInt64) async throws {
            let restored = try await RestoredHousehold(to: 5) { house in
                let written = try await RestoredHousehold.write(
                    in: house, dated: house.bench.clock.now + lead)
                try await house.owner.tresor(house.tresor).perform(.revoke([house.reader.user]))
                return [written]
            }
            let (house, requests) = (restored.house, restored.requests)
            #expect(requests.count == 7)
            #expect(try await restored.reply(sample, by: house.writer, behind: 5) == .behind)
            let writer = try await restored.signer(house.writer)
            #expect(try await writer.ask(requests[5]).outcome == .done)
            #expect(try await writer.ask(requests[6].with(wraps: [])).outcome == .done)
            #expect(try await restored.reply(sample, by: house.writer, behind: 7) == .done)
        }

        /// The clock of an author was ahead, or somebody who was about to be removed dated their last entry into the future:
        /// others bring the log back all the same.
        @Test(arguments: [600, 86_400] as [UInt64])
        func A237_noTimeOfAnEntryKeepsOthersFromARestore(lead: UInt64) async throws {
            let restored = try await RestoredHousehold(to: 5, after: 2 * 86_400) { house in
                let written = try await RestoredHousehold.write(in: house, dated: house.bench.clock.now + lead)
                house.bench.clock.now += 60
                try await house.owner.tresor(house.tresor).perform(.revoke([house.writer.user]))
                return [written]
            }
            let owner = try await restored.signer(restored.house.owner)
            for request in restored.requests[5...] { #expect(try await owner.ask(request).outcome == .done) }
            #expect(try await restored.reply(sample, by: restored.house.owner, behind: 7) == .done)
        }

        @Test func somebodyWhoLeftRestoresThat() async throws {
            let restored = try await RestoredHousehold(to: 5) { house in
                let written = try await RestoredHousehold.write(in: house, dated: house.bench.clock.now)
                try await house.writer.tresor(house.tresor).perform(.leave)
                return [written]
            }
            let writer = try await restored.signer(restored.house.writer)
            for request in restored.requests[5...] { #expect(try await writer.ask(request).outcome == .done) }
            #expect(try await restored.reply(sample, by: restored.house.owner, behind: 7) == .done)
        }

        /// A restore may follow the removal at once.
        @Test(arguments: [0, 10] as [UInt64]) func A237_whatIsSignedBehindTheStartIsNotOld(seconds: UInt64) async throws
        {
            let restored = try await RestoredHousehold(to: 3, after: seconds)
            for author in [restored.house.writer, restored.house.owner] {
                #expect(try await restored.reply(sample, by: author, behind: 3) == .behind)
            }
        }

        @Test func A237_thePersonWhoWasRemovedTakesNoPlace() async throws {
            let restored = try await RestoredHousehold(to: 3)
            let (house, requests) = (restored.house, restored.requests)
            let (removed, accomplice) = (
                try await restored.signer(house.removed), try await restored.signer(house.reader)
            )
            func leave(behind count: Int, dated time: UInt64? = nil) throws -> AppendRequest {
                try restored.request(
                    .leave, by: house.removed, behind: count, removing: [house.removed.user], dated: time)
            }
            #expect(try await removed.reply(leave(behind: 3, dated: house.bench.clock.now)) == .behind)
            #expect(try await accomplice.ask(requests[3].with(wraps: [])).outcome == .done)
            // It is not the owner's act that ended their access.
            #expect(try await accomplice.reply(leave(behind: 4)) == .behind)
            #expect(try await accomplice.ask(requests[4].with(wraps: [])).outcome == .done)
        }

        /// The record of a removal may be there without its entry, as when a process was killed. An owner repeats it.
        @Test func anOwnerRemovesTheSamePeopleAgain() async throws {
            let restored = try await RestoredHousehold(to: 4)
            let house = restored.house
            let owner = try await restored.signer(house.owner)
            let body = try Entry(restored.requests[4].entry).body
            guard case .remove(let removal) = body else { throw TresorError.altered }
            func remove(_ people: [UserID]) throws -> AppendRequest {
                let kept = restored.requests[4].wraps.filter { bytes in
                    (try? UnverifiedWrap(bytes)).map { !people.contains($0.user) } ?? false
                }
                return try restored.request(
                    .remove(RemoveBody(users: people.sorted(), epoch: removal.epoch)), by: house.owner, behind: 4,
                    wraps: kept, removing: people.sorted())
            }
            #expect(try await owner.reply(remove([house.removed.user, house.reader.user])) == .behind)
            #expect(try await owner.ask(remove([house.removed.user])).outcome == .done)
            #expect(try await restored.service.check().isClean)
        }

        /// A removal that was written down and failed keeps no place from the entry that came instead.
        @Test func A237_anotherEntryTakesThePlaceOfARemovalThatFailed() async throws {
            let bench = try await Bench()
            let house = try await Household(bench)
            let (engine, noted) = (FailingEngine(bench.engine), NotedRevocations())
            var settings = bench.settings
            settings.revocations = noted
            let service = try Service(engine: engine, settings: settings)
            defer { service.shutDown() }
            let reader = try house.signer(house.reader).at(service)
            let leave = try await house.request(.leave, by: house.reader, removing: [house.reader.user])
            engine.failEnds(.store(.inputOutput), count: .max)
            _ = try await reader.reply(leave)
            let written = try await house.request(sample, by: house.writer)
            // The database is then as a backup has it.
            _ = try await house.signer(house.writer).at(service).reply(written)
            #expect(noted.list.count == 2)
            bench.clock.now += 600
            let next = try await bench.anotherService()
            try await next.apply(noted.list)
            let late = try await house.request(sample, by: house.writer)
            #expect(try await house.signer(house.writer).at(next).reply(late) == .behind)
            #expect(try await house.signer(house.writer).at(next).ask(written).outcome == .done)
        }

        /// Nor from one that was judged before the removal failed.
        @Test func A237_anEntryWaitsForThePlaceOfARemovalThatFails() async throws {
            let bench = try await Bench()
            let house = try await Household(bench)
            let (engine, noted) = (FailingEngine(bench.engine), NotedRevocations())
            var settings = bench.settings
            settings.revocations = noted
            let service = try Service(engine: engine, settings: settings)
            defer { service.shutDown() }
            let (reader, writer) = (
                try house.signer(house.reader).at(service), try house.signer(house.writer).at(service)
            )
            let leave = try await house.request(.leave, by: house.reader, removing: [house.reader.user])
            let written = try await house.request(sample, by: house.writer)
            engine.beforeNextWrite {
                engine.failEnds(.store(.inputOutput), count: .max)
                _ = try? await reader.reply(leave)
                engine.failEnds(.store(.inputOutput), count: 0)
            }
            #expect(try await writer.ask(written).outcome == .done)
            let removals = noted.list.compactMap { revocation -> Removal? in
                guard case .removal(let removal) = revocation else { return nil }
                return removal
            }
            #expect(removals.map(\.sequence) == [written.sequence, written.sequence])
            #expect(removals.map(\.isOwn) == [true, false])
        }

        /// The founder may give the tresor up.
        @Test func aTresorThatLacksARemovalIsDeleted() async throws {
            let restored = try await RestoredHousehold(to: 2)
            let owner = try await restored.signer(restored.house.owner)
            #expect(try await owner.reply(DeleteTresorRequest(tresor: restored.house.tresor)).status == 200)
            #expect(restored.service.lackedRemovalCount == 0)
        }

        /// A log that has the removal takes everything, and other tresors do.
        @Test func aLogThatIsNotBehindTakesEverything() async throws {
            let restored = try await RestoredHousehold(to: 5)
            #expect(try await restored.reply(sample, by: restored.house.writer, behind: 5) == .done)
        }

        /// What ends nobody's access is not written down, and what is not written down does not happen.
        @Test func A237_theEndOfAccessIsWrittenDown() async throws {
            let bench = try await Bench()
            let house = try await Household(bench)
            let noted = NotedRevocations()
            let service = try await bench.anotherService { $0.revocations = noted }
            let (owner, writer) = (
                try house.signer(house.owner).at(service), try house.signer(house.writer).at(service)
            )
            _ = try await owner.ask(try await house.request(sample, by: house.owner))
            #expect(noted.list.isEmpty)
            bench.clock.now += 10
            let leave = try await house.request(.leave, by: house.writer, removing: [house.writer.user])
            let full = try await bench.anotherService { $0.revocations = FullRevocations() }
            let rows = try await bench.rows()
            #expect(try await writer.at(full).reply(leave).status == 507)
            #expect(try await bench.rows() == rows)
            #expect(try await writer.ask(leave).outcome == .done)
            guard case .removal(let removal)? = noted.list.first, noted.list.count == 1 else {
                Issue.record("the file has \(noted.list)")
                return
            }
            #expect(removal.tresor == house.tresor && removal.sequence == leave.sequence && removal.isOwn)
            #expect(removal.time == bench.clock.now)
        }
    }

    /// A file of revocations on a full disk.
    private struct FullRevocations: RevocationLog {
        func append(_ revocation: Revocation) throws(TresorError) { throw .store(.full) }
        func checkPlace() throws(TresorError) { throw .store(.full) }
    }
#endif
