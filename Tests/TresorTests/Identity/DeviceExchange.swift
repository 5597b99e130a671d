// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Two machines of one person, one of which has the identity (SPEC §8.6).
struct DeviceExchange {
    let world: World
    let evil: EvilStore
    let anna: Session
    /// The home of the new machine.
    let home = MemoryHome()

    init() async throws {
        evil = EvilStore()
        world = World(store: evil)
        anna = try await world.quick("anna")
    }

    /// Waits that end with the patience of the machines: each look costs a minute.
    var wait: DeviceWait {
        var wait = DeviceWait()
        wait.pause = { [clock = world.clock] _ in clock.advance(by: 60) }
        return wait
    }

    /// The machine with the identity has shown its code.
    func open(_ session: Session? = nil) async throws -> DeviceHandover {
        try await DeviceHandover.open(session ?? anna, waiting: wait)
    }

    /// A new machine on which the code of the other one was typed.
    func arrive(
        _ handover: DeviceHandover, at home: MemoryHome? = nil, named name: StoreName? = nil
    ) async throws -> DeviceArrival {
        let code = try DeviceCode(typed: handover.code)
        return try await DeviceArrival.begin(client(home ?? self.home, named: name), code: code, waiting: wait)
    }

    func client(_ home: MemoryHome, named name: StoreName? = nil) -> Client {
        Client(home: home, store: StageStores.seen(evil), named: name, clock: { [clock = world.clock] in clock.now })
    }

    /// A session of anna whose calls go through another store.
    func anna(over store: any Store) -> Session {
        let client = Client(
            home: anna.client.home, store: store, clock: { [clock = world.clock] in clock.now })
        return Session(client: client, identity: anna.identity)
    }

    /// The messages in the mailbox.
    func mailbox(_ handover: DeviceHandover) async throws -> DeviceMailbox? {
        try await evil.truth.kitCopy(locator: handover.locator).map { try DeviceMailbox($0) }
    }

    /// Shows these letters to everybody, whatever lies in the mailbox.
    func show(_ letters: DeviceMailbox.Letters, of handover: DeviceHandover) {
        let bytes = DeviceMailbox(until: handover.until, letters).bytes
        evil.showKitCopy { _ in bytes }
    }

    /// The offer of a machine on which another code was typed.
    func foreignOffer() throws -> DeviceOffer {
        let key = try DeviceCode().key()
        let seed = try SecretKey<KEMUse>()
        return try DeviceOffer(of: XWing.publicKey(seed: seed), until: world.clock.now + 600, under: key)
    }
}
