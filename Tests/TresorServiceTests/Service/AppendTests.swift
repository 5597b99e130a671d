// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    extension Household {
        /// The statuses of ten entries of the writer, each with as many people whose wraps go as a request may name.
        func removals() async throws -> [Int] {
            let removing = [UserID](repeating: removed.user, count: AppendRequest.maximumCount)
            var statuses: [Int] = []
            for _ in 0..<10 {
                let request = try await request(.additive(.sample), by: writer, removing: removing)
                statuses.append(try await signer(writer).reply(request).status)
            }
            return statuses
        }
    }

    /// The judgment of appends.
    @Suite(.overEveryEngine) struct AppendTests {
        /// A request that is refused, and the error.
        private struct Case {
            let name: String
            let request: AppendRequest
            var error: TresorError = .altered
        }

        /// An entry writes who may read for those alone whom it moves.
        @Test func anEntryWritesTheRowsOfThoseItMoves() async throws {
            let house = try await Household(Bench())
            let plans = house.owner.tresor(house.tresor)
            func moved(_ act: Act) async throws -> [UserID] {
                let before = try await house.state()
                try await plans.perform(act)
                let request = try #require(house.store.appends.last)
                return try AppendRules.judge(AppendDraft(request), by: house.owner.user, on: before).people
            }
            #expect(try await moved(.rotate).isEmpty)
            #expect(try await moved(.revoke([house.reader.user])) == [house.reader.user])
            #expect(try await house.bench.service.check().isClean)
        }

        /// Each of them costs statements of the one who writes, also where no wrap lies.
        @Test func A231_anAccountPaysForThePeopleWhoseWrapsGo() async throws {
            let statuses = try await Household(Bench()).removals()
            #expect(statuses.first == 200 && statuses.last == 429)
        }

        /// The state of a log leaves room for others, and still nobody keeps access that an owner takes away.
        @Test func A231_aLogWhoseStateIsFullTakesOnlyTheEndOfAccess() async throws {
            let house = try await Household(Bench())
            let cost = HeldMemory.byteCount(of: try await house.state())
            let small = try await house.bench.anotherService { $0.stateByteCount = 2 * cost }
            let owner = try house.signer(house.owner).at(small)
            let before = try await house.bench.rows().prefix(4)
            // First with a state that is read, and then with one in memory.
            for _ in 0..<2 {
                let request = try await house.request(.additive(.sample), by: house.owner)
                #expect(try await owner.reply(request).status == 507)
            }
            #expect(try await house.bench.rows().prefix(4) == before)
            let (epoch, wraps) = try await house.epoch(leavingOut: [house.reader.user])
            let removal = try await house.request(
                .remove(RemoveBody(users: [house.reader.user], epoch: epoch)), by: house.owner,
                wraps: wraps, removing: [house.reader.user])
            #expect(try await owner.ask(removal).outcome == .done)
            let request = try await house.request(.additive(.sample), by: house.owner)
            #expect(try await owner.reply(request).status == 507)
            #expect(try await house.signer(house.owner).ask(request).outcome == .done)
        }

        @Test func A127_nothingIsWrittenBeforeEveryCheckHasPassed() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            for refused in try await epochs(in: house) + entries(in: house) {
                let before = try await house.bench.rows()
                #expect(try await owner.reply(refused.request) == .refused(refused.error), "\(refused.name)")
                #expect(try await house.bench.rows() == before, "\(refused.name)")
            }
            #expect(try await house.bench.service.check().isClean)
        }

        private func epochs(in house: Household) async throws -> [Case] {
            let state = try await house.state()
            let (epoch, wraps) = try await house.epoch()
            let good = try await house.request(.epoch(EpochBody(epoch)), by: house.owner, wraps: wraps)
            let keys = try EpochKeys(epoch: state.epoch + 1)
            func wrap(_ session: Session, _ history: History, of tresor: TresorID? = nil) throws -> [UInt8] {
                try Wrap(
                    keys, of: tresor ?? house.tresor, for: session.chain.newest, user: session.user, history: history
                ).bytes
            }
            func replacing(_ user: UserID, by wrap: [UInt8]) throws -> [[UInt8]] {
                try wraps.filter { try UnverifiedWrap($0).user != user } + [wrap]
            }
            let older = try Wrap(
                try EpochKeys(epoch: state.epoch), of: house.tresor, for: house.reader.chain.newest,
                user: house.reader.user, history: .all)
            return [
                Case(name: "a wrap is missing", request: good.with(wraps: Array(wraps.dropLast()))),
                Case(name: "no wraps", request: good.with(wraps: [])),
                Case(name: "a wrap comes twice", request: good.with(wraps: wraps + [wraps[0]])),
                Case(name: "one twice, one missing", request: good.with(wraps: wraps.dropLast() + [wraps[0]])),
                Case(
                    name: "a wrap for a removed member",
                    request: good.with(wraps: wraps + [try wrap(house.removed, .all)])),
                Case(
                    name: "all keys for a newcomer",
                    request: good.with(wraps: try replacing(house.newcomer.user, by: wrap(house.newcomer, .all)))),
                Case(
                    name: "too few keys for a reader",
                    request: good.with(
                        wraps: try replacing(house.reader.user, by: wrap(house.reader, .from(epoch: state.epoch))))),
                Case(
                    name: "a wrap of another tresor",
                    request: good.with(
                        wraps: try replacing(house.reader.user, by: wrap(house.reader, .all, of: TresorID(.zero))))),
                Case(
                    name: "a wrap of another epoch",
                    request: good.with(wraps: try replacing(house.reader.user, by: older.bytes))),
                Case(name: "a wrap that does not read", request: good.with(wraps: wraps.dropLast() + [[1, 2, 3]])),
                Case(name: "a member is removed", request: good.with(removing: [house.reader.user])),
                Case(name: "a stranger is removed", request: good.with(removing: [UserID(.zero)])),
            ]
        }

        private func entries(in house: Household) async throws -> [Case] {
            let (epoch, wraps) = try await house.epoch(leavingOut: [house.reader.user])
            let removal = try await house.request(
                .remove(RemoveBody(users: [house.reader.user], epoch: epoch)), by: house.owner,
                wraps: wraps, removing: [house.reader.user])
            let plain = try await house.request(.additive(.sample), by: house.owner)
            var spoiled = plain.entry
            spoiled[spoiled.count - 1] ^= 1
            return [
                Case(name: "nobody is removed", request: removal.with(removing: [])),
                Case(name: "another one is removed", request: removal.with(removing: [house.removed.user])),
                Case(
                    name: "another one is removed too",
                    request: removal.with(removing: [house.reader.user, house.writer.user])),
                Case(name: "a wrap without need", request: plain.with(wraps: [wraps[0]])),
                Case(name: "a signature that does not hold", request: plain.with(entry: spoiled)),
                Case(name: "trailing bytes", request: plain.with(entry: plain.entry + [0])),
                Case(name: "no entry", request: plain.with(entry: [0])),
                Case(name: "another place", request: plain.with(sequence: plain.sequence + 1)),
                Case(name: "another predecessor", request: plain.with(previous: .zero)),
                Case(
                    name: "an entry that its author may not write",
                    request: try await house.request(.additive(.sample), by: house.reader), error: .noAccess),
                Case(
                    name: "wraps with the entry of somebody else",
                    request: try await house.request(.additive(.sample), by: house.writer, wraps: [wraps[0]]),
                    error: .noAccess),
            ]
        }

        @Test func whatTheLogCallsForIsTaken() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let (epoch, wraps) = try await house.epoch()
            let request = try await house.request(.epoch(EpochBody(epoch)), by: house.owner, wraps: wraps)
            #expect(try await owner.ask(request).outcome == .done)
            let (next, rest) = try await house.epoch(leavingOut: [house.reader.user])
            let removal = try await house.request(
                .remove(RemoveBody(users: [house.reader.user], epoch: next)), by: house.owner, wraps: rest,
                removing: [house.reader.user, house.removed.user])
            #expect(try await owner.ask(removal).outcome == .done)
            let left = try await owner.ask(
                WrapsRequest(tresor: house.tresor, epoch: nil, users: [house.reader.user, house.writer.user]))
            #expect(left.wraps[0].isEmpty && !left.wraps[1].isEmpty)
            #expect(try await house.bench.service.check().isClean)
        }

        @Test func A130_aMemberWhoIsNotTheAuthorPutsALogBack() async throws {
            let house = try await Household(Bench())
            let entries = house.store.appends
            // A service that an old backup was restored to: it knows the people, and of the log the first entry.
            let restored = try await Bench()
            func signer(_ session: Session) async throws -> Signer {
                let signer = try restored.signer(session.identity)
                _ = try await signer.ask(signer.registration())
                _ = try await signer.ask(try signer.finishing())
                return signer
            }
            let owner = try await signer(house.owner)
            let reader = try await signer(house.reader)
            let writer = try await signer(house.writer)
            #expect(try await owner.ask(entries[0]).outcome == .done)
            #expect(try await writer.reply(entries[1].with(wraps: [])) == .forbidden)
            for request in entries[1...] {
                #expect(try await reader.reply(request) == .forbidden)
                #expect(try await reader.ask(request.with(wraps: [])).outcome == .done)
            }
            let report = try await restored.service.check()
            #expect(report.findings.map(\.fault) == [.wraps(4)])
            let state = try await house.state()
            let keys = try await house.owner.keyRing.keys(of: state.epoch, in: state)
            var wraps: [[UInt8]] = []
            for (user, member) in state.members {
                let card = try #require(state.chain(of: user)).newest
                wraps.append(try Wrap(keys, of: house.tresor, for: card, user: user, history: member.history).bytes)
            }
            // A member with full history puts those that are missing, and replaces none.
            let put = PutWrapsRequest(tresor: house.tresor, wraps: wraps)
            #expect(try await reader.reply(put).status == 200)
            #expect(try await restored.service.check().isClean)
            let others = try Wrap(
                keys, of: house.tresor, for: house.owner.chain.newest, user: house.owner.user, history: .all)
            let before = try await restored.rows()
            #expect(try await reader.reply(PutWrapsRequest(tresor: house.tresor, wraps: [others.bytes])) == .forbidden)
            #expect(try await restored.rows() == before)
            #expect(try await owner.reply(PutWrapsRequest(tresor: house.tresor, wraps: [others.bytes])).status == 200)
        }

        @Test func quotasStopEverythingButTheEndOfAccess() async throws {
            let bench = try await Bench(quotas: {
                $0.tresors = 1
                $0.entries = 5
            })
            let house = try await Household(bench)
            let plans = house.owner.tresor(house.tresor)
            await #expect(throws: TresorError.failed(.full)) { try await house.owner.create("second") }
            await #expect(throws: TresorError.failed(.full)) { try await plans.perform(.rotate) }
            try await house.writer.tresor(house.tresor).perform(.leave)
            try await plans.perform(.revoke([house.reader.user]))
            let account = try await house.signer(house.owner).ask(AccountRequest())
            #expect(account.tresors == 1 && account.bytes > 5_000 && account.maximumEntries == 5)
        }

        @Test func bytesAreCountedForTheFounder() async throws {
            let bench = try await Bench(quotas: { $0.bytes = 6_000 })
            let store = SignedStore(bench)
            let cast = PreviewCast(store: store, clock: bench.clock)
            let owner = try await cast.person("owner")
            let plans = try await owner.create("plans")
            await #expect(throws: TresorError.failed(.full)) {
                for _ in 0..<10 { try await plans.perform(.rotate) }
            }
        }

        /// Above half of a quota, what another process has just written counts.
        @Test func aQuotaCountsWhatAnotherProcessWrites() async throws {
            let bench = try await Bench(quotas: { $0.tresors = 3 })
            let other = try await bench.anotherService()
            let anna = try await bench.person("anna")
            for (service, status) in [(bench.service, 200), (other, 200), (bench.service, 200), (other, 507)] {
                let reply = await service.answer(try anna.call(try anna.founding()))
                #expect(reply.status == status)
            }
            #expect(try await anna.reply(anna.founding()).status == 507)
        }

        @Test func aStateIsTheSameFromASnapshot() async throws {
            let bench = try await Bench()
            let cast = PreviewCast(store: SignedStore(bench), clock: bench.clock)
            let owner = try await cast.person("owner")
            let plans = try await owner.create("plans")
            func addition(_ byteCount: Int) async throws -> AppendRequest {
                let state = try await plans.state()
                let body = AdditiveBody(type: 200, [UInt8](repeating: 1, count: byteCount))
                let entry = try Entry(
                    tresor: plans.id, sequence: state.entryCount, previous: state.head.hash, author: owner.identity,
                    time: bench.clock.now, body: .additive(body))
                return AppendRequest(
                    tresor: plans.id, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, wraps: [],
                    removing: [])
            }
            let first = try bench.signer(owner.identity)
            for _ in 0..<6 { #expect(try await first.ask(addition(50 << 10)).outcome == .done) }
            // One is due when as much was folded as 256 signatures take: after five of these entries, of 51 each.
            let rows = try await bench.engine.read(SQL("SELECT count FROM states"))
            #expect(rows == [SQLRow([6])])
            // Another process folds from there.
            let other = Signer(
                service: try await bench.anotherService(), clock: bench.clock, identity: owner.identity,
                key: try bench.signer(owner.identity).key)
            #expect(try await other.ask(addition(1)).outcome == .done)
            #expect(try await bench.service.check().isClean)
        }

        /// A standby takes over that lacks the last entries. What a process has in memory is then of another history.
        @Test func aLogGoesOnAfterAFailoverThatMadeItShorter() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            let other = try await bench.anotherService()
            let founding = try anna.founding()
            _ = try await anna.ask(founding)
            var entries = [founding.entry]
            func append(to service: Service) async throws {
                bench.clock.now += 1
                let entry = try Entry(
                    tresor: founding.tresor, sequence: UInt64(entries.count),
                    previous: try Entry(#require(entries.last)).hash(), author: anna.identity,
                    time: bench.clock.now, body: .additive(.sample))
                let request = AppendRequest(
                    tresor: entry.tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes,
                    wraps: [], removing: [])
                #expect(try await anna.at(service).ask(request).outcome == .done)
                entries.append(entry.bytes)
            }
            func takeOver(after count: Int) async throws {
                entries.removeLast(entries.count - count)
                _ = try await bench.engine.write([
                    SQL("DELETE FROM entries WHERE sequence >= $1", [.integer(Int64(count))]),
                    SQL(
                        "UPDATE tresors SET count = $1, head = $2",
                        [.integer(Int64(count)), .digest(try Entry(#require(entries.last)).hash())]),
                ])
            }
            try await append(to: bench.service)
            try await takeOver(after: 1)
            // The state of this process is longer than the log.
            try await append(to: bench.service)
            try await takeOver(after: 1)
            // The log grows elsewhere: past that state, and to its length.
            for _ in 0..<2 { try await append(to: other) }
            try await append(to: bench.service)
            try await takeOver(after: 3)
            try await append(to: other)
            try await append(to: bench.service)
        }
    }
#endif
