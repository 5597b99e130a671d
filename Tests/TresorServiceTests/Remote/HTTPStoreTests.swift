// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorRemote

/// A store over HTTP keeps what the store behind the service keeps.
@Suite struct HTTPStoreTests {
    private static func cast() throws -> (cast: PreviewCast, handler: OpenHandler) {
        let clock = FixedClock()
        let handler = try OpenHandler(MemoryStore(), clock: clock.read)
        let transport = LoopbackTransport(into: handler, clock: clock.read)
        let store = HTTPStore(ServiceClient(over: transport, clock: clock.read))
        return (PreviewCast(store: store, clock: clock), handler)
    }

    @Test func aTresorLivesOnAService() async throws {
        let (cast, handler) = try Self.cast()
        let anna = try await cast.person("anna")
        let bruno = try await cast.person("bruno")
        try cast.introduce(anna, bruno)
        let plans = try await cast.tresor("plans", of: anna, readers: [bruno])
        let file = try await plans.seal(Array("plan".utf8), record: "", type: "text/plain")
        let opened = try await bruno.openFromAnyTresor(file)
        #expect(opened.content == Array("plan".utf8))
        #expect(try await bruno.allTresors().count == 1)
        try await anna.tresors.perform(.revoke([bruno.user]), on: plans.id)
        let later = try await plans.seal(Array("later".utf8), record: "", type: "text/plain")
        #expect(await errorOf { _ = try await bruno.openFromAnyTresor(later) } == .noAccess)
        #expect(handler.seen.contains { $0.operation == .append })
    }

    /// Pages of 7 entries, and of 7 members.
    @Test func shortPagesAreReadOn() async throws {
        let (cast, _) = try Self.cast()
        let anna = try await cast.person("anna")
        var others: [Session] = []
        for number in 0..<9 { others.append(try await cast.person("reader \(number)")) }
        for other in others { try cast.introduce(anna, other) }
        let plans = try await cast.tresor("plans", of: anna, readers: others)
        for _ in 0..<8 { try await anna.tresors.perform(.rotate, on: plans.id) }
        let log = try await anna.client.store.entries(of: plans.id, from: 0, limit: 100)
        #expect(log.count == 10)
        #expect(try await anna.client.store.entries(of: plans.id, from: 1, limit: 8) == Array(log[1..<9]))
        let users = others.map(\.user)
        let wraps = try await anna.client.store.wraps(of: users, in: plans.id, epoch: 1)
        #expect(wraps.count == 9)
        #expect(wraps.allSatisfy { !$0.isEmpty })
    }

    @Test func tresorsAreReadInPages() async throws {
        let (cast, _) = try Self.cast()
        let anna = try await cast.person("anna")
        for number in 0..<16 { _ = try await cast.tresor("plan \(number)", of: anna) }
        #expect(try await anna.client.store.tresors(of: anna.user).count == 16)
    }

    @Test func anEntryIsRestoredWhereItIsThere() async throws {
        let (cast, _) = try Self.cast()
        let anna = try await cast.person("anna")
        let plans = try await cast.tresor("plans", of: anna)
        try await anna.tresors.perform(.rotate, on: plans.id)
        let store = anna.client.store
        let log = try await store.entries(of: plans.id, from: 0, limit: 10)
        #expect(try await store.restore(log[0], at: 0, of: plans.id) == .done)
        #expect(try await store.restore(log[1], at: 0, of: plans.id) == .conflict)
        #expect(try await store.restore(log[1], at: 2, of: plans.id) == .conflict)
    }

    @Test func aDeviceOpensTheIdentityAndForgets() async throws {
        let (cast, handler) = try Self.cast()
        let anna = try await cast.person("anna")
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        let key = try #require(handler.deviceKeys[device.id])
        #expect(try anna.client.device.share()?.publicKey() == key)

        let stranger = Client(home: anna.client.home, store: cast.store, clock: cast.clock.read)
        let opened = try await stranger.device.unlock()
        #expect(opened.user == anna.user)
        try await stranger.device.forget()
        #expect(try await handler.store.serverShare(user: anna.user, device: device.id) == nil)
        #expect(try !stranger.cleanup.isPendingBlocking())
    }

    /// Shares that a device may not delete stay noted, and go with the next session.
    @Test func aKitCopyGoesWithTheNextSession() async throws {
        let (cast, handler) = try Self.cast()
        let anna = try await cast.person("anna")
        let locator = try BLAKE2b.hash(.userID, [1])
        try await handler.store.putKitCopy([1], locator: locator)
        try anna.unlocking.note(kits: [locator])
        let stranger = Client(home: anna.client.home, store: cast.store, clock: cast.clock.read)
        try await stranger.cleanup.finish()
        #expect(try await handler.store.kitCopy(locator: locator) == [1])
        #expect(try stranger.cleanup.isPendingBlocking())
        try await anna.client.cleanup.finish()
        #expect(try await handler.store.kitCopy(locator: locator) == nil)
        #expect(try !stranger.cleanup.isPendingBlocking())
    }

    @Test func aKitRestoresAnIdentityFromAService() async throws {
        let (cast, handler) = try Self.cast()
        let anna = try await cast.person("anna")
        let kit = try RecoveryKit()
        try await anna.unlocking.prepare(kit)
        try await anna.unlocking.setKit(kit)
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        let device = try #require(try anna.client.device.idBlocking())
        let client = Client(home: MemoryHome(), store: cast.store, clock: cast.clock.read)
        let password = try Password(typed: try SecretBytes(copying: Array("a new password".utf8).span))
        let restored = try await client.recover(kit: kit, newPassword: password, cost: .floor)
        #expect(restored.user == anna.user)
        #expect(try await handler.store.serverShare(user: anna.user, device: device) == nil)
    }

    /// On the wire, a request that names no device deletes the shares of all.
    @Test func deletingNoShareDeletesNone() async throws {
        let (cast, handler) = try Self.cast()
        let anna = try await cast.person("anna")
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        try await anna.client.store.deleteServerShares(user: anna.user, devices: [])
        #expect(try await handler.store.serverShare(user: anna.user, device: device.id) != nil)
        try await anna.client.store.deleteServerShares(user: anna.user, devices: nil)
        #expect(try await handler.store.serverShare(user: anna.user, device: device.id) == nil)
    }

    @Test func othersAreNotSpokenFor() async throws {
        let (cast, _) = try Self.cast()
        let anna = try await cast.person("anna")
        let other = try Identity.make(handle: Name(typed: "bruno"), time: cast.clock.now).user
        let store = anna.client.store
        #expect(await errorOf { _ = try await store.tresors(of: other) } == .noAccess)
        #expect(await errorOf { try await store.deleteServerShares(user: other, devices: nil) } == .noAccess)
    }

    /// A store in front of a service passes its caller on, and sees the calls.
    @Test func aStoreInFrontOfAServicePassesTheCallerOn() async throws {
        let clock = FixedClock()
        let handler = try OpenHandler(MemoryStore(), clock: clock.read)
        let transport = LoopbackTransport(into: handler, clock: clock.read)
        let store = FaultyStore(FaultyStore(HTTPStore(ServiceClient(over: transport, clock: clock.read))))
        let anna = try await PreviewCast(store: store, clock: clock).person("anna")
        #expect(store.calls.contains { $0.name == "putCard" })
        #expect(try await anna.client.store.tresors(of: anna.user).isEmpty)
        #expect(await errorOf { _ = try await store.tresors(of: anna.user) } == .noAccess)
    }

    @Test func fewBytesOfAUserIDNameNobody() async throws {
        let (cast, _) = try Self.cast()
        let anna = try await cast.person("anna")
        let id = anna.user.digest.bytes
        #expect(try await anna.client.store.users(prefix: Array(id[..<2]), limit: 10).isEmpty)
        #expect(try await anna.client.store.users(prefix: Array(id[..<3]), limit: 10) == [anna.user])
        #expect(try await anna.client.store.users(prefix: Array(id[..<3]), limit: 0).isEmpty)
    }
}
