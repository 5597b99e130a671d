// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer
    @testable import TresorService

    /// The health of a service is that of its writes.
    @Suite struct HealthTests {
        @Test func A237_aServiceWithoutItsRevocationsIsNotHealthy() async throws {
            let bench = try await Bench()
            let directory = try TestDirectory()
            let path = directory["server.key.revoked"]
            let log = try RevokedLog.open(at: path, of: bench.service.id, creating: true)
            let time = Mutex(ContinuousClock.now)
            var settings = bench.settings
            settings.steadyClock = { time.withLock { $0 } }
            settings.revocations = log
            let service = try Service(engine: bench.engine, settings: settings)
            defer { service.shutDown() }
            #expect(await service.isHealthy())
            try FileManager.default.moveItem(atPath: path, toPath: directory["moved"])
            time.withLock { $0 += .seconds(1) }
            #expect(await !service.isHealthy())
            try FileManager.default.moveItem(atPath: directory["moved"], toPath: path)
            time.withLock { $0 += .seconds(1) }
            #expect(await service.isHealthy())
        }

        /// No revocation is written behind a record that was changed.
        @Test func A237_aServiceWithDamagedRevocationsIsNotHealthy() async throws {
            let bench = try await Bench()
            let directory = try TestDirectory()
            let url = URL(fileURLWithPath: directory["server.key.revoked"])
            let log = try RevokedLog.open(at: url.path, of: bench.service.id, creating: true)
            try log.append(.withdrawal(bench.service.id))
            let time = Mutex(ContinuousClock.now)
            var settings = bench.settings
            settings.steadyClock = { time.withLock { $0 } }
            settings.revocations = log
            let service = try Service(engine: bench.engine, settings: settings)
            defer { service.shutDown() }
            #expect(await service.isHealthy())
            let whole = try Data(contentsOf: url)
            var damaged = whole
            damaged[whole.count - 1] ^= 1
            for changed in [damaged, Data()] {
                try changed.write(to: url)
                time.withLock { $0 += .seconds(1) }
                #expect(await !service.isHealthy())
                #expect(log.isDamaged)
                #expect(try Data(contentsOf: url) == changed)
                try whole.write(to: url)
                time.withLock { $0 += .seconds(1) }
                #expect(await service.isHealthy())
                #expect(!log.isDamaged)
            }
        }

        /// A look that writes would take the last room away from those who revoke something.
        @Test func aFullDiskIsNotHealthyAndStaysAsItIs() async throws {
            let bench = try await Bench()
            let engine = FailingEngine(bench.engine)
            let time = Mutex(ContinuousClock.now)
            var settings = bench.settings
            settings.steadyClock = { time.withLock { $0 } }
            let service = try Service(engine: engine, settings: settings)
            defer { service.shutDown() }
            engine.fillDisk(true)
            #expect(await !service.isHealthy())
            #expect(engine.writes == 0)
            engine.fillDisk(false)
            time.withLock { $0 += .seconds(1) }
            #expect(await service.isHealthy())
        }

        /// Writing that still works does not make a damaged file good.
        @Test func aDatabaseThatWasSeenDamagedIsNotHealthy() async throws {
            let bench = try await Bench()
            let engine = FailingEngine(bench.engine)
            let time = Mutex(ContinuousClock.now)
            var settings = bench.settings
            settings.steadyClock = { time.withLock { $0 } }
            let service = try Service(engine: engine, settings: settings)
            defer { service.shutDown() }
            let anna = try await bench.person("anna").at(service)
            #expect(await service.isHealthy())
            engine.fail(.store(.damaged))
            #expect(try await anna.reply(EndSessionsRequest()).cause == .damaged)
            engine.fail(nil)
            time.withLock { $0 += .seconds(1) }
            #expect(await !service.isHealthy())
        }

        /// A request between two others may find what looks like damage. It is judged once more.
        @Test func whatLooksDamagedOnceIsJudgedAgain() async throws {
            let bench = try await Bench()
            let engine = FailingEngine(bench.engine)
            let time = Mutex(ContinuousClock.now)
            var settings = bench.settings
            settings.steadyClock = { time.withLock { $0 } }
            let service = try Service(engine: engine, settings: settings)
            defer { service.shutDown() }
            let anna = try await bench.person("anna").at(service)
            engine.fail(.store(.damaged), count: 1)
            #expect(try await anna.reply(EndSessionsRequest()).status == 200)
            engine.failReads(.store(.damaged), count: 1)
            let renewed = try await bench.renewed(anna)
            let call = try renewed.call(AccountRequest())
            #expect(await service.answer(call).status == 200)
            engine.failReads(.store(.damaged), count: 1)
            let head = ServiceHead(
                operation: .append, bodyByteCount: 1 << 20, authorization: call.authorization, source: call.source)
            let proved = try await service.proves(head)
            #expect(proved == anna.user)
            #expect(await service.isHealthy())
            // Twice is no chance, and stays to be seen.
            engine.failReads(.store(.damaged), count: 2)
            #expect(await service.answer(call).cause == .damaged)
            time.withLock { $0 += .seconds(1) }
            #expect(await !service.isHealthy())
            #expect(await service.answer(call).status == 200)
            time.withLock { $0 += .seconds(1) }
            #expect(await !service.isHealthy())
        }

        /// The second look takes nothing from the limit of the person, and is not refused because of it.
        @Test func aRequestThatIsJudgedTwicePaysOnce() async throws {
            let bench = try await Bench(quotas: { $0.requestsPerSecond = 1 })
            let engine = FailingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            defer { service.shutDown() }
            let anna = try await bench.person("anna").at(service)
            for _ in 0..<9 {
                engine.fail(.store(.damaged), count: 1)
                let reply = try await anna.reply(PutKitCopyRequest(locator: anna.user.digest, copy: [1]))
                #expect(reply.status == 200)
            }
            engine.fail(.store(.damaged), count: 2)
            #expect(try await anna.reply(EndSessionsRequest()).cause == .damaged)
            #expect(await !service.isHealthy())
            #expect(try await anna.reply(AccountRequest()).status == 429)
        }

        /// Somebody else's limit, or a conflict of transactions, says nothing about damage.
        @Test func damageDoesNotHideBehindALimit() async throws {
            let bench = try await Bench()
            let failing = FailingEngine(bench.engine)
            let engine = MeddlingEngine(failing)
            let service = try Service(engine: engine, settings: bench.settings)
            defer { service.shutDown() }
            let anna = try await bench.person("anna").at(service)
            failing.fail(.store(.damaged), count: 1)
            engine.beforeNextWrite {
                // The first write meets damage, and the next one a conflict.
                engine.beforeNextWrite { failing.fail(.busy, count: 1) }
            }
            let reply = try await anna.reply(EndSessionsRequest())
            #expect(reply.status == 503 && reply.cause == .damaged)
            // It looked so once.
            #expect(await service.isHealthy())
            #expect(try await anna.reply(EndSessionsRequest()).status == 200)
        }

        @Test func aHeadThatFindsDamageTwiceShowsIt() async throws {
            let bench = try await Bench()
            let engine = FailingEngine(bench.engine)
            let service = try Service(engine: engine, settings: bench.settings)
            defer { service.shutDown() }
            let call = try await bench.person("anna").at(service).call(AccountRequest())
            let head = ServiceHead(
                operation: .append, bodyByteCount: 1 << 20, authorization: call.authorization, source: call.source)
            engine.failReads(.store(.damaged), count: 2)
            await #expect(throws: Refusal(.store(.damaged))) { try await service.proves(head) }
            #expect(await !service.isHealthy())
        }

        @Test(arguments: [TresorError.store(.readOnly), .store(.full), .store(.inputOutput), .busy])
        func aDatabaseThatOnlyReadsIsNotHealthy(_ failure: TresorError) async throws {
            let bench = try await Bench()
            let engine = FailingEngine(bench.engine)
            let time = Mutex(ContinuousClock.now)
            func later() { time.withLock { $0 += .seconds(1) } }
            var settings = bench.settings
            settings.steadyClock = { time.withLock { $0 } }
            let service = try Service(engine: engine, settings: settings)
            defer { service.shutDown() }
            #expect(await service.isHealthy())
            engine.fail(failure)
            // All who ask in one second share one look.
            #expect(await service.isHealthy())
            #expect(engine.writes == 1)
            later()
            #expect(await !service.isHealthy())
            engine.fail(nil)
            #expect(await !service.isHealthy())
            later()
            #expect(await service.isHealthy())
            #expect(engine.writes == 3)
        }
    }
#endif
