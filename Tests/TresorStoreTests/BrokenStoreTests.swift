// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// Every check of the conformance suite can fail: each finds the store that breaks its promise.
@Suite struct BrokenStoreTests {
    @Test(arguments: StoreClaim.all) func aBrokenPromiseIsFound(_ claim: StoreClaim) async throws {
        let finding = await #expect(throws: StoreFinding.self) { try await claim.check(at: brokenPlace(claim.promise)) }
        #expect(finding?.claim == claim)
        #expect(finding?.sentence.contains("should succeed") == false)
    }

    /// A store whose bytes cannot be seen is no store that erases.
    @Test func bytesThatShowNothingAreFound() async throws {
        let store = MemoryStore()
        let finding = await #expect(throws: StoreFinding.self) {
            try await StoreClaim(.erasure).check(at: StorePlace(bytes: { [] }) { store })
        }
        #expect(finding?.sentence.hasPrefix("the bytes that you give do not show a server share") == true)
    }

    /// A promise that nobody has checked is not kept.
    @Test func aPlaceWithoutBytesIsFound() async throws {
        let place = StorePlace { MemoryStore() }
        let finding = await #expect(throws: StoreFinding.self) { try await StoreClaim(.erasure).check(at: place) }
        #expect(finding?.claim.promise == .erasure)
        #expect(finding?.sentence.hasPrefix("this was not checked, because the place gives no bytes") == true)
        let findings = await StoreClaim.findings {
            let store = MemoryStore()
            return StorePlace { store }
        }
        #expect(findings == [finding].compactMap(\.self))
    }

    /// Each kind of bytes that stay is found, and no other finding hides it.
    @Test(arguments: HoardingStore.Remainder.allCases)
    func bytesThatStayAreFound(_ remainder: HoardingStore.Remainder) async throws {
        let store = HoardingStore(keeping: remainder)
        let finding = await #expect(throws: StoreFinding.self) {
            try await StoreClaim(.erasure).check(at: StorePlace(bytes: { store.bytes }) { store })
        }
        #expect(finding?.sentence == "the bytes of \(remainder.rawValue) are still at the place")
    }

    @Test func aStoreThatKeepsNothingBackErases() async throws {
        let store = HoardingStore(keeping: nil)
        try await StoreClaim(.erasure).check(at: StorePlace(bytes: { store.bytes }) { store })
    }

    /// A place whose store breaks one promise.
    private func brokenPlace(_ promise: Promise) -> StorePlace {
        switch promise {
        case .durability, .blobDurability: return StorePlace { MemoryStore() }
        case .manyWriters:
            let store = RacingStore()
            return StorePlace { store }
        case .erasure:
            let store = HoardingStore(keeping: .deletedShares)
            return StorePlace(bytes: { store.bytes }) { store }
        default:
            let store = BrokenStore(promise)
            return StorePlace { store }
        }
    }
}

/// A store that breaks one promise, and keeps those that do not depend on it.
private struct BrokenStore: FrontStore {
    let truth: any Store = MemoryStore()
    let broken: Promise

    init(_ broken: Promise) { self.broken = broken }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        let cards = try await truth.cards(handle: shownHandle(handle))
        return broken == .emptiness && cards.isEmpty ? [[]] : cards
    }

    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        let present = try await truth.card(of: user)
        let known = broken == .cardReplacement && replacing != [0] ? present : replacing
        let outcome = try await truth.putCard(chain, user: user, handle: shownHandle(handle), replacing: known)
        return broken == .handleOwnership ? .done : outcome
    }

    private func shownHandle(_ handle: [UInt8]) -> [UInt8] {
        guard broken == .handleBytes else { return handle }
        return Array(String(decoding: handle, as: UTF8.self).precomposedStringWithCanonicalMapping.utf8)
    }

    func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        let users = try await truth.users(prefix: prefix, limit: limit)
        return broken == .userPrefixes ? users.reversed() : users
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        let entries = try await truth.entries(of: tresor, from: first, limit: limit)
        return broken == .entryOrder && first == 250 ? entries.reversed() : entries
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        switch broken {
        case .compareAndSwap:
            // Looks at the length of the log alone.
            let last = try await truth.entries(of: change.tresor, from: 0, limit: .max).last
            return try await truth.append(
                LogChange(tresor: change.tresor, sequence: change.sequence, after: last, entry: change.entry))
        case .blobTransactions:
            for blob in change.blobs {
                for (part, bytes) in StoredBlob.parts(of: blob.bytes ?? []).enumerated() {
                    try await truth.putBlob(UInt32(part), Array(bytes), of: blob.hash, in: change.tresor)
                }
            }
            return try await truth.append(change)
        case .wrapTransactions:
            try await truth.putWraps(change.putting, in: change.tresor)
            return try await truth.append(change)
        default: return try await truth.append(change)
        }
    }

    func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        guard broken == .entryRestoration else {
            return try await truth.restore(entry, at: sequence, of: tresor)
        }
        let last = try await truth.entries(of: tresor, from: 0, limit: .max).last
        return try await truth.append(
            LogChange(tresor: tresor, sequence: sequence, after: last, entry: entry))
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        var wraps = wraps
        if broken == .wrapRestoration {
            var missing: [StoredWrap] = []
            for wrap in wraps {
                let present = try await truth.wraps(of: wrap.user, in: tresor, epoch: wrap.epoch)
                if present.isEmpty { missing.append(wrap) }
            }
            wraps = missing
        }
        try await truth.putWraps(wraps, in: tresor)
    }

    func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        if broken != .tresorDeletion { try await truth.deleteTresor(tresor) }
    }

    func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
        // Its parts follow one another without end.
        try await truth.blob(hash, part: broken == .blobParts ? part % 2 : part, in: tresor)
    }

    func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
        let blobs = try await truth.blobs(hashes, in: tresor)
        return broken == .blobBatches ? blobs.filter { $0 != nil } : blobs
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        let isAll = broken == .serverShares && devices == []
        try await truth.deleteServerShares(user: user, devices: isAll ? nil : devices)
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        if broken == .kitCopies, try await truth.kitCopy(locator: locator) != nil { return }
        try await truth.putKitCopy(copy, locator: locator)
    }
}

/// A store that compares and then swaps: the second writer of an entry has compared before the first one swapped.
private final class RacingStore: FrontStore {
    private struct Log {
        var entries: [[UInt8]] = []
        /// The entries that the second writer has seen.
        var stale: [[UInt8]]?
    }

    let truth: any Store = MemoryStore()
    private let logs = Mutex<[TresorID: Log]>([:])

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) -> [[UInt8]] {
        logs.withLock { Array($0[tresor, default: Log()].entries.dropFirst(Int(first)).prefix(limit)) }
    }

    func append(_ change: LogChange) throws(TresorError) -> StoreOutcome {
        try logs.withLock { (logs) throws(TresorError) in
            let log = logs[change.tresor, default: Log()]
            var seen: [[UInt8]]?
            for entries in [log.entries, log.stale].compactMap(\.self)
            where seen == nil && UInt64(entries.count) == change.sequence {
                if try change.follows(entries.last) { seen = entries }
            }
            guard let seen else { return .conflict }
            logs[change.tresor] = Log(entries: seen + [change.entry], stale: seen == log.entries ? seen : nil)
            return .done
        }
    }
}
