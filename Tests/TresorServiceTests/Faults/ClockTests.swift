// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorRemote
    import TresorTesting

    @testable import TresorService

    /// People whose clock is off, before a service whose clock is right.
    @Suite struct ClockTests {
        /// A person whose clock differs from that of the service.
        private func person(_ handle: String, off seconds: Int64, _ bench: Bench) async throws -> Session {
            let clock: @Sendable () -> UInt64 = { UInt64(Int64(bench.clock.now) + seconds) }
            let store = HTTPStore(
                ServiceClient(
                    over: LoopbackTransport(into: bench.service, clock: bench.clock.read), clock: clock,
                    pause: { _ in },
                    steadyClock: { .zero }
                ))
            let identity = try Identity.make(handle: Name(typed: handle), time: clock())
            let session = try Newcomer.session(of: identity, on: store, clock: clock)
            try await Newcomer.register(identity, with: store.service, time: clock())
            return session
        }

        /// The client takes the time of the service for its sessions, once. What it writes carries its own date, and
        /// nobody is kept out by it.
        @Test(arguments: [(-900, 0), (900, 0), (0, -900), (0, 900), (-900, 900)] as [(Int64, Int64)])
        func aClockThatIsOffByAQuarterOfAnHourKeepsNobodyOut(_ hers: Int64, _ his: Int64) async throws {
            let bench = try await Bench()
            let anna = try await person("anna", off: hers, bench)
            let bruno = try await person("bruno", off: his, bench)
            try anna.client.people.pinBlocking(bruno.chain)
            try bruno.client.people.pinBlocking(anna.chain)
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await anna.tresors.perform(
                .share(with: [bruno.chain], role: .owner, fromNow: false, notAfter: nil), on: tresor)
            let file = try await anna.tresor(tresor).seal(Array("plan".utf8), record: "", type: "")
            #expect(try await bruno.openFromAnyTresor(file).content == Array("plan".utf8))
            try await bruno.tresors.perform(.rotate, on: tresor)
            try await anna.tresors.perform(.rotate, on: tresor)
            #expect(try await bruno.client.logs.state(of: tresor).head.sequence == 3)
            _ = try await bruno.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            #expect(try await bruno.client.device.unlock().user == bruno.user)
            #expect(try await bench.service.check().isClean)
        }

        /// A service whose clock is a day ahead of the world serves everybody all the same: its own clock counts.
        @Test func aServiceWhoseClockJumpsServesOn() async throws {
            let bench = try await Bench()
            let anna = try await person("anna", off: 0, bench)
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            for jump in [86_400, -2 * 86_400, 86_400] as [Int64] {
                let before = bench.clock.now
                bench.clock.now = UInt64(Int64(before) + jump)
                try await anna.tresors.perform(.rotate, on: tresor)
            }
            #expect(try await anna.client.logs.state(of: tresor).head.sequence == 3)
        }
    }
#endif
