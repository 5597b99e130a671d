// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import Tresor
    @testable import TresorRemote
    @testable import TresorService

    /// Following a service by its news.
    @Suite struct ServiceChangesTests {
        private func people(_ stage: ServiceStage) async throws -> (Session, Session) {
            let (anna, bruno) = (try await stage.person("anna"), try await stage.person("bruno"))
            try anna.client.people.pinBlocking(bruno.chain)
            try bruno.client.people.pinBlocking(anna.chain)
            return (anna, bruno)
        }

        /// A change comes long before the next reading, and only what has grown is read.
        @Test func aChangeIsToldAtOnce() async throws {
            let stage = ServiceStage(try await Bench())
            let (anna, bruno) = try await people(stage)
            let others = try await bruno.create("others").id
            _ = try await bruno.tresor(others).state()
            let (store, transport) = stage.process()
            let client = Client(home: bruno.client.home, store: store, clock: stage.bench.clock.read)
            let session = Session(client: client, identity: bruno.identity)
            let (changes, continuation) = AsyncStream.makeStream(of: Change.self)
            let following = Task {
                for await change in session.client.changes(of: bruno.user, every: .seconds(3600)) {
                    continuation.yield(change)
                }
                continuation.finish()
            }
            while stage.bench.service.waitCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
            var told = changes.makeAsyncIterator()
            let plans = try await anna.create("plans")
            try await plans.perform(
                .share(with: [bruno.chain], role: .reader, fromNow: false, notAfter: nil))
            #expect(await told.next() == .added(plans.id))
            let before = transport.sent.filter { $0.target == "/v1/entries" }.count
            try await plans.perform(.rotate)
            #expect(await told.next() == .epochChanged(plans.id, epoch: 2))
            #expect(transport.sent.filter { $0.target == "/v1/entries" }.count <= before + 2)
            #expect(transport.sent.filter { $0.target == "/v1/tresors" }.count == 1)
            following.cancel()
            #expect(await told.next() == nil)
        }

        /// A service that refuses news is read at intervals.
        @Test func aServiceWithoutNewsIsReadAtIntervals() async throws {
            let stage = ServiceStage(try await Bench())
            let (anna, bruno) = try await people(stage)
            let handler = Mute(base: stage.bench.service)
            let transport = LoopbackTransport(into: handler, clock: stage.bench.clock.read)
            let store = HTTPStore(
                ServiceClient(
                    over: transport, clock: stage.bench.clock.read, pause: { _ in }, steadyClock: { .zero }))
            let session = Session(
                client: Client(home: bruno.client.home, store: store, clock: stage.bench.clock.read),
                identity: bruno.identity)
            var changes = Changes(client: session.client, user: bruno.user, interval: .milliseconds(1))
                .makeAsyncIterator()
            let plans = try await anna.create("plans")
            try await plans.perform(
                .share(with: [bruno.chain], role: .reader, fromNow: false, notAfter: nil))
            #expect(await changes.next() == .added(plans.id))
            try await plans.perform(.rotate)
            #expect(await changes.next() == .epochChanged(plans.id, epoch: 2))
        }

        private struct Mute: ServiceHandler {
            let base: Service

            func answer(_ call: ServiceCall) async -> ServiceReply {
                call.operation == .news ? .refused(.busy) : await base.answer(call)
            }

            func isHealthy() async -> Bool { true }
        }
    }
#endif
