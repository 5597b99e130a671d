// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorService

    /// The attacks on log-ins by password.
    extension RealServiceTests {
        @Test func A118_withoutTheLimitsGuessesHaveNoEnd() async throws {
            try await Self.expectReal(without: .loginLimit) {
                let scene = try await LoginScene()
                _ = try await scene.person("anna")
                let request = try scene.first("anna", "a wrong password")
                var last = 0
                for _ in 0..<40 { last = await scene.reply(to: request).status }
                return last == 200
            }
        }

        @Test func A119_withoutTheChecksAnAttemptNeedsNoPassword() async throws {
            try await Self.expectReal(without: .lastMessage) {
                let scene = try await LoginScene()
                _ = try await scene.person("anna")
                let begun = try await scene.begin("anna", "a wrong password")
                return await scene.reply(to: begun.finish).status == 200
            }
            try await Self.expectReal(without: .attemptTime) {
                let scene = try await LoginScene()
                _ = try await scene.person("anna")
                let begun = try await scene.begin("anna")
                scene.bench.clock.now += 3_600
                return await scene.reply(to: begun.finish).status == 200
            }
        }

        @Test func A121_withoutTheCheckAFormerPasswordComesBack() async throws {
            try await Self.expectReal(without: .loginRevision) {
                let scene = try await LoginScene()
                let (anna, first) = try await scene.person("anna")
                _ = try await anna.ask(try await scene.setting("another horse battery", of: anna, revision: 2))
                _ = try await anna.reply(first)
                return try await scene.begin("anna").last != nil
            }
        }
    }
#endif
