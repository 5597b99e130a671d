// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// A full disk keeps nobody from their server share, and gives it to nobody twice.
    @Suite(.overEveryEngine) struct SpentRequestTests {
        /// A service on a disk that may be full, and a device of somebody.
        private struct Scene {
            let bench: Bench
            let engine: FailingEngine
            let service: Service
            let device: Signer
            let share: DeviceShare

            /// - Parameter age: the time for which the service has run, in seconds.
            init(age: UInt64 = 301) async throws {
                bench = try await Bench()
                let anna = try await bench.person("anna")
                (device, share) = try await anna.trustedDevice()
                engine = FailingEngine(bench.engine)
                service = try Service(engine: engine, settings: bench.settings)
                bench.clock.now += age
            }

            func call() throws -> ServiceCall { try device.call(ServerShareRequest(device: share.id)) }
        }

        private static let content = [UInt8](repeating: 9, count: 32)

        @Test func A124_aFullDiskHandsOutAShareOnceARequest() async throws {
            let scene = try await Scene()
            defer { scene.service.shutDown() }
            scene.engine.fail(.store(.full))
            let call = try scene.call()
            let first = await scene.service.answer(call)
            #expect(try ServerShareAnswer(first.body).share == Self.content)
            #expect(await scene.service.answer(call) == .forbidden)
            // The same id serves no other device either.
            let id = try randomBytes(16)
            let other = try scene.device.call(ServerShareRequest(device: scene.share.id), id: id)
            #expect(await scene.service.answer(other).status == 200)
            let again = try scene.device.call(ServerShareRequest(device: scene.share.id), id: id)
            #expect(await scene.service.answer(again) == .forbidden)
            // Room on the disk does not make them good again.
            scene.engine.fail(nil)
            for spent in [call, other, again] { #expect(await scene.service.answer(spent) == .forbidden) }
            let next = try scene.call()
            #expect(await scene.service.answer(next).status == 200)
            #expect(await scene.service.answer(next) == .forbidden)
        }

        @Test func A124_aRequestThatIsOnTheDiskIsSpentThere() async throws {
            let scene = try await Scene()
            defer { scene.service.shutDown() }
            let call = try scene.call()
            #expect(await scene.service.answer(call).status == 200)
            scene.engine.fail(.store(.full))
            #expect(await scene.service.answer(call) == .forbidden)
        }

        /// A process before this one may have had the request in its memory.
        @Test func A124_aProcessAnswersNothingFromBeforeItsStart() async throws {
            let scene = try await Scene(age: 300)
            defer { scene.service.shutDown() }
            scene.engine.fail(.store(.full))
            let call = try scene.call()
            #expect(await scene.service.answer(call).status == 507)
            scene.bench.clock.now += 1
            let later = try scene.call()
            #expect(await scene.service.answer(later).status == 200)
            // Another fault of the database is no reason.
            scene.engine.fail(.store(.inputOutput))
            let last = try scene.call()
            #expect(await scene.service.answer(last).status == 503)
        }

        /// One copy finds the disk full, while the other one is on its way to it.
        @Test func A124_ofTwoCopiesOneGetsTheShare() async throws {
            let scene = try await Scene(age: 0)
            defer { scene.service.shutDown() }
            let meddling = MeddlingEngine(scene.engine)
            let service = try Service(engine: meddling, settings: scene.bench.settings)
            defer { service.shutDown() }
            scene.bench.clock.now += 301
            let call = try scene.call()
            let engine = scene.engine
            meddling.beforeNextWrite {
                engine.fail(.store(.full), count: 1)
                let copy = await service.answer(call)
                #expect(copy.status == 200)
            }
            #expect(await service.answer(call) == .forbidden)
        }

        /// One copy gets the share from the disk, and the other one finds that full.
        @Test func A124_ofTwoCopiesTheOneOnTheDiskGetsTheShare() async throws {
            let scene = try await Scene(age: 0)
            defer { scene.service.shutDown() }
            let meddling = MeddlingEngine(scene.engine)
            let service = try Service(engine: meddling, settings: scene.bench.settings)
            defer { service.shutDown() }
            scene.bench.clock.now += 301
            let call = try scene.call()
            let engine = scene.engine
            meddling.beforeNextWrite {
                let copy = await service.answer(call)
                #expect(copy.status == 200)
                engine.fail(.store(.full))
            }
            #expect(await service.answer(call) == .forbidden)
            engine.fail(nil)
            #expect(await service.answer(call) == .forbidden)
        }

        /// A request that nobody was answered is not spent: damage does not hide behind a refusal.
        @Test func aRequestThatFailedIsNotSpent() async throws {
            let scene = try await Scene(age: 0)
            defer { scene.service.shutDown() }
            let meddling = MeddlingEngine(scene.engine)
            let service = try Service(engine: meddling, settings: scene.bench.settings)
            defer { service.shutDown() }
            scene.bench.clock.now += 301
            let engine = scene.engine
            // The look for the share, the one for a kept answer, and the one for the account the second time.
            for (count, status, later) in [(1, 200, 403), (3, 503, 200)] {
                let call = try scene.call()
                meddling.beforeNextWrite {
                    engine.fail(.store(.full))
                    engine.failReads(.store(.damaged), count: count)
                }
                let reply = await service.answer(call)
                #expect(reply.status == status)
                let isDamaged = reply.cause == .damaged
                #expect(isDamaged == (status == 503))
                #expect(await service.answer(call).status == later)
                engine.fail(nil)
            }
        }

        @Test func whatIsSpentHasBounds() throws {
            let spent = SpentRequests(start: 1_000, share: 2, maximum: 3)
            func key(_ user: UInt8, _ id: UInt8, time: UInt64 = 2_000) throws -> RequestKey {
                let statement = try RequestStatement(
                    session: .zero, id: [UInt8](repeating: id, count: 16), time: time, operation: .serverShare, body: []
                )
                return RequestKey(statement, of: UserID(try #require(Hash256([UInt8](repeating: user, count: 32)))))
            }
            let (first, second) = (try key(1, 1), try key(1, 2))
            try spent.spend(first, at: 2_000)
            try spent.spend(second, at: 2_001)
            #expect(throws: TresorError.noAccess) { try spent.spend(first, at: 2_001) }
            // A person has a share, and all together have one.
            #expect(throws: TresorError.store(.full)) { try spent.spend(try key(1, 3), at: 2_001) }
            try spent.spend(try key(2, 1), at: 2_001)
            #expect(throws: TresorError.store(.full)) { try spent.spend(try key(3, 1), at: 2_001) }
            #expect(throws: TresorError.store(.full)) { try spent.spend(try key(4, 1, time: 1_300), at: 2_001) }
            // A request that was spent for nothing gives its place back, and may be spent again.
            spent.release(first)
            #expect(!spent.contains(first) && spent.contains(second))
            try spent.spend(first, at: 2_000)
            spent.release(try key(9, 9))
            #expect(throws: TresorError.store(.full)) { try spent.spend(try key(2, 2), at: 2_001) }
            // Requests that nobody may send any more are forgotten.
            try spent.spend(try key(3, 1, time: 2_601), at: 2_601)
            #expect(!spent.contains(first) && spent.contains(second))
        }
    }
#endif
