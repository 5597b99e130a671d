// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore

/// Changes of the key slots of one home take turns (SPEC §8.4).
@Suite struct TurnTests {
    private func directoryHome() throws -> (home: DirectoryHome, path: String) {
        let path = FileManager.default.temporaryDirectory.appending(path: "turns-\(UUID().uuidString)").path
        return (DirectoryHome(data: path + "/data", state: path + "/state"), path)
    }

    @Test func oneHasTheTurnUntilItEnds() throws {
        let (home, path) = try directoryHome()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let homes: [any Home] = [home, SteadyHome(home), TresorTesting.MemoryHome()]
        for home in homes {
            let first = try home.turn()
            #expect(first != nil)
            #expect(try home.turn() == nil)
            withExtendedLifetime(first) {}
            _ = consume first
            #expect(try home.turn() != nil)
        }
    }

    @Test func anotherHomeOnTheSameDirectoryWaits() throws {
        let (home, path) = try directoryHome()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let turn = try home.turn()
        let other = DirectoryHome(data: path + "/data", state: path + "/state")
        #expect(try other.turn() == nil)
        // The lock for single writes is another one.
        try other.exclusively {}
        withExtendedLifetime(turn) {}
    }

    /// A cleanup that looked before must not delete what a change of the slots puts meanwhile.
    @Test func A107_aChangeWaitsForTheCleanupOfAnother() async throws {
        let store = EvilStore()
        let home = TresorTesting.MemoryHome()
        let client = Client(home: home, store: store, clock: { 1_767_900_000 })
        let anna = try await client.makeIdentity(
            handle: Name(typed: "anna"), password: password("anna"), cost: .floor)
        let old = try #require(DeviceID([UInt8](repeating: 7, count: 16)))
        try client.cleanup.note(devices: [CleanupJournal.Device(user: anna.identity.user, id: old)])
        store.beforeNextDeletion {
            #expect(home.takeTurn() == nil)
        }
        try await client.cleanup.finish()
        #expect(home.takeTurn() != nil)
        #expect(try client.cleanup.journal().devices.isEmpty)
    }

    /// A process that looks in passing does not wait, and deletes nothing of another's change.
    @Test func A107_whoPassesByLeavesAnothersChangeAlone() async throws {
        let home = TresorTesting.MemoryHome()
        let client = Client(home: home, store: MemoryStore(), clock: { 1_767_900_000 })
        let anna = try await client.makeIdentity(
            handle: Name(typed: "anna"), password: password("anna"), cost: .floor)
        let id = try #require(DeviceID([UInt8](repeating: 7, count: 16)))
        try client.cleanup.note(devices: [CleanupJournal.Device(user: anna.identity.user, id: id)])
        let turn = home.takeTurn()
        try await client.cleanup.finishIfFree()
        #expect(try !client.cleanup.journal().devices.isEmpty)
        withExtendedLifetime(turn) {}
        _ = consume turn
        try await client.cleanup.finishIfFree()
        #expect(try client.cleanup.journal().devices.isEmpty)
    }

    /// Nothing to finish needs no turn and makes no home.
    @Test func aHomeThatWasNeverMadeIsNotMadeForIt() async throws {
        let (home, path) = try directoryHome()
        try await Client(home: home, store: MemoryStore(), clock: { 1_767_900_000 }).cleanup.finish()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    /// A held reading of the identity file is older than a slot that another process has added since.
    @Test func A107_aShareIsJudgedByAFileThatIsReadAfterIt() async throws {
        let home = TresorTesting.MemoryHome()
        let store = MemoryStore()
        let other = Client(home: home, store: store, clock: { 1_767_900_000 })
        let anna = try await other.makeIdentity(
            handle: Name(typed: "anna"), password: password("anna"), cost: .floor)
        let client = Client(home: SteadyHome(home, clock: { .zero }), store: store, clock: { 1_767_900_000 })
        _ = try client.identityFileBlocking()
        let device = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        try client.cleanup.note(devices: [CleanupJournal.Device(user: anna.identity.user, id: device.id)])
        _ = try client.identityFileBlocking()
        try await other.device.forget()
        let second = try await anna.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        try other.cleanup.note(devices: [CleanupJournal.Device(user: anna.identity.user, id: second.id)])
        _ = try await client.device.unlock()
        try await client.cleanup.finish()
        #expect(try other.device.idBlocking() == second.id)
        _ = try await other.device.unlock()
    }
}
