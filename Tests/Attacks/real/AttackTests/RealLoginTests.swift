// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// Log-ins by password, at a service that is not honest.
    @Suite struct Logins {
        private let world = World()
        private let audience: Hash256

        init() throws { audience = try anyDigest() }

        private func login(_ client: Client, at service: LoginService) -> Login {
            Login(client, at: service, audience: audience)
        }

        /// Logs in, and tells whether the service got what depends on the password.
        private func isAsked(_ service: LoginService, from home: MemoryHome) async throws -> Bool {
            _ = service.take()
            do {
                _ = try await login(world.client(home), at: service).open(
                    Name(typed: "anna"), password: password("first"))
            } catch TresorError.wrongPassword {
                // It has no log-in of this name.
            }
            return service.take().contains(.login)
        }

        @Test func A115_withoutTheChecksAServiceIsSentWhatItMayNotGet() async throws {
            let greedy = try LoginService(memoryKiB: 1024, passes: 1)
            await RealAttackTests.expectReal(.altered, without: .cost) {
                try await isAsked(greedy, from: MemoryHome())
            }
            let home = MemoryHome()
            try KnownServices.meet(try anyDigest(), at: audience, in: home)
            let other = try LoginService()
            await RealAttackTests.expectReal(.altered, without: .loginService) {
                try await isAsked(other, from: home)
            }
        }

        @Test func A117_withoutThePauseEachAnswerTestsAGuess() async throws {
            let home = MemoryHome()
            // The impostor is another service each time.
            for _ in 0..<3 {
                let impostor = try LoginService()
                let isAsked = try await isAsked(impostor, from: home)
                #expect(isAsked)
            }
            let last = try LoginService()
            await RealAttackTests.expectReal(.busy, without: .loginPause) {
                try await isAsked(last, from: home)
            }
        }

        @Test func A122_withoutTheCheckAFormerPasswordCounts() async throws {
            let service = try LoginService()
            let anna = try await world.quick("anna")
            let hers = login(anna.client, at: service)
            _ = try await hers.register(password("first"))
            let former = service.kept
            _ = try await hers.register(password("second"), replaces: true)
            let home = MemoryHome()
            let desk = login(world.client(home), at: service)
            _ = try await desk.open(Name(typed: "anna"), password: password("second"))
            service.kept = former
            await RealAttackTests.expectReal(.forked, without: .olderLogin) {
                try await desk.open(Name(typed: "anna"), password: password("first")).chain == anna.chain
            }
        }

        @Test func A122_withoutTheNotesOfTheOtherMachineAFormerPasswordCounts() async throws {
            let service = try LoginService()
            let anna = try await world.quick("anna")
            let hers = login(anna.client, at: service)
            _ = try await hers.register(password("first"))
            let former = service.kept
            _ = try await hers.register(password("second"), replaces: true)
            let noted = try #require(try anna.client.home.read(.knownLogins))
            let given = try KnownLogins(noted).statements(of: anna.user)
            service.kept = former
            await RealAttackTests.expectReal(.forked, without: .givenLogins) {
                let home = MemoryHome()
                try home.replace(.knownLogins, with: KnownLogins().joined(with: given, replacing: false).bytes)
                let desk = login(world.client(home), at: service)
                return try await desk.open(Name(typed: "anna"), password: password("first")).chain == anna.chain
            }
        }

        @Test func A122_withoutTheCheckAnAddressThatNamesAServiceGetsItsLogInForgotten() async throws {
            let service = try LoginService()
            let anna = try await world.quick("anna")
            let hers = login(anna.client, at: service)
            _ = try await hers.register(password("first"))
            let former = service.kept
            _ = try await hers.register(password("second"), replaces: true)
            let home = MemoryHome()
            let desk = login(world.client(home), at: service)
            _ = try await desk.open(Name(typed: "anna"), password: password("second"))
            service.kept = former
            let claimed = try anyDigest()
            try KnownServices.meet(service.shown.id(), at: claimed, in: home)
            await RealAttackTests.expectReal(.forked, without: .claimedService) {
                let server = try KnownServices.believed(at: claimed, noted: nil, in: home)
                try KnownLogins.forget(at: server, in: home)
                return try await desk.open(Name(typed: "anna"), password: password("first")).chain == anna.chain
            }
        }
    }
}
