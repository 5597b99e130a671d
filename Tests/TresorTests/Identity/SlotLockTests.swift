// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore

/// Whether somebody has the slot lock of a home.
func isChanging(_ home: any Home) -> Bool {
    do throws(TresorError) {
        switch try home.slotLock() {
        case .some: return false
        case .none: return true
        }
    } catch {
        Issue.record("\(error)")
        return false
    }
}

/// The slot lock (SPEC §8.4): one change of the key slots at a time, the calls of the store included.
@Suite struct SlotLockTests {
    private func directoryHome() throws -> (home: DirectoryHome, path: String) {
        let path = FileManager.default.temporaryDirectory.appending(path: "slots-\(UUID().uuidString)").path
        return (DirectoryHome(data: path + "/data", state: path + "/state"), path)
    }

    @Test func oneHasTheLockUntilItsValueEnds() throws {
        let (home, path) = try directoryHome()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let view = HomeView(home, as: nil, readings: HomeReadings(of: Turns()))
        let homes: [any Home] = [home, view, TresorTesting.MemoryHome()]
        for home in homes {
            let lock = try home.slotLock()
            #expect(isChanging(home))
            // The lock for single writes is another one.
            try home.exclusively {}
            _ = consume lock
            #expect(!isChanging(home))
        }
    }

    @Test func anotherHomeOnTheSameDirectoryHasTheSameLock() throws {
        let (home, path) = try directoryHome()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lock = try home.slotLock()
        #expect(isChanging(DirectoryHome(data: path + "/data", state: path + "/state")))
        _ = consume lock
        #expect(!isChanging(DirectoryHome(data: path + "/data", state: path + "/state")))
    }

    /// Nothing to finish needs no lock and makes no home.
    @Test func aHomeThatWasNeverMadeIsNotMadeForIt() async throws {
        let (home, path) = try directoryHome()
        let client = Client(home: home, store: MemoryStore(), clock: { 1_767_900_000 })
        try await client.cleanUp()
        try await client.device.forget()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    private func anna(_ home: TresorTesting.MemoryHome) async throws -> Session {
        let client = Client(home: home, store: MemoryStore(), clock: { 1_767_900_000 })
        return try await client.makeIdentity(handle: Name(typed: "anna"), password: password("anna"), cost: .floor)
    }

    /// Waits are counted by the pauses, and told once.
    @Test func aChangeWaitsForAnotherOne() async throws {
        let home = TresorTesting.MemoryHome()
        let anna = try await anna(home)
        var client = anna.client
        let waits = Mutex(0)
        let pauses = Mutex(Duration.zero)
        let other = Mutex<SlotLock?>(home.slotLock())
        client.hooks.slotWait.begins = { waits.withLock { $0 += 1 } }
        client.hooks.slotWait.pause = { time in
            let waited = pauses.withLock { total in
                total += time
                return total
            }
            if waited == .seconds(1) { other.withLock { $0 = nil } }
        }
        let session = Session(client: client, identity: anna.identity)
        _ = try await session.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        #expect(waits.withLock { $0 } == 1)
        #expect(pauses.withLock { $0 } == .seconds(1))
        _ = try await client.device.unlock()
    }

    @Test func aChangeIsBusyAfterAMinute() async throws {
        let home = TresorTesting.MemoryHome()
        let anna = try await anna(home)
        var client = anna.client
        let pauses = Mutex(Duration.zero)
        client.hooks.slotWait.pause = { time in pauses.withLock { $0 += time } }
        let session = Session(client: client, identity: anna.identity)
        let before = home.read(.identity)
        let lock = home.slotLock()
        #expect(
            await failure {
                _ = try await session.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            } == .busy)
        #expect(pauses.withLock { $0 } == .seconds(60))
        _ = consume lock
        #expect(home.read(.identity) == before)
        #expect(try client.cleanup.journal() == session.client.cleanup.journal())
    }

    /// A person who forgets a device may have lost it: its share is gone at once, and the rest waits.
    @Test func A32_aDeviceShareIsDestroyedBeforeAnythingIsWaitedFor() async throws {
        let home = TresorTesting.MemoryHome()
        let anna = try await anna(home)
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        var client = anna.client
        let wasThere = Mutex(false)
        client.hooks.slotWait.pause = { _ in
            if (try? anna.client.device.isRememberedBlocking()) != false { wasThere.withLock { $0 = true } }
        }
        let lock = home.slotLock()
        let waiting = client
        #expect(await failure { try await waiting.device.forget() } == .busy)
        #expect(!wasThere.withLock { $0 })
        #expect(try !waiting.device.isRememberedBlocking())
        #expect(try waiting.cleanup.journal().devices.map(\.id) == [device.id])
        #expect(await failure { _ = try await waiting.device.unlock() } == .notFound)
        let store = waiting.guardedStore.base
        #expect(try await store.serverShare(user: anna.identity.user, device: device.id) != nil)
        _ = consume lock
        try await waiting.device.forget()
        #expect(try await store.serverShare(user: anna.identity.user, device: device.id) == nil)
        #expect(try waiting.cleanup.journal().devices.isEmpty)
    }

    /// A change that waits has not begun: its task can still be cancelled.
    @Test func aCancelledChangeWaitsNoLonger() async throws {
        let home = TresorTesting.MemoryHome()
        let anna = try await anna(home)
        var client = anna.client
        let task = Mutex<Task<Void, any Error>?>(nil)
        client.hooks.slotWait.pause = { _ in task.withLock { $0 }?.cancel() }
        let session = Session(client: client, identity: anna.identity)
        let lock = home.slotLock()
        let waiting = Task {
            while task.withLock({ $0 }) == nil { await Task.yield() }
            _ = try await session.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        }
        task.withLock { $0 = waiting }
        #expect(await failure { try await waiting.value } == .cancelled)
        _ = consume lock
    }

    /// A held reading of the identity file is older than a slot that another process has added since.
    @Test func A107_aShareIsJudgedByAFileThatIsReadAfterIt() async throws {
        let home = TresorTesting.MemoryHome()
        let anna = try await anna(home)
        let client = Client(
            home: home, store: anna.client.guardedStore.base, named: nil, turns: Turns(), clock: { 1_767_900_000 })
        for _ in 0..<2 {
            _ = try client.identityFileBlocking()
            let device = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            try anna.client.cleanup.note(devices: [CleanupJournal.Device(user: anna.identity.user, id: device.id)])
            _ = try await client.device.unlock()
            try await client.cleanUp()
            #expect(try anna.client.device.idBlocking() == device.id)
            _ = try await anna.client.device.unlock()
        }
    }
}
