// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore
import TresorCrypto

@testable import Tresor

/// One scenario over each kind of store. `scripts/test-stores` runs all suites over each.
@Suite struct StoreKindTests {
    @Test(arguments: StoreKind.installed)
    func whatIsSharedIsReadUntilItIsRevoked(_ kind: StoreKind) async throws {
        try await StoreKind.$chosen.withValue(kind) {
            let world = World()
            let (anna, house) = (try await world.quick("anna"), try await world.quick("dr-house"))
            try world.introduce(anna, house)
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await anna.share(tresor, with: [house], as: .writer)
            let file = try await house.seal("500 mg", in: tresor)
            #expect(try await anna.files.open(file).content == Array("500 mg".utf8))
            #expect(try await house.tresors.all().map(\.id) == [tresor])
            try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
            let after = try await anna.seal("250 mg", in: tresor)
            #expect(await failure { _ = try await world.session(of: house).files.open(after) } == .noAccess)
            #expect(try await world.session(of: anna).files.open(after).content == Array("250 mg".utf8))
            // The store holds the log that everybody verified.
            let state = try await world.session(of: anna).client.logs.state(of: tresor)
            #expect(try await log(tresor, in: world.store).count == Int(state.entryCount))
            #expect(try await world.store.tresors(of: anna.identity.user) == [tresor])
            #expect(try await world.store.wraps(of: house.identity.user, in: tresor, epoch: nil).isEmpty)
        }
    }

    @Test(arguments: StoreKind.installed)
    func aDeviceOpensUntilItIsForgotten(_ kind: StoreKind) async throws {
        try await StoreKind.$chosen.withValue(kind) {
            let world = World()
            let anna = try await world.quick("anna")
            let device = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            #expect(try await world.store.serverShare(user: anna.identity.user, device: device.id) != nil)
            let opened = try await anna.client.device.unlock()
            #expect(opened.identity.user == anna.identity.user)
            try await opened.unlocking.revokeDevices([device.id])
            #expect(try await world.store.serverShare(user: anna.identity.user, device: device.id) == nil)
        }
    }

    /// A lie of a store is found out, whatever stands between it and the client.
    @Test(arguments: StoreKind.installed)
    func A59_aStoreThatLiesIsFoundOut(_ kind: StoreKind) async throws {
        try await StoreKind.$chosen.withValue(kind) {
            let evil = EvilStore()
            let world = World(store: evil)
            let anna = try await world.quick("anna")
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await anna.tresors.perform(.rotate, on: tresor)
            evil.frozen(1)
            let reader = world.session(of: anna)
            #expect(await failure { _ = try await reader.client.logs.state(of: tresor) } == .forked)
            evil.behave()
            evil.flip(entry: 1, bit: 3)
            #expect(await failure { _ = try await reader.client.logs.state(of: tresor) } != nil)
            evil.behave()
            #expect(try await reader.client.logs.state(of: tresor).entryCount == 2)
        }
    }
}
