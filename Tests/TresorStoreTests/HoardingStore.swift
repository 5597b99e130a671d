// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto
import TresorStore

/// A store that leaves one kind of bytes on its disk, and erases the others.
final class HoardingStore: FrontStore {
    /// The bytes that stay, as a finding names them.
    enum Remainder: String, CaseIterable {
        case replacedShares = "a replaced server share"
        case deletedShares = "a deleted server share"
        case replacedCopies = "a replaced kit copy"
        case deletedCopies = "a deleted kit copy"
        case removedWraps = "the wrap of a removed member"
        case replacedWraps = "a wrap that an entry replaced"
        case deletedBlobs = "a deleted blob"
        case restoredWraps = "a wrap that was restored over"
        case deletedTresors = "a wrap of a deleted tresor"
    }

    private struct Disk {
        var shares: [DeviceID: [UInt8]] = [:]
        var copies: [Hash256: [UInt8]] = [:]
        var wraps: [StoredWrap] = []
        var blobs: [Hash256: [UInt8]] = [:]
        var left: [[UInt8]] = []
    }

    let truth: any Store = MemoryStore()
    private let remainder: Remainder?
    private let disk = Mutex(Disk())

    init(keeping remainder: Remainder?) { self.remainder = remainder }

    /// The bytes of the disk.
    var bytes: [[UInt8]] {
        disk.withLock { disk in
            [disk.shares.values.map { $0 }, disk.copies.values.map { $0 }, disk.blobs.values.map { $0 }].flatMap { $0 }
                + disk.wraps.map(\.bytes) + disk.left
        }
    }

    /// Changes the disk.
    ///
    /// - Parameter change: returns the bytes that go, with their kind.
    private func write(_ change: (inout Disk) -> [(Remainder, [UInt8]?)]) {
        disk.withLock { disk in
            for (kind, bytes) in change(&disk) where kind == remainder { disk.left += bytes.map { [$0] } ?? [] }
        }
    }

    func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        write { [(.replacedShares, $0.shares.updateValue(share, forKey: device))] }
        try await truth.putServerShare(share, deviceKey: deviceKey, user: user, device: device)
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        write { disk in
            (devices ?? Array(disk.shares.keys)).map { (.deletedShares, disk.shares.removeValue(forKey: $0)) }
        }
        try await truth.deleteServerShares(user: user, devices: devices)
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        write { [(.replacedCopies, $0.copies.updateValue(copy, forKey: locator))] }
        try await truth.putKitCopy(copy, locator: locator)
    }

    func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        write { [(.deletedCopies, $0.copies.removeValue(forKey: locator))] }
        try await truth.deleteKitCopy(locator: locator)
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let outcome = try await truth.append(change)
        guard outcome == .done else { return outcome }
        write { disk in
            let removed = disk.wraps.filter { change.removingWrapsOf.contains($0.user) }
            disk.wraps.removeAll { change.removingWrapsOf.contains($0.user) }
            return removed.map { (.removedWraps, $0.bytes) } + Self.put(change.putting, .replacedWraps, &disk)
        }
        return outcome
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        write { Self.put(wraps, .restoredWraps, &$0) }
        try await truth.putWraps(wraps, in: tresor)
    }

    func putBlob(
        _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
    ) async throws(TresorError) {
        disk.withLock { $0.blobs[hash] = bytes }
        try await truth.putBlob(part, bytes, of: hash, in: tresor)
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        write { disk in hashes.map { (.deletedBlobs, disk.blobs.removeValue(forKey: $0)) } }
        try await truth.deleteBlobs(hashes, in: tresor)
    }

    func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        write { disk in
            defer { disk.wraps = [] }
            return disk.wraps.map { (.deletedTresors, $0.bytes) }
        }
        try await truth.deleteTresor(tresor)
    }

    private static func put(
        _ wraps: [StoredWrap], _ kind: Remainder, _ disk: inout Disk
    ) -> [(Remainder, [UInt8]?)] {
        var replaced: [(Remainder, [UInt8]?)] = []
        for wrap in wraps {
            replaced += disk.wraps.filter { ($0.user, $0.epoch) == (wrap.user, wrap.epoch) }.map { (kind, $0.bytes) }
            disk.wraps.removeAll { ($0.user, $0.epoch) == (wrap.user, wrap.epoch) }
            disk.wraps.append(wrap)
        }
        return replaced
    }
}
