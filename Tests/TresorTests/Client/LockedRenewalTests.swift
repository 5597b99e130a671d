// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A session that is locked during a renewal has new keys as a whole, or none.
@Suite struct LockedRenewalTests {
    /// The side that locks the session, at one of the calls that it gets.
    enum Side: CaseIterable {
        case home, store
    }

    @Test(arguments: Side.allCases) func thereAreNewKeysAsAWholeOrNotAtAll(side: Side) async throws {
        var outcomes: Set<Bool> = []
        for call in 0..<200 {
            let stage = try await LockedStage()
            let (before, writes) = (stage.home.base.contents, stage.store.writes)
            switch side {
            case .home: stage.home.lock(stage.anna, at: call)
            case .store: stage.store.cancel(at: call) { stage.anna.lock() }
            }
            let kit = try RecoveryKit()
            let locator = try kit.locator()
            let result = await stage.renewed(kit)
            let wasLocked = stage.anna.isLocked
            switch result {
            case .success(let renewed):
                #expect(renewed.isLocked == wasLocked, "call \(call)")
                try await stage.expectNewKeys(renewed.chain, locator, "call \(call)")
            case .failure(let error):
                #expect(error == .usage(.locked), "call \(call)")
                #expect(stage.home.base.contents == before && stage.store.writes == writes, "call \(call)")
            }
            guard wasLocked else {
                #expect(outcomes == [true, false], "it was locked too late or too early every time")
                return
            }
            outcomes.insert((try? result.get()) != nil)
        }
        Issue.record("it has no end")
    }
}

/// A person with a kit and a trusted device.
private struct LockedStage {
    let store = CancellingStore()
    let home = LockingHome()
    let world: World
    let anna: Session
    let device: DeviceID
    let oldKit: Hash256

    init() async throws {
        world = World(store: store)
        anna = world.session(of: try await world.quick("anna", home: home.base), home: home)
        oldKit = try await anna.unlocking.makeKit().locator()
        device = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9).id
    }

    func renewed(_ kit: consuming RecoveryKit) async -> Result<Session, TresorError> {
        let given: RecoveryKit? = kit
        do {
            return .success(try await anna.renewal.renew(password: password("new"), cost: .floor, kit: given))
        } catch {
            return .failure(error as? TresorError ?? .failed(.other))
        }
    }

    /// Nothing of the old unlock methods is left, and the new ones are whole.
    func expectNewKeys(_ chain: CardChain, _ locator: Hash256, _ place: Comment) async throws {
        let client = world.client(home.base)
        let file = try client.identityFileBlocking()
        #expect(file.chain == chain && chain.newest.generation == 1, place)
        #expect(file.devices.isEmpty && file.kitLocator == locator, place)
        #expect(home.base.contents[.deviceShare] == nil, place)
        #expect(try await store.serverShare(user: chain.user, device: device) == nil, place)
        #expect(try await store.kitCopy(locator: oldKit) == nil, place)
        #expect(try await store.kitCopy(locator: locator) != nil, place)
        let journal = try client.cleanup.journal()
        #expect(journal.kits.isEmpty && journal.devices.isEmpty && journal.generations == [1], place)
    }
}

/// A home that locks a session at one of the calls that it gets.
private final class LockingHome: ForwardingHome {
    let base = MemoryHome()
    private let trap = Mutex<(left: Int, session: Session)?>(nil)

    /// Locks the session at a call from now on; the next one is 0.
    func lock(_ session: Session, at call: Int) { trap.withLock { $0 = (call, session) } }

    func look() {
        let session = trap.withLock { trap -> Session? in
            guard let (left, session) = trap else { return nil }
            trap = left > 0 ? (left - 1, session) : nil
            return left > 0 ? nil : session
        }
        session?.lock()
    }
}
