// SPDX-License-Identifier: Apache-2.0

#if Server
    import TestSupport
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// A tresor of an owner, with a writer, a reader, a reader from now on, and somebody who was removed.
    struct Household {
        let bench: Bench
        let store: SignedStore
        let cast: PreviewCast
        let owner: Session
        let writer: Session
        let reader: Session
        let newcomer: Session
        let removed: Session
        let tresor: TresorID

        init(_ bench: Bench) async throws {
            self.bench = bench
            store = SignedStore(bench)
            cast = PreviewCast(store: store, clock: bench.clock)
            owner = try await cast.person("owner")
            writer = try await cast.person("writer")
            reader = try await cast.person("reader")
            newcomer = try await cast.person("newcomer")
            removed = try await cast.person("removed")
            try cast.introduce(owner, writer, reader, newcomer, removed)
            let plans = try await cast.tresor("plans", of: owner, readers: [reader, removed], writers: [writer])
            tresor = plans.id
            try await plans.perform(
                .share(with: [newcomer.chain], role: .reader, fromNow: true, notAfter: nil))
            try await plans.perform(.revoke([removed.user]))
        }

        func signer(_ session: Session) throws -> Signer { try bench.signer(session.identity) }

        func state() async throws -> LogState { try await owner.tresor(tresor).state() }

        /// An entry at the end of the log.
        func entry(_ body: EntryBody, by author: Session, time: UInt64? = nil) async throws -> Entry {
            let head = try await state().head
            return try Entry(
                tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: author.identity,
                time: time ?? bench.clock.now, body: body)
        }

        /// A request to append that entry.
        func request(
            _ body: EntryBody, by author: Session, wraps: [[UInt8]] = [], removing: [UserID] = []
        ) async throws -> AppendRequest {
            let entry = try await entry(body, by: author)
            return AppendRequest(
                tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, wraps: wraps,
                removing: removing)
        }

        /// A new epoch with the wraps of all members but those left out.
        func epoch(leavingOut out: [UserID] = []) async throws -> (epoch: Epoch, wraps: [[UInt8]]) {
            let state = try await state()
            let keys = try EpochKeys(epoch: state.epoch + 1)
            let present = try await owner.keyRing.keys(of: state.epoch, in: state)
            var wraps: [[UInt8]] = []
            for (user, member) in state.members.sorted(by: { $0.key < $1.key }) where !out.contains(user) {
                let card = try #require(state.chain(of: user)).newest
                wraps.append(
                    try Wrap(keys, of: tresor, for: card, user: user, history: member.history).bytes)
            }
            return (try keys.statement(of: tresor, linking: [present]), wraps)
        }
    }

    extension AdditiveBody {
        static let sample = AdditiveBody(type: 200, [1])
    }

    extension AppendRequest {
        func with(
            sequence: UInt64? = nil, previous: Hash256? = nil, entry: [UInt8]? = nil, wraps: [[UInt8]]? = nil,
            removing: [UserID]? = nil, blobs: [StoredBlob]? = nil
        ) -> AppendRequest {
            AppendRequest(
                tresor: tresor, sequence: sequence ?? self.sequence, previous: previous ?? self.previous,
                entry: entry ?? self.entry, wraps: wraps ?? self.wraps, removing: removing ?? self.removing,
                blobs: blobs ?? self.blobs)
        }
    }

    /// Logs over a service.
    @Suite(.overEveryEngine) struct LogTests {
        @Test func aTresorLivesItsWholeLife() async throws {
            let house = try await Household(Bench())
            let plans = house.owner.tresor(house.tresor)
            try await plans.perform(.rename(try Name(typed: "care")))
            try await house.writer.tresor(house.tresor).perform(.leave)
            try await plans.perform(.rotate)
            #expect(try await plans.members().count == 3)
            #expect(try await house.reader.tresor(house.tresor).name() == Name(typed: "care"))
            #expect(try await house.newcomer.tresor(house.tresor).name() == Name(typed: "care"))
            #expect(try await house.reader.allTresors().map(\.tresor) == [house.tresor])
            #expect(try await house.writer.allTresors().count == 1)
            let report = try await house.bench.service.check()
            #expect(report.isClean && report.tresors == 1 && report.entries == 8)
        }

        @Test func aFormerMemberReadsUpToTheEntryThatRemovedThem() async throws {
            let house = try await Household(Bench())
            let removed = try house.signer(house.removed)
            let all = EntriesRequest(tresor: house.tresor, first: 0, limit: 100)
            let count = try await house.state().entryCount
            #expect(try await removed.ask(all).entries.count == Int(count))
            try await house.owner.tresor(house.tresor).perform(.rotate)
            #expect(try await removed.ask(all).entries.count == Int(count))
            #expect(try await !removed.ask(all).more)
            #expect(try await removed.ask(TresorsRequest(after: .zero)).tresors.isEmpty)
            #expect(
                try await removed.reply(WrapsRequest(tresor: house.tresor, epoch: nil, users: [removed.user]))
                    == .forbidden)
            // A person who comes back reads everything again.
            try await house.owner.tresor(house.tresor).perform(
                .share(with: [house.removed.chain], role: .reader, fromNow: false, notAfter: nil))
            #expect(try await removed.ask(all).entries.count == Int(count) + 2)
        }

        @Test func pagesAreShortAndGoOn() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            var entries: [[UInt8]] = []
            while true {
                let page = try await owner.ask(
                    EntriesRequest(tresor: house.tresor, first: UInt64(entries.count), limit: 2))
                #expect(page.entries.count <= 2)
                entries += page.entries
                if !page.more { break }
            }
            #expect(try Fold.state(of: entries, tresor: house.tresor).entryCount == UInt64(entries.count))
            let beyond = EntriesRequest(tresor: house.tresor, first: UInt64(entries.count), limit: 2)
            #expect(try await owner.ask(beyond) == EntriesAnswer(entries: [], more: false))
            #expect(
                try await owner.ask(EntriesRequest(tresor: house.tresor, first: .max, limit: .max))
                    == EntriesAnswer(entries: [], more: false))
        }

        @Test func wrapsOfManyComeInTheOrderOfTheRequest() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let state = try await house.state()
            let users = (0..<20).flatMap { _ in state.members.keys.sorted().reversed() } + [house.removed.user]
            let answer = try await owner.ask(WrapsRequest(tresor: house.tresor, epoch: state.epoch, users: users))
            #expect(answer.wraps.count == users.count)
            for (user, wraps) in zip(users, answer.wraps) {
                #expect(try wraps.map { try UnverifiedWrap($0).user } == (user == house.removed.user ? [] : [user]))
            }
            let own = try await owner.ask(
                WrapsRequest(tresor: house.tresor, epoch: nil, users: [house.newcomer.user, owner.user]))
            #expect(try own.wraps[0].map { try UnverifiedWrap($0).epoch } == [2, 3])
        }

        @Test func aWriterIsToldOfAConflict() async throws {
            let house = try await Household(Bench())
            let request = try await house.request(.additive(.sample), by: house.writer)
            try await house.owner.tresor(house.tresor).perform(.rotate)
            #expect(try await house.signer(house.writer).ask(request).outcome == .conflict)
            #expect(try await house.signer(house.removed).reply(request) == .forbidden)
        }

        @Test func A129_twoServicesWriteOneChain() async throws {
            let bench = try await Bench()
            let house = try await Household(bench)
            let services = [bench.service, try await bench.anotherService()]
            let start = try await house.state()
            let count = LongRun.isOn ? 100 : 24
            let done = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<count {
                    group.addTask {
                        let signer = Signer(
                            service: services[number % 2], clock: bench.clock, identity: house.owner.identity,
                            key: try bench.signer(house.owner.identity).key)
                        var state = start
                        while true {
                            let first = state.entryCount
                            let page = try await signer.ask(
                                EntriesRequest(tresor: house.tresor, first: first, limit: 1_000))
                            var fold = Fold(state: state)
                            try fold.apply(page.entries)
                            state = try #require(fold.state)
                            let entry = try Entry(
                                tresor: house.tresor, sequence: state.entryCount, previous: state.head.hash,
                                author: house.owner.identity, time: bench.clock.now,
                                body: .additive(.sample))
                            let request = AppendRequest(
                                tresor: house.tresor, sequence: entry.sequence, previous: entry.previous,
                                entry: entry.bytes, wraps: [], removing: [])
                            // A service that others keep busy is asked again, with the same request.
                            var outcome: StoreOutcome?
                            while outcome == nil {
                                do { outcome = try await signer.ask(request).outcome } catch TresorError.busy {}
                            }
                            if outcome == .done { return 1 }
                        }
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(done == count)
            #expect(try await house.state().entryCount == start.entryCount + UInt64(count))
            #expect(try await bench.service.check().isClean)
        }
    }
#endif
