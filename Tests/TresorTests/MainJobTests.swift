// SPDX-License-Identifier: Apache-2.0

import Testing
import Tresor
import TresorCore
import TresorCrypto

@Suite struct MainJobTests {
    private let json = try? Name(typed: "application/json")
    private let plan = Array(#"{"resourceType":"CarePlan","status":"active"}"#.utf8)

    @Test func patientSharesReadsAndTakesBack() async throws {
        let world = World()
        let anna = try await world.person("anna")
        let house = try await world.person("dr-house")
        try world.introduce(anna, house)
        let tresor = try await anna.tresors.create(try Name(typed: "interventions")).tresor
        let type = try #require(json)

        let before = try await anna.files.seal(plan, type: type, in: tresor)
        #expect(await failure { _ = try await house.files.open(before) } == .noAccess)

        let share = Act.share(with: [house.identity.chain], role: .reader, fromNow: false, notAfter: nil)
        let shared = try await anna.tresors.perform(share, on: tresor)
        #expect(shared.effect.admitted == [house.identity.user])
        let opened = try await house.files.open(before)
        #expect(opened.content == plan)
        #expect(opened.author.user == anna.identity.user)
        #expect(opened.author.status == .current)
        let state = try await house.client.logs.state(of: tresor)
        #expect(try await house.tresors.name(in: state) == Name(typed: "interventions"))

        #expect(await failure { _ = try await house.files.seal(plan, type: type, in: tresor) } == .noAccess)

        let revoked = try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
        #expect(revoked.state.epoch == 2)
        let after = try await anna.files.seal(plan, type: type, in: tresor)
        #expect(await failure { _ = try await house.files.open(after) } == .noAccess)
        #expect(try await anna.files.open(before).content == plan)
        #expect(try await anna.files.open(after).content == plan)
    }

    @Test func fromNowReadsNothingEarlier() async throws {
        let world = World()
        let anna = try await world.person("anna")
        let house = try await world.person("dr-house")
        try world.introduce(anna, house)
        let tresor = try await anna.tresors.create(try Name(typed: "interventions")).tresor
        let type = try #require(json)
        let before = try await anna.files.seal(plan, type: type, in: tresor)
        let share = Act.share(with: [house.identity.chain], role: .reader, fromNow: true, notAfter: nil)
        _ = try await anna.tresors.perform(share, on: tresor)
        #expect(await failure { _ = try await house.files.open(before) } == .noAccess)
        let after = try await anna.files.seal(plan, type: type, in: tresor)
        #expect(try await house.files.open(after).content == plan)
        let state = try await house.client.logs.state(of: tresor)
        #expect(try await house.tresors.name(in: state) == Name(typed: "interventions"))
    }

    @Test func identityOpensWithItsPasswordAlone() async throws {
        let world = World()
        let home = MemoryHome()
        let anna = try await world.person("anna", home: home)
        let again = try await world.client(home).unlock(password: try password("anna"))
        #expect(again.identity.user == anna.identity.user)
        #expect(
            await failure { _ = try await world.client(home).unlock(password: try password("anne")) } == .wrongPassword)
    }
}
