// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TestSupport
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// Waiting for news.
    @Suite(.overEveryEngine) struct NewsTests {
        private static func patient(_ cursor: [UInt8]) -> NewsRequest { NewsRequest(cursor: cursor, seconds: 55) }

        @Test func aMemberIsToldOfEachLogThatGrows() async throws {
            let house = try await Household(Bench())
            let reader = try house.signer(house.reader)
            let start = try await reader.ask(NewsRequest(cursor: [], seconds: 55))
            #expect(start.tresors.isEmpty && !start.more)
            let nothing = try await reader.ask(NewsRequest(cursor: start.cursor, seconds: 0))
            #expect(nothing.tresors.isEmpty)
            try await house.owner.tresor(house.tresor).perform(.rotate)
            let told = try await reader.ask(NewsRequest(cursor: start.cursor, seconds: 0))
            #expect(told.tresors == [house.tresor])
            #expect(try await reader.ask(NewsRequest(cursor: told.cursor, seconds: 0)).tresors.isEmpty)
            house.bench.clock.now += 120
            let later = try await reader.ask(NewsRequest(cursor: told.cursor, seconds: 0))
            #expect(later.tresors.isEmpty)
            try await house.owner.tresor(house.tresor).perform(.rotate)
            #expect(try await reader.ask(NewsRequest(cursor: later.cursor, seconds: 0)).tresors == [house.tresor])
        }

        @Test func somebodyWhoIsRemovedIsToldOnceAndNoMore() async throws {
            let house = try await Household(Bench())
            let reader = try house.signer(house.reader)
            let start = try await reader.ask(NewsRequest(cursor: [], seconds: 0))
            try await house.owner.tresor(house.tresor).perform(.revoke([house.reader.user]))
            let told = try await reader.ask(NewsRequest(cursor: start.cursor, seconds: 0))
            #expect(told.tresors == [house.tresor])
            house.bench.clock.now += 120
            try await house.owner.tresor(house.tresor).perform(.rotate)
            #expect(try await reader.ask(NewsRequest(cursor: told.cursor, seconds: 0)).tresors.isEmpty)
        }

        @Test func aWaitEndsWhenALogGrowsInAnotherProcess() async throws {
            let house = try await Household(Bench())
            let cursor = try await house.signer(house.reader).ask(NewsRequest(cursor: [], seconds: 0)).cursor
            let other = Signer(
                service: try await house.bench.anotherService(), clock: house.bench.clock,
                identity: house.reader.identity,
                key: try house.signer(house.reader).key)
            async let news = other.ask(Self.patient(cursor))
            while other.service.waitCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
            try await house.owner.tresor(house.tresor).perform(.rotate)
            #expect(try await news.tresors == [house.tresor])
            #expect(other.service.waitCount == 0)
        }

        @Test(.longRun) func aWaitEndsAtTheEndOfItsTime() async throws {
            let house = try await Household(Bench())
            let reader = try house.signer(house.reader)
            let cursor = try await reader.ask(NewsRequest(cursor: [], seconds: 0)).cursor
            let start = ContinuousClock.now
            #expect(try await reader.ask(NewsRequest(cursor: cursor, seconds: 1)).tresors.isEmpty)
            #expect(ContinuousClock.now - start >= .seconds(1))
        }

        @Test func waitsEndAtShutdownAndWithTheirTask() async throws {
            let house = try await Household(Bench())
            let service = house.bench.service
            let reader = try house.signer(house.reader)
            let cursor = try await reader.ask(NewsRequest(cursor: [], seconds: 0)).cursor
            let cancelled = Task { try await reader.ask(Self.patient(cursor)) }
            while service.waitCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
            cancelled.cancel()
            #expect(try await cancelled.value.tresors.isEmpty)
            let ended = Task { try await reader.ask(Self.patient(cursor)) }
            while service.waitCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
            service.shutDown()
            #expect(try await ended.value.tresors.isEmpty)
            #expect(try await reader.ask(Self.patient(cursor)).tresors.isEmpty)
        }

        @Test func anAccountWaitsFourTimesAtMost() async throws {
            let house = try await Household(Bench())
            let service = house.bench.service
            let reader = try house.signer(house.reader)
            let cursor = try await reader.ask(NewsRequest(cursor: [], seconds: 0)).cursor
            let waits = (0..<4).map { _ in Task { try await reader.ask(Self.patient(cursor)) } }
            while service.waitCount < 4 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(try await reader.reply(Self.patient(cursor)).status == 429)
            service.shutDown()
            for wait in waits { #expect(try await wait.value.tresors.isEmpty) }
        }

        @Test func A248_aPersonsLogsAreLookedUpOnceASecond() {
            let feed = NewsFeed()
            let start = ContinuousClock.now
            let (anna, bert) = (UserID(.zero), UserID(Hash256([UInt8](repeating: 1, count: 32)) ?? .zero))
            for second in 0..<4 { #expect(feed.nextLook(for: anna, at: start) == start + .seconds(second)) }
            // Waits that ended before they looked delay the person no further.
            for _ in 0..<9 { #expect(feed.nextLook(for: anna, at: start) == start + .seconds(4)) }
            #expect(feed.nextLook(for: bert, at: start) == start)
            let later = start + .seconds(9)
            #expect(feed.nextLook(for: anna, at: later) == later)
        }

        /// However often a log grows, its members are read once for all that is gathered, and each is rung once.
        @Test func A248_theMembersOfALogAreReadOnceForAllItsHints() async throws {
            let house = try await Household(Bench())
            let engine = CountingEngine(house.bench.engine)
            let context = try ServiceContext(engine: engine, settings: house.bench.settings)
            let wait = try context.news.begin(for: house.reader.user)
            defer { context.news.end(wait) }
            let (gathered, end) = AsyncStream.makeStream(of: Void.self)
            let left = Mutex(100)
            let hint = house.tresor.digest.bytes
            let hints = AsyncStream<[UInt8]> {
                if left.withLock({
                    $0 -= 1; return $0 >= 0
                }) {
                    return hint
                }
                end.finish()
                return nil
            }
            // The first rest ends when all hints are gathered: so there are two times at most to read for.
            await News(context: context).listen(to: hints) { for await _ in gathered {} }
            #expect((1...2).contains(engine.count))
            await wait.wait(until: .now + .seconds(3_600))
        }

        @Test func aCursorThatIsNoneIsRefused() async throws {
            let bench = try await Bench()
            let anna = try await bench.person("anna")
            for cursor in [[0], [2] + [UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 18)] as [[UInt8]] {
                #expect(try await anna.reply(NewsRequest(cursor: cursor, seconds: 0)) == .refused(.altered))
            }
        }

        @Test func aLongListComesInPages() throws {
            let logs = try (0..<3).map { number in
                NewsCursor.Log(
                    tresor: TresorID(try #require(Hash256([UInt8](repeating: number, count: 32)))), count: 1,
                    changed: 100)
            }
            let page = NewsCursor(since: 90).answer(logs, goesOn: true, isFirst: false, at: 110)
            #expect(page.more && page.tresors == logs.map(\.tresor))
            let next = try NewsCursor(page.cursor)
            #expect(next.time == 100 && next.after == logs[2].tresor.digest)
            #expect(!next.answer([], goesOn: false, isFirst: false, at: 110).more)
        }
    }
#endif
