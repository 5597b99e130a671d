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
        /// An engine whose writes may fail.
        private final class FailingEngine: SQLEngine {
            private let engine: any SQLEngine
            private let state = Mutex((failure: TresorError?.none, writes: 0))

            init(_ engine: any SQLEngine) { self.engine = engine }

            var dialect: SQLDialect { engine.dialect }
            var writes: Int { state.withLock { $0.writes } }
            func fail(_ failure: TresorError?) { state.withLock { $0.failure = failure } }

            func write<Value: Sendable>(
                erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
            ) async throws(TresorError) -> Value {
                let failure = state.withLock { state in
                    state.writes += 1
                    return state.failure
                }
                if let failure { throw failure }
                return try await engine.write(erasing: erasing, body)
            }

            func read<Value: Sendable>(
                _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
            ) async throws(TresorError) -> Value { try await engine.read(body) }

            func notify(_ hint: [UInt8]) {}
            func hints() -> AsyncStream<[UInt8]> { engine.hints() }
            func close() async { await engine.close() }
        }

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

        /// What can still be written to a damaged file does not make it good.
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
