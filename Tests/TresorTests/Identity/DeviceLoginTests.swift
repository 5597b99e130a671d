// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// All that a machine knows of log-ins goes to another one by a typed code (SPEC §8.6, §20.5).
@Suite struct DeviceLoginTests {
    let scene: DeviceExchange
    let service: LoginService
    private let audience: Hash256

    init() async throws {
        scene = try await DeviceExchange()
        service = try LoginService()
        audience = try anyDigest()
    }

    private func login(_ client: Client) -> Login { Login(client, at: service, audience: audience) }

    private func register(_ text: String) async throws {
        _ = try await login(scene.anna.client).register(password(text), replaces: true)
    }

    /// The log-in that a home knows at the service.
    private func known(in home: any Home) throws -> KnownLogins.Login {
        try KnownLogins.login(at: service.shown.id(), in: home)
    }

    /// Goes through all steps, and gives the session of the new machine.
    private func add() async throws -> Session {
        let handover = try await scene.open()
        let arrival = try await scene.arrive(handover)
        try await handover.answer(try await handover.offer())
        let session = try await arrival.install(
            try await arrival.answer(), newPassword: password("new machine"), cost: .floor)
        await handover.close()
        return session
    }

    @Test func A122_aMachineThatIsAddedKnowsAnOlderLogIn() async throws {
        try await register("first")
        let former = service.kept
        try await register("second")
        let session = try await add()
        #expect(try known(in: scene.home).statement == service.kept?.statement)
        service.kept = former
        #expect(await failure { _ = try await login(session.client).account() } == .forked)
        #expect(
            await failure { _ = try await login(session.client).register(password("third"), replaces: true) }
                == .forked)
    }

    /// Leaves in the new machine's home what an installation that was interrupted leaves there.
    private func interrupt() throws {
        var note = CleanupJournal()
        note.kits = [CleanupJournal.Kit(user: scene.anna.user, locator: try anyDigest())]
        try scene.client(scene.home).cleanup.add(note)
    }

    /// A machine that tried to log in before it was added keeps its tries, and a newer statement that it saw. So does one
    /// that has the newer statement of an earlier bundle, whose installation was interrupted.
    @Test(arguments: [false, true])
    func A122_theNewerStatementOfTwoMachinesStays(isInterrupted: Bool) async throws {
        if isInterrupted { try interrupt() }
        try await register("first")
        let former = try #require(service.kept)
        try await register("second")
        let newer = try #require(service.kept)
        try KnownLogins.note(newer.statement, in: scene.home)
        _ = try KnownLogins.beginTry(at: audience, scene.world.clock.now, in: scene.home)
        let annas = scene.anna.client.home
        try annas.delete(.knownLogins)
        try KnownLogins.note(former.statement, in: annas)
        _ = try await add()
        #expect(try known(in: scene.home).statement == newer.statement)
        #expect(try KnownLogins.login(at: audience, in: scene.home).failures == 1)
    }

    @Test func A122_twoStatementsOfOneRevisionEndIt() async throws {
        try await register("first")
        try KnownLogins.note(try #require(service.kept).statement, in: scene.home)
        service.kept = nil
        try scene.anna.client.home.delete(.knownLogins)
        try await register("second")
        #expect(await failure { _ = try await add() } == .forked)
    }

    @Test func ofOneRevisionTheStatementThatAnInterruptedInstallationLeftGivesWay() async throws {
        try interrupt()
        try await register("first")
        try KnownLogins.note(try #require(service.kept).statement, in: scene.home)
        service.kept = nil
        try scene.anna.client.home.delete(.knownLogins)
        try await register("second")
        _ = try await add()
        #expect(try known(in: scene.home).statement == service.kept?.statement)
    }

    @Test func triesAndOtherPeopleStayWhereTheyAre() async throws {
        let (bert, other) = (try await scene.world.quick("bert"), try LoginService())
        _ = try await Login(bert.client, at: other, audience: audience).register(password("bert"))
        let annas = scene.anna.client.home
        try KnownLogins.note(try #require(other.kept).statement, in: annas)
        _ = try KnownLogins.beginTry(at: audience, scene.world.clock.now, in: annas)
        _ = try await add()
        #expect(scene.home.read(.knownLogins) == nil)
    }

    @Test func aMachineThatIsGivenNoneForgetsThoseThatDoNotRead() async throws {
        try scene.home.replace(.knownLogins, with: [1, 2, 3])
        _ = try await add()
        #expect(scene.home.read(.knownLogins) == nil)
    }

    @Test func knownLoginsThatDoNotReadEndIt() async throws {
        try await register("first")
        // The new machine forgets its own.
        try scene.home.replace(.knownLogins, with: [1, 2, 3])
        _ = try await add()
        #expect(try known(in: scene.home).statement == service.kept?.statement)
        try scene.anna.client.home.replace(.knownLogins, with: [1, 2, 3])
        #expect(await failure { _ = try await scene.open() } == .altered)
    }
}
