// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The work and the objects that strangers cost a service by log-ins by password.
    @Suite(.overEveryEngine) struct LoginCostTests {
        /// The clock of a process may be a little behind that of another one.
        @Test func A118_aSweepWhoseClockIsBehindLeavesTheLimit() async throws {
            let scene = try await LoginScene()
            let request = try scene.first("nobody")
            for number in 0..<20 {
                let reply = await scene.reply(to: request, from: [203, 0, 113, UInt8(number / 5)])
                #expect(reply.status == 200)
            }
            let last: [UInt8] = [203, 0, 113, 200]
            #expect(await scene.reply(to: request, from: last).status == 429)
            scene.bench.clock.now -= 2
            try await scene.service.sweep()
            scene.bench.clock.now += 2
            #expect(await scene.reply(to: request, from: last).status == 429)
            // A clock that was wrong by hours locks nobody out for so long.
            scene.bench.clock.now -= 6_001
            try await scene.service.sweep()
            #expect(await scene.reply(to: request, from: last).status == 200)
        }

        /// Somebody takes all of a bucket that a sweep finds full, and the sweep waits for the row.
        @Test func A118_aSweepLeavesABucketFromWhichSomebodyTakes() async throws {
            guard EngineKind.current == .postgres else { return }
            let scene = try await LoginScene()
            let (bench, request) = (scene.bench, try scene.first("nobody"))
            let limits = LoginLimits(secret: try #require(bench.settings.logins))
            let buckets = try limits.buckets(of: request.handle, from: LoginScene.source)
            #expect(await scene.reply(to: request).status == 200)
            bench.clock.now += 3_600
            let taking = buckets.map { $0.taking(at: LoginLimits.milliseconds(bench.clock.now)) }
            let (isTaken, isSeen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            defer { isSeen.signal() }
            let first = Task { [engine = bench.engine] in
                // A write that fails ends the wait.
                defer { isTaken.signal() }
                try await engine.write { (transaction) throws(TresorError) in
                    for _ in 0..<LoginLimits.Rate.pair.count { _ = try transaction.run(taking) }
                    isTaken.signal()
                    isSeen.wait()
                }
            }
            try await Cores.apart { isTaken.wait() }
            let other = try await bench.anotherService()
            defer { other.shutDown() }
            let second = Task { try await other.sweep() }
            let waiting = SQL(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
            try await wait(looks: 100_000) { try await bench.engine.read(waiting).first?.integer(0) != 0 }
            isSeen.signal()
            try await first.value
            try await second.value
            #expect(await scene.reply(to: request).status == 429)
        }

        @Test func A118_allStrangersTogetherHaveALimit() async throws {
            let scene = try await LoginScene()
            let engine = CountingEngine(scene.bench.engine)
            let context = try ServiceContext(engine: engine, settings: scene.bench.settings)
            let logins = Logins(context: context)
            func wait(_ source: [UInt8] = LoginScene.source) async throws -> UInt32? {
                switch try await logins.begin(scene.first("nobody"), from: source) {
                case .answer: nil
                case .tooOften(let seconds): seconds
                }
            }
            // People who have used up their own tries take nothing from those of others.
            for _ in 0..<5 { #expect(try await wait() == nil) }
            for _ in 0..<5 { #expect(try await wait() == 601) }
            context.limits.charge(194, .logins, .logins)
            // Nor does who sends bytes that are no elements.
            let junk = try LoginRequest(handle: Name(typed: "nobody"), message: [UInt8](repeating: 0, count: 96))
            await #expect(throws: TresorError.altered) { try await logins.begin(junk, from: [192, 0, 2, 9]) }
            #expect(try await wait([192, 0, 2, 2]) == nil)
            let before = engine.count
            #expect(try await wait([192, 0, 2, 3]) == 1)
            #expect(engine.count == before)
        }

        /// Somebody else takes the last try between the look and the taking.
        @Test func A118_whoLosesTheLastTryIsToldTheWait() async throws {
            var scene = try await LoginScene()
            let request = try scene.first("nobody")
            for _ in 0..<4 { #expect(await scene.reply(to: request).status == 200) }
            let engine = MeddlingEngine(scene.bench.engine)
            scene.service = try Service(engine: engine, settings: scene.bench.settings)
            defer { scene.service.shutDown() }
            let other = scene.bench.service
            let call = ServiceCall(
                operation: .login, body: request.bytes, authorization: nil, source: LoginScene.source)
            engine.beforeNextWrite { _ = await other.answer(call) }
            let reply = await scene.reply(to: request)
            #expect(reply.status == 429 && reply.retryAfter == 601)
        }

        @Test func A119_anAttemptThatNobodyHasCostsNoWrite() async throws {
            var scene = try await LoginScene()
            let engine = CountingEngine(scene.bench.engine)
            scene.service = try Service(engine: engine, settings: scene.bench.settings)
            defer { scene.service.shutDown() }
            let begun = try await scene.begin("nobody")
            let unknown = FinishLoginRequest(
                attempt: [UInt8](repeating: 1, count: 16), message: [UInt8](repeating: 1, count: 64))
            var writes = engine.writeCount
            #expect(await scene.reply(to: unknown) == .forbidden)
            #expect(engine.writeCount == writes)
            #expect(await scene.reply(to: begun.finish) == .forbidden)
            #expect(engine.writeCount == writes + 1)
            // It is spent.
            writes = engine.writeCount
            #expect(await scene.reply(to: begun.finish) == .forbidden)
            #expect(engine.writeCount == writes)
        }

        /// Nobody's failures are counted nowhere: no row is that of all who ask.
        @Test func failuresAreCountedOfThePresentStatementAlone() async throws {
            let scene = try await LoginScene()
            let (anna, _) = try await scene.person("anna")
            let counted = SQL("SELECT account FROM login_failures")
            _ = try await anna.ask(try await scene.setting(LoginScene.password, of: anna, revision: 2))
            func leave(_ revision: Int64) async throws {
                _ = try await scene.begin("nobody")
                _ = try await scene.bench.engine.write([
                    SQL(
                        "UPDATE login_attempts SET account = $1, revision = $2",
                        [.digest(anna.user.digest), .integer(revision)])
                ])
                scene.bench.clock.now += 61
            }
            _ = try await scene.reply(to: scene.begin("nobody").finish)
            #expect(try await scene.rows(counted).isEmpty)
            scene.bench.clock.now += 61
            try await scene.service.sweep()
            // It began before the statement, and came behind it.
            try await leave(1)
            #expect(try await anna.ask(AccountRequest()).failures == 0)
            try await scene.service.sweep()
            #expect(try await scene.rows(counted).isEmpty)
            try await leave(2)
            try await scene.service.sweep()
            #expect(try await anna.ask(AccountRequest()).failures == 1)
            _ = try await anna.ask(DeleteAccountRequest())
            try await leave(2)
            try await scene.service.sweep()
            #expect(try await scene.rows(counted).isEmpty)
        }

        /// SQLite keeps deleted bytes in its log until somebody asks that they go.
        @Test func aRecordOfSomebodyWhoWaitsIsErased() async throws {
            let scene = try await LoginScene(.closed)
            let engine = CountingEngine(scene.bench.engine)
            let service = try Service(engine: engine, settings: scene.bench.settings)
            defer { service.shutDown() }
            func erasures(_ body: () async throws -> Void) async throws -> Int {
                let before = engine.erasureCount
                try await body()
                return engine.erasureCount - before
            }
            let anna = try scene.bench.stranger("anna").at(service)
            // A new case has no former record.
            let count = try await erasures {
                _ = try await anna.ask(try await scene.setting(LoginScene.password, of: anna, revision: 1))
            }
            #expect(count == 0)
            let renewed = try scene.bench.signer(
                try anna.identity.renewCard(time: scene.bench.clock.now).identity
            ).at(service)
            // Newer keys take the place of those with which somebody waits.
            let resumed = try await erasures { _ = try await renewed.ask(renewed.registration()) }
            #expect(resumed == 1)
            #expect(try await scene.rows(SQL("SELECT account FROM accounts WHERE record IS NOT NULL")).isEmpty)
            let admin = try scene.bench.admin.at(service)
            let refused = try await erasures {
                _ = try await admin.ask(
                    AdmitRequest(user: anna.user, card: renewed.identity.chain.newest.hash, isAdmitted: false))
            }
            #expect(refused == 1)
        }

        /// Strangers who wait take no more room than their chains need, and rewrite no more than their source may.
        @Test func A230_whoWaitsKeepsAndRewritesLittle() async throws {
            let scene = try await LoginScene(.closed)
            let anna = try scene.bench.stranger("anna")
            let bert = try scene.bench.stranger("bert")
            let first = try await scene.setting(LoginScene.password, of: anna, revision: 1)
            _ = try await anna.ask(first)
            _ = try await bert.ask(try await scene.setting(LoginScene.password, of: bert, revision: 1))
            let most = anna.identity.chain.bytes.count + 512
            for (count, error) in [(most + 1, TresorError.altered as TresorError?), (most, nil)] {
                let copy = [UInt8](repeating: 1, count: count)
                let next = try scene.finishing(first.record, of: anna, revision: 2, copy: copy)
                #expect(try await anna.reply(next).error == error)
            }
            // Both are behind one address, which has asked for two accounts and has sent two statements since.
            for revision: UInt64 in 2...7 {
                let next = try scene.finishing(first.record, of: bert, revision: revision)
                #expect(try await bert.reply(next).status == 200, "\(revision)")
            }
            let last = try await anna.reply(try scene.finishing(first.record, of: anna, revision: 3))
            #expect(last.status == 429 && last.retryAfter == 61)
        }
    }
#endif
