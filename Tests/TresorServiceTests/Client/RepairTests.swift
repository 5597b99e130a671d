// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorRecords
    import TresorStore
    import TresorTesting

    @testable import Tresor
    @testable import TresorRemote
    @testable import TresorService

    /// A service to which an old backup was restored, and members who have seen more than it has.
    @Suite struct ServiceRepairTests {
        struct Stage {
            let now: ServiceStage
            let restored: ServiceStage
            let owner: Session
            let writer: Session
            let newcomer: Session
            let tresor: TresorID

            /// The same person before the service that has the old backup.
            func after(_ session: Session) -> Session { restored.again(session) }
        }

        /// - Parameter entries: the entries of the backup; with 0 it does not have the tresor.
        func stage(_ count: Int) async throws -> Stage {
            let now = ServiceStage(try await Bench())
            let (owner, writer, newcomer) = (
                try await now.person("owner"), try await now.person("writer"), try await now.person("newcomer")
            )
            let people = [owner, writer, newcomer]
            for one in people {
                for other in people where other.user != one.user { try one.client.people.pinBlocking(other.chain) }
            }
            let plans = try await owner.create("plans")
            try await plans.perform(
                .share(with: [writer.chain], role: .writer, fromNow: false, notAfter: nil))
            try await plans.perform(.rotate)
            try await plans.perform(
                .share(with: [newcomer.chain], role: .reader, fromNow: true, notAfter: nil))
            try await plans.perform(.rename(Name(typed: "interventions")))
            try await plans.perform(.rotate)
            // Each home keeps the wrap that opens the newest name.
            for person in people {
                _ = try await person.tresors.name(in: try await person.tresor(plans.id).state())
            }
            let entries = try await owner.client.store.entries(of: plans.id, from: 0, limit: 100)
            let restored = ServiceStage(try await Bench())
            _ = try await restored.bench.engine.write(
                people.map { Account.insertion(of: $0.chain, .active, invitation: nil, at: restored.bench.clock.now) })
            _ = try await restored.bench.service.importWhole(backup(of: people, plans.id, entries.prefix(count)))
            return Stage(
                now: now, restored: restored, owner: owner, writer: writer, newcomer: newcomer, tresor: plans.id)
        }

        /// Two people write a record each, which the present service has.
        static func write(in stage: Stage) async throws {
            for (person, name) in [(stage.owner, "a"), (stage.writer, "b")] {
                let records = person.records(in: stage.tresor)
                try await records.put(name, Array(name.utf8))
                #expect(try await records.sync().sentCount == 1)
            }
            _ = try await stage.owner.records(in: stage.tresor).sync()
        }

        /// The restored service gives both to somebody who has nothing of them.
        static func expectRecords(in stage: Stage, source: SourceLocation = #_sourceLocation) async throws {
            #expect(try await stage.restored.bench.service.check().isClean, sourceLocation: source)
            let records = stage.after(stage.newcomer).records(in: stage.tresor)
            #expect(try await records.sync().isComplete, sourceLocation: source)
            for name in ["a", "b"] {
                #expect(try await records.get(name).content == Array(name.utf8), sourceLocation: source)
            }
        }

        @Test func theRecordsComeBackWithTheLog() async throws {
            let stage = try await stage(2)
            try await Self.write(in: stage)
            let restored = try await stage.after(stage.owner).records(in: stage.tresor).restore()
            #expect(restored.entryCount == 6 && restored.packCount == 2)
            try await Self.expectRecords(in: stage)
            // A reader brings entries, and no packs.
            let other = try await self.stage(5)
            try await Self.write(in: other)
            let newcomer = other.newcomer.records(in: other.tresor)
            _ = try await newcomer.sync()
            let byReader = try await other.after(other.newcomer).records(in: other.tresor).restore()
            #expect(byReader.entryCount == 3 && byReader.packCount == 0)
        }

        /// An embedded store with the people and the beginning of a log, and one wrap that opens nothing.
        private func backup(
            of people: [Session], _ tresor: TresorID, _ entries: ArraySlice<[UInt8]>
        ) async throws -> any Store {
            let store: any Store = MemoryStore()
            for person in people {
                _ = try await store.putCard(
                    person.chain.bytes, user: person.user, handle: person.handle.bytes, replacing: nil)
            }
            for (sequence, entry) in entries.enumerated() {
                _ = try await store.append(
                    LogChange(
                        tresor: tresor, sequence: UInt64(sequence),
                        after: sequence == 0 ? nil : entries[sequence - 1], entry: entry,
                        putting: sequence == 0 ? [StoredWrap(user: people[0].user, epoch: 1, bytes: [1])] : []))
            }
            return store
        }

        /// An owner gives back the entries that they wrote, and everybody's wraps.
        @Test(arguments: [0, 1, 2, 5])
        func A130_theAuthorPutsALogBack(_ count: Int) async throws {
            let stage = try await stage(count)
            let owner = stage.after(stage.owner)
            #expect(try await owner.audit.restoreEntries(of: stage.tresor) == 6 - count)
            try await owner.audit.restoreWraps(of: stage.tresor)
            #expect(try await stage.restored.bench.service.check().isClean)
            for person in [stage.owner, stage.writer, stage.newcomer] {
                let session = stage.after(person)
                let state = try await session.tresor(stage.tresor).state()
                #expect(state.entryCount == 6)
                #expect(try await session.tresors.name(in: state) == Name(typed: "interventions"))
            }
            let findings = try await owner.client.audit.check()
            #expect(!findings.contains { $0.level == .bad })
        }

        /// Somebody with full history puts the wraps that are lost. The service lets them replace no other.
        @Test func aMemberPutsOnlyLostWraps() async throws {
            let stage = try await stage(2)
            let writer = stage.after(stage.writer)
            #expect(try await writer.audit.restoreEntries(of: stage.tresor) == 4)
            try await writer.audit.restoreWraps(of: stage.tresor)
            // Nothing is lost any more.
            try await writer.audit.restoreWraps(of: stage.tresor)
            #expect(try await stage.restored.bench.service.check().isClean)
            let newcomer = stage.after(stage.newcomer)
            let state = try await newcomer.tresor(stage.tresor).state()
            #expect(try await newcomer.tresors.name(in: state) == Name(typed: "interventions"))
        }

        /// A check asks for the wraps of everybody at once.
        @Test func aCheckAsksForManyAtOnce() async throws {
            let stage = try await stage(0)
            let (store, transport) = stage.now.process()
            let owner = Session(
                client: Client(
                    home: stage.owner.client.home, store: store, clock: stage.now.bench.clock.read),
                identity: stage.owner.identity)
            _ = try await owner.client.audit.check([stage.tresor])
            #expect(transport.sent.filter { $0.target == "/v1/wraps" }.count == 1)
        }

        /// Somebody who was removed still reads the log as far as they may, and is shown no wraps.
        @Test func aRemovedMemberChecksTheirHome() async throws {
            let stage = try await stage(0)
            try await stage.owner.tresor(stage.tresor).perform(.revoke([stage.writer.user]))
            let findings = try await stage.now.again(stage.writer).client.audit.check()
            #expect(!findings.contains { $0.subject == .tresor(stage.tresor) && $0.level == .bad })
        }

        /// The wraps of one person may take more than one answer.
        @Test func theWrapsOfOnePersonArePaged() async throws {
            let stage = try await stage(0)
            let state = try await stage.owner.tresor(stage.tresor).state()
            let keys = try await stage.owner.keyRing.keys(of: state.epoch, in: state)
            let wrap = try Wrap(
                keys, of: stage.tresor, for: stage.writer.chain.newest, user: stage.writer.user, history: .all
            ).bytes
            let count = 10_000
            let wraps = (0..<count).map { number in
                // The epoch stands behind magic, suite and tresor.
                Array(wrap[..<41]) + bigEndianBytes(UInt64(number) + 100) + Array(wrap[49...])
            }
            let rows = wraps.enumerated().map { number, wrap in
                SQL(
                    "INSERT INTO wraps (tresor, account, epoch, putter, since, wrap) VALUES ($1, $2, $3, $4, 0, $5)",
                    [
                        .digest(stage.tresor.digest), .digest(stage.writer.user.digest), .number(UInt64(number) + 100),
                        .digest(stage.owner.user.digest), .bytes(wrap),
                    ])
            }
            try await stage.now.bench.engine.write { (transaction) throws(TresorError) in
                _ = try transaction.run(rows)
            }
            let owner = stage.now.again(stage.owner)
            let found = try await owner.client.store.wraps(of: stage.writer.user, in: stage.tresor, epoch: nil)
            #expect(found.count == count + 4)
            #expect(found.suffix(count) == wraps[...])
            let both = try await owner.client.store.wraps(
                of: [stage.newcomer.user, stage.writer.user, stage.owner.user], in: stage.tresor, epoch: nil)
            #expect(both.map(\.count) == [2, count + 4, 4])
        }
    }
#endif
