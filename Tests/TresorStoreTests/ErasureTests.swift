// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TestSupport
import Testing
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

@testable import TresorSQLite

@Suite struct ErasureTests {
    let scratch: Scratch
    var path: String { scratch["store.db"] }

    init() throws { scratch = try Scratch() }

    /// Finds the `needles`, all random, of which at least eight bytes occur in any file of the store.
    private func found(_ needles: [[UInt8]]) throws -> [[UInt8]] {
        var owners: [UInt64: Int] = [:]
        for (index, needle) in needles.enumerated() {
            for start in stride(from: 0, through: needle.count - 8, by: 8) {
                owners[needle[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }] = index
            }
        }
        var found: Set<Int> = []
        for name in try scratch.names {
            var window: UInt64 = 0
            for byte in try bytes(at: scratch[name]) {
                window = window << 8 | UInt64(byte)
                if let owner = owners[window] { found.insert(owner) }
            }
        }
        return found.sorted().map { needles[$0] }
    }

    @Test func A35_deletedShareIsGoneFromTheFile() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        var kept: [(device: DeviceID, share: [UInt8])] = []
        var deleted: [[UInt8]] = []
        var dice = SeededGenerator(seed: LongRun.seed)
        for round in 0..<120 {
            guard let device = DeviceID(random(16)) else { continue }
            let share = random(32)
            try await store.putServerShare(share, deviceKey: .zero, user: user(1), device: device)
            kept.append((device, share))
            guard round % 3 == 2 else { continue }
            let victim = kept.remove(at: .random(in: kept.indices, using: &dice))
            #expect(try found([victim.share]).count == 1)
            try await store.deleteServerShares(user: user(1), devices: [victim.device])
            deleted.append(victim.share)
            #expect(try found([victim.share]).isEmpty)
        }
        #expect(try found(deleted).isEmpty)
        #expect(try found(kept.map(\.share)).count == kept.count)
        try await store.deleteServerShares(user: user(1), devices: nil)
        #expect(try found(deleted + kept.map(\.share)).isEmpty)
    }

    @Test func A35_replacedShareIsGoneFromTheFile() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        let share = random(32)
        try await store.putServerShare(share, deviceKey: .zero, user: user(1), device: device(1))
        #expect(try found([share]).count == 1)
        try await store.putServerShare(random(32), deviceKey: .zero, user: user(1), device: device(1))
        #expect(try found([share]).isEmpty)
    }

    @Test func A35_wrapsOfARemovedMemberAreGoneFromTheFile() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        var dice = SeededGenerator(seed: LongRun.seed)
        var wraps: [StoredWrap] = []
        for member in UInt8(1)...20 {
            for epoch in UInt64(1)...5 {
                let bytes = random(1200 + Int(member))
                wraps.append(StoredWrap(user: UserID(digest(member &* 37, member)), epoch: epoch, bytes: bytes))
            }
        }
        let first = LogChange(
            tresor: tresor(1), sequence: 0, previous: .zero, entry: [0], putting: wraps.shuffled(using: &dice))
        #expect(try await store.append(first) == .done)
        #expect(try found(wraps.map(\.bytes)).count == wraps.count)
        let removed = Set(wraps.map(\.user).shuffled(using: &dice).prefix(20))
        let change = try LogChange(
            tresor: tresor(1), sequence: 1, after: [0], entry: [1],
            putting: wraps.map { StoredWrap(user: $0.user, epoch: 6, bytes: random(1250)) },
            removingWrapsOf: Array(removed))
        #expect(try await store.append(change) == .done)
        #expect(try found(wraps.filter { removed.contains($0.user) }.map(\.bytes)).isEmpty)
        let rest = wraps.filter { !removed.contains($0.user) }.map(\.bytes)
        #expect(try found(rest).count == rest.count)
    }

    @Test func A35_replacedAndDeletedKitCopiesAreGoneFromTheFile() async throws {
        let store = try await SQLiteStore.open(at: path, creating: true)
        let copies = [random(9000), random(9000)]
        try await store.putKitCopy(copies[0], locator: digest(1))
        #expect(try found(copies) == [copies[0]])
        try await store.putKitCopy(copies[1], locator: digest(1))
        #expect(try found(copies) == [copies[1]])
        try await store.deleteKitCopy(locator: digest(1))
        #expect(try found(copies).isEmpty)
    }

    @Test func A35_aDeletionThatAReaderHoldsUpIsReportedAndMadeUpForByTheNext() async throws {
        let store = try SQLiteStore.openBlocking(at: path, creating: true, patience: 0.001)
        let share = random(32)
        try await store.putServerShare(share, deviceKey: .zero, user: user(1), device: device(1))
        let reader = try stranger(at: path)
        try await reader.writeWithoutTransaction {
            try $0.execute(sql: "BEGIN")
            _ = try Row.fetchAll($0, sql: "SELECT * FROM server_shares")
        }
        let deletion = await errorOf { try await store.deleteServerShares(user: user(1), devices: nil) }
        #expect(deletion == .busy)
        #expect(try await store.serverShare(user: user(1), device: device(1)) == nil)
        try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await store.deleteServerShares(user: user(1), devices: nil)
        #expect(try found([share]).isEmpty)
    }

    @Test func A35_aRemovalThatAReaderHoldsUpIsDoneNevertheless() async throws {
        let store = try SQLiteStore.openBlocking(at: path, creating: true, patience: 0.001)
        let wrap = StoredWrap(user: user(1), epoch: 1, bytes: random(1200))
        let first = LogChange(tresor: tresor(1), sequence: 0, previous: .zero, entry: [0], putting: [wrap])
        #expect(try await store.append(first) == .done)
        let reader = try stranger(at: path)
        try await reader.writeWithoutTransaction {
            try $0.execute(sql: "BEGIN")
            _ = try Row.fetchAll($0, sql: "SELECT * FROM wraps")
        }
        let second = try LogChange(
            tresor: tresor(1), sequence: 1, after: [0], entry: [1], removingWrapsOf: [user(1)])
        #expect(try await store.append(second) == .done)
        try await reader.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await store.deleteServerShares(user: user(1), devices: nil)
        #expect(try found([wrap.bytes]).isEmpty)
    }

    /// The file may not grow, its write-ahead log may: whatever keeps the log from being emptied, the entry is there.
    @Test func A35_aRemovalWhoseLogFindsNoSpaceIsDoneNevertheless() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let tests = try ErasureTests()
            let store = try await SQLiteStore.open(at: tests.path, creating: true)
            let wrap = StoredWrap(user: user(1), epoch: 1, bytes: random(1200))
            let first = LogChange(
                tresor: tresor(1), sequence: 0, previous: .zero, entry: random(300_000), putting: [wrap])
            #expect(try await store.append(first) == .done)
            try await store.deleteServerShares(user: user(1), devices: nil)
            var limit = rlimit()
            getrlimit(fileSize, &limit)
            let unlimited = limit.rlim_cur
            limit.rlim_cur = rlim_t(try bytes(at: tests.path).count)
            #expect(setrlimit(fileSize, &limit) == 0)
            let second = try LogChange(
                tresor: tresor(1), sequence: 1, after: first.entry, entry: random(100_000),
                removingWrapsOf: [user(1)])
            #expect(try await store.append(second) == .done)
            let deletion = await errorOf { try await store.deleteServerShares(user: user(1), devices: nil) }
            #expect(deletion == .store(.full) || deletion == .store(.inputOutput))
            limit.rlim_cur = unlimited
            #expect(setrlimit(fileSize, &limit) == 0)
            #expect(try await store.entries(of: tresor(1), from: 0, limit: 9) == [first.entry, second.entry])
            try await store.deleteServerShares(user: user(1), devices: nil)
            #expect(try tests.found([wrap.bytes]).isEmpty)
        }
    }
}

#if canImport(Glibc)
    private let fileSize = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
#else
    private let fileSize = RLIMIT_FSIZE
#endif
