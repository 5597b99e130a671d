// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import TestSupport
    import Testing
    import TresorCore
    import TresorService

    /// Processes that are killed while many people write. `scripts/kill-service` makes a long run of it.
    @Suite(.serialized, .longRun) struct KillTests {
        private static func number(_ name: String, _ otherwise: UInt64) -> UInt64 {
            ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? otherwise
        }

        /// Each act that was acknowledged is there, and none twice; no log has gone back.
        @Test(arguments: EngineKind.installed)
        func aKilledServiceKeepsWhatItAcknowledged(_ kind: EngineKind) async throws {
            let count = Self.number("TRESOR_KILLS", 5)
            let seed = Self.number("TRESOR_SEED", UInt64.random(in: 0..<1 << 32))
            var dice = Dice(seed: seed)
            let people = try Crowd.people()
            let service = try await KilledService(kind, people: people)
            let crowd = try await Crowd(people, at: service.port)
            let isOver = Flag()
            let start = ContinuousClock.now
            async let acting = crowd.act(until: isOver)
            do {
                defer { isOver.raise() }
                for number in 0..<count where !isOver.isRaised {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 50...900, using: &dice)))
                    // The first kills are of each kind.
                    let victims = service.victims
                    let victim =
                        number < victims.count ? victims[Int(number)] : victims.randomElement(using: &dice) ?? .server
                    try await service.kill(victim, dice.next())
                }
            }
            let records = try await acting
            let engine = try await service.open()
            try await crowd.judge(records, in: engine)
            await engine.close()
            try await service.stopAndCheck()
            let acts = records.map { $0.deeds.count + $0.rotations }.reduce(0, +)
            #expect(acts >= Crowd.count)
            print(
                """
                \(kind.rawValue), seed \(seed): \(service.kills.map { "\($0.value) kills of \($0.key)" }.sorted()), \
                \(acts) acts acknowledged, \(records.map(\.failures).reduce(0, +)) failed, \
                \(ContinuousClock.now - start)
                """)
        }
    }
#endif
