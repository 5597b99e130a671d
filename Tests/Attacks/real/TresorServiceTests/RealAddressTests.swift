// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import TresorRemote
    @testable import TresorService

    /// The attacks of somebody who stands between a person and a service.
    extension RealServiceTests {
        @Test func A235_withoutTheChecksASessionIsPassedOn() async throws {
            try await Self.expectReal(without: .sessionAudience) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let relay = Audience(isSecure: true, host: "relay.example", port: 443)
                let key = try SessionKey(
                    of: anna.identity, device: nil, server: bench.service.id, audience: relay.hash(),
                    since: bench.clock.now, duration: 60)
                let relayed = Signer(service: bench.service, clock: bench.clock, identity: anna.identity, key: key)
                return try await relayed.reply(AccountRequest()).status == 200
            }
            try await Self.expectReal(without: .knownService) {
                let home = MemoryHome()
                try KnownServices.meet(.zero, at: .zero, in: home)
                let other = try BLAKE2b.hash(.serverID, [1])
                do { try KnownServices.meet(other, at: .zero, in: home) } catch { return false }
                return true
            }
        }

        @Test func A236_withoutTheChecksRequestsOfLaterAreGood() async throws {
            try await Self.expectReal(without: .nearClock) {
                let stage = try RemoteStage(lead: 86_400)
                return await errorOf { _ = try await stage.publish() } == nil
            }
            try await Self.expectReal(without: .ownEra) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                _ = try await anna.ask(EndSessionsRequest())
                return try await anna.reply(AccountRequest()).status == 200
            }
            try await Self.expectReal(without: .openSession) {
                let bench = try await Bench()
                let service = try Service(engine: bench.engine, settings: bench.settings)
                let anna = try await bench.person("anna")
                let founding = try anna.founding()
                _ = try await anna.at(service).ask(founding)
                _ = try await anna.ask(EndSessionsRequest())
                return try await anna.at(service).reply(try founding.next(by: anna)).status == 200
            }
            try await Self.expectReal(without: .endedDebt) {
                let bench = try await Bench(quotas: { $0.requestsPerSecond = 1 })
                let engine = MeddlingEngine(bench.engine)
                let service = try Service(engine: engine, settings: bench.settings)
                let anna = try await bench.person("anna").at(service)
                let founding = try anna.founding()
                _ = try await anna.ask(founding)
                let emptying = try (0..<9).map { _ in try anna.call(AccountRequest()) }
                let ending = Account.beginning(try Era.first.next(), of: anna.user)
                engine.beforeNextWrite { [bench] in
                    for call in emptying { _ = await service.answer(call) }
                    _ = try? await bench.engine.write([ending])
                }
                return try await anna.reply(try founding.next(by: anna)).status == 401
            }
        }
    }
#endif
