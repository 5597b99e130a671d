// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCore
import TresorCrypto

@testable import TresorStore

/// Copies that the programs of clouds put beside a file which two machines changed.
@Suite struct CloudCopyTests {
    private static let own: Set<String> = ["identity", "heads", "store.db", "store.db-wal", "ab12.0", "ab12.index"]

    @Test(arguments: [
        ("identity (1)", "identity"), ("identity 2", "identity"), ("heads 12", "heads"),
        ("identity (Anna's conflicted copy 2026-11-28)", "identity"),
        ("heads (conflicted copy 2026-11-28 101500)", "heads"),
        ("store (Dr. House's conflicted copy 2026-11-28).db", "store.db"), ("store (1).db", "store.db"),
        ("store.sync-conflict-20261128-101500-7K3M9QX.db", "store.db"), ("store 2.db", "store.db"),
        ("identity.sync-conflict-20261128-101500-7K3M9QX", "identity"), ("store-DESKTOP-7K3M9QX.db", "store.db"),
        ("heads-Annas-MacBook", "heads"), ("store_conflict-20261128-101500.db", "store.db"),
        ("store.db (SFConflict anna@example.org 2026-11-28-10-15-00)", "store.db"),
        ("store (1).db-wal", "store.db-wal"), ("ab12 (1).0", "ab12.0"), ("ab12-LAPTOP-7K3M.index", "ab12.index"),
        ("identity [conflicted]", "identity"), ("identity (Copie en conflit de Anna 2026-11-28)", "identity"),
        ("identity (In Konflikt stehende Kopie von Anna)", "identity"),
    ])
    func aCopyIsKnownByItsMark(_ name: String, _ original: String) {
        #expect(CloudCopy.original(of: name, where: Self.own.contains) == original)
    }

    @Test(arguments: [
        "identity.1790000000", "identity.old", "other (1)", "other.sync-conflict-1", "store.db-shm", "store-old.db",
        "store2.db", "identity (x)", "identity ", "(1)", "", ".", "identity.", "store (1).txt", "ab12.1",
        "store-Backup.db", "store.db-Backup", "store-Test.db", "heads-OLD",
    ])
    func noOtherFileIsOne(_ name: String) {
        #expect(CloudCopy.original(of: name, where: Self.own.contains) == nil)
    }

    private static func write(_ path: String, mode: Int) throws {
        try Data([9]).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test func aHomeNamesItsCopiesReadsNoneAndKeepsThem() throws {
        let scratch = try Scratch()
        let data = scratch["data"]
        let home = DirectoryHome(data: data, state: data + "/state")
        try home.replace(.identity, with: [1])
        try home.replace(.deviceShare, with: [2])
        try home.replace(.evidence(.zero), with: [3])
        #expect(try home.cloudCopies() == [])
        let evidence = HomeObject.evidence(.zero).name
        for name in ["\(evidence) 2", "identity (1)", "pins 2", "state/device-share-LAPTOP-7K3M"] {
            try Self.write("\(data)/\(name)", mode: 0o600)
        }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1000)], ofItemAtPath: data + "/identity")
        let copies = try home.cloudCopies()
        #expect(
            copies.map { String($0.path.dropFirst(data.count + 1)) }.sorted()
                == ["\(evidence) 2", "identity (1)", "pins 2", "state/device-share-LAPTOP-7K3M"])
        let (ages, originals) = (copies.map(\.isNewer), copies.map(\.original))
        #expect(originals.prefix(2) == [data + "/identity", data + "/pins"])
        #expect(ages.prefix(2) == [true, nil])
        #expect(try home.read(.identity) == [1])
        #expect(try home.read(.pins) == nil)
        try home.erase([1], [:])
        #expect(try home.cloudCopies() == copies.map { CloudCopy(path: $0.path, original: $0.original, isNewer: nil) })
    }

    @Test func aStoreIsAsNewAsWhatIsNotInItsFileYet() throws {
        let scratch = try Scratch()
        func write(_ name: String, at time: TimeInterval) throws {
            try Self.write(scratch[name], mode: 0o600)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: time)], ofItemAtPath: scratch[name])
        }
        try write("store.db", at: 1000)
        try write("store (1).db", at: 2000)
        #expect(CloudCopy.all(ofStore: scratch["store.db"]).map(\.isNewer) == [true])
        try write("store.db-wal", at: 1500)
        #expect(CloudCopy.all(ofStore: scratch["store.db"]).map(\.isNewer) == [true])
        try write("store.db-wal", at: 3000)
        #expect(CloudCopy.all(ofStore: scratch["store.db"]).map(\.isNewer) == [false])
    }

    @Test func aCopyOfASecretThatOthersCanReadIsOpen() throws {
        let scratch = try Scratch()
        let data = scratch["data"]
        let home = DirectoryHome(data: data, state: data + "/state")
        try home.replace(.identity, with: [1])
        for name in ["identity (1)", "heads (1)"] { try Self.write("\(data)/\(name)", mode: 0o644) }
        let found = try home.exposures()
        #expect(found.map { String($0.path.dropFirst(data.count + 1)) } == ["heads (1)", "identity (1)"])
        #expect(found.map(\.flaw) == [.readable, .open])
    }
}
