// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto

    @testable import TresorService

    /// The exchanges with a server of the database that requests take: one for the rows of the session, and one for the
    /// rest; in a session that was open lately, one for both where that can be.
    @Suite(.overEveryEngine) struct ExchangeTests {
        /// A service that counts, and a household at it.
        private struct Scene {
            let house: Household
            let engine: CountingEngine
            let service: Service

            init() async throws {
                house = try await Household(Bench())
                engine = CountingEngine(house.bench.engine)
                service = try Service(engine: engine, settings: house.bench.settings)
            }

            /// A request that names the tresor.
            func naming() async throws -> AppendRequest {
                let state = try await house.state()
                let keys = try await house.owner.keyRing.keys(of: state.epoch, in: state)
                let name = try SealedName(
                    try Name(typed: "care"), kind: .empty, under: keys.content, tresor: house.tresor,
                    epoch: state.epoch, sequence: state.head.sequence + 1)
                return try await house.request(.rename(RenameBody(name)), by: house.owner)
            }

            /// Returns the exchanges that a request takes which is answered.
            func count<Request: ServiceRequest>(_ request: Request, by signer: Signer) async throws -> Int {
                let before = engine.exchangeCount
                #expect(try await signer.at(service).reply(request).status == 200, "\(Request.operation)")
                return engine.exchangeCount - before
            }
        }

        /// What is read ahead of the payment is bounded: all other requests of the person pay before they read much.
        @Test func A233_oneRequestOfAPersonReadsAheadOfItsPayment() async throws {
            let scene = try await Scene()
            defer { scene.service.shutDown() }
            let reader = try scene.house.signer(scene.house.reader)
            let request = TresorsRequest(after: .zero)
            for count in [2, 1] { #expect(try await scene.count(request, by: reader) == count) }
            let beside = Mutex(0)
            scene.engine.beforeNextRead {
                let count = try? await scene.count(request, by: reader)
                beside.withLock { $0 = count ?? 0 }
            }
            #expect(try await scene.count(request, by: reader) == 3)
            #expect(beside.withLock { $0 } == 2)
            #expect(try await scene.count(request, by: reader) == 1)
        }

        /// The first one proves the session, and those behind it read along with its rows.
        @Test func aReadInARecentSessionIsOneExchange() async throws {
            let scene = try await Scene()
            defer { scene.service.shutDown() }
            let house = scene.house
            let (tresor, users) = (house.tresor, [house.owner.user, house.writer.user])
            for session in [house.owner, house.reader] {
                let reader = try house.signer(session)
                #expect(try await scene.count(TresorsRequest(after: .zero), by: reader) == 2)
                #expect(try await scene.count(TresorsRequest(after: .zero), by: reader) == 1)
                for (first, limit) in [(0, 100), (1, 1), (1_000, 1), (UInt64.max, .max)] as [(UInt64, UInt32)] {
                    let request = EntriesRequest(tresor: tresor, first: first, limit: limit)
                    #expect(try await scene.count(request, by: reader) == 1)
                }
                #expect(try await scene.count(WrapsRequest(tresor: tresor, epoch: 1, users: users), by: reader) == 1)
                let own = WrapsRequest(tresor: tresor, epoch: nil, users: [session.user])
                #expect(try await scene.count(own, by: reader) == 1)
                #expect(try await scene.count(CardRequest(user: house.owner.user), by: reader) == 1)
                let handle = CardsRequest(handle: house.owner.chain.handle.bytes)
                #expect(try await scene.count(handle, by: reader) == 1)
            }
        }

        /// More people than one statement reads are read one group after the other.
        @Test func manyWrapsAreReadGroupByGroup() async throws {
            let scene = try await Scene()
            defer { scene.service.shutDown() }
            let owner = try scene.house.signer(scene.house.owner)
            let users = [UserID](repeating: owner.user, count: 17)
            let request = WrapsRequest(tresor: scene.house.tresor, epoch: 1, users: users)
            #expect(try await scene.count(request, by: owner) == 1 + 4)
        }

        @Test func aServerShareIsHandedOutInOneExchange() async throws {
            let scene = try await Scene()
            defer { scene.service.shutDown() }
            let (device, share) = try await scene.house.bench.person("anna").trustedDevice()
            #expect(try await scene.count(ServerShareRequest(device: share.id), by: device) == 2)
        }

        @Test func anAppendOfARecentSessionIsOneExchange() async throws {
            let scene = try await Scene()
            defer { scene.service.shutDown() }
            let owner = try scene.house.signer(scene.house.owner)
            // The first one finds the end of the log, and sums what room the founder has used.
            #expect(try await scene.count(try await scene.naming(), by: owner) > 1)
            #expect(try await scene.count(try await scene.naming(), by: owner) == 1)
        }

        /// A page ends before the entry with which it would take more bytes, and has at least one.
        @Test func aPageEndsAtItsBytes() async throws {
            let scene = try await Scene()
            defer { scene.service.shutDown() }
            let (engine, tresor) = (scene.house.bench.engine, scene.house.tresor)
            let all = try Logs.entries(try await engine.read(Logs.page(of: tresor, 0..<100, byteCount: 4 << 20)))
            #expect(try await all.count == Int(scene.house.state().entryCount) && all.count > 2)
            let two = all[0].count + all[1].count + 8
            for (byteCount, count) in [(0, 1), (two - 1, 1), (two, 2), (two + all[2].count + 3, 2)] {
                let page = try await engine.read(Logs.page(of: tresor, 0..<100, byteCount: byteCount))
                #expect(try Logs.entries(page) == Array(all.prefix(count)), "\(byteCount)")
            }
            let last = UInt64(all.count - 1)
            #expect(try await engine.read(Logs.page(of: tresor, last..<last, byteCount: 9)).isEmpty)
            #expect(try await engine.read(Logs.page(of: tresor, last..<100, byteCount: 0)).count == 1)
        }
    }
#endif
