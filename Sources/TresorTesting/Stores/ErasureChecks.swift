// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The checks that no bytes of a deleted or replaced secret stay at a place.
struct ErasureChecks {
    private let store: any Store
    private let bytes: @Sendable () throws -> [[UInt8]]

    /// Checks server shares, kit copies, wraps and blobs.
    ///
    /// - Throws: a `BrokenPromise` also for a place that gives no bytes: a promise that nobody can check is not kept.
    static func check(at place: StorePlace) async throws {
        guard let bytes = place.bytes else {
            throw BrokenPromise(
                sentence:
                    "this was not checked, because the place gives no bytes: name them with StorePlace(bytes:open:)")
        }
        let checks = ErasureChecks(store: try await place.open(), bytes: bytes)
        try await checks.serverShares()
        try await checks.kitCopies()
        try await checks.wraps()
        try await checks.blobs()
        try await checks.tresors()
    }

    private func serverShares() async throws {
        let (user, devices) = (Sample.user(1), try (0..<3).map { try Sample.device($0) })
        let shares = (0..<4).map { Sample.secret($0, byteCount: 32) }
        for (share, device) in zip(shares, devices) {
            try await store.putServerShare(share, deviceKey: Sample.hash(1), user: user, device: device)
            try look(for: share, isThere: true, "a server share")
        }
        try await store.putServerShare(shares[3], deviceKey: Sample.hash(1), user: user, device: devices[0])
        try look(for: shares[0], isThere: false, "a replaced server share")
        try await store.deleteServerShares(user: user, devices: [devices[1]])
        try look(for: shares[1], isThere: false, "a deleted server share")
        try look(for: shares[2], isThere: true, "a server share")
        try await store.deleteServerShares(user: user, devices: nil)
        for share in shares { try look(for: share, isThere: false, "a deleted server share") }
    }

    private func kitCopies() async throws {
        let copies = [Sample.secret(4, byteCount: 9000), Sample.secret(5, byteCount: 9000)]
        try await store.putKitCopy(copies[0], locator: Sample.hash(1))
        try look(for: copies[0], isThere: true, "a kit copy")
        try await store.putKitCopy(copies[1], locator: Sample.hash(1))
        try look(for: copies[0], isThere: false, "a replaced kit copy")
        try look(for: copies[1], isThere: true, "a kit copy")
        try await store.deleteKitCopy(locator: Sample.hash(1))
        try look(for: copies[1], isThere: false, "a deleted kit copy")
    }

    /// The bytes of a wrap go at the latest with the next deletion (SPEC §11).
    private func wraps() async throws {
        let wraps = (UInt32(6)..<11).map { Sample.secret($0, byteCount: 1200) }
        let first = [
            Sample.wrap(1, epoch: 1, wraps[0]), Sample.wrap(2, epoch: 1, wraps[1]), Sample.wrap(2, epoch: 2, wraps[2]),
        ]
        try await expect(
            store.append(Sample.change(0, after: nil, [0], putting: first)) == .done, or: "it refuses a first entry")
        for wrap in wraps[..<3] { try look(for: wrap, isThere: true, "a wrap") }
        let replacement = try Sample.change(1, after: [0], [1], putting: [Sample.wrap(2, epoch: 1, wraps[3])])
        try await expect(store.append(replacement) == .done, or: "it refuses an entry at the end of the log")
        try await store.putWraps([Sample.wrap(2, epoch: 2, wraps[4])], in: Sample.tresor(1))
        let removal = try Sample.change(2, after: [1], [2], removing: [Sample.user(1)])
        try await expect(store.append(removal) == .done, or: "it refuses an entry at the end of the log")
        try look(for: wraps[0], isThere: false, "the wrap of a removed member")
        try look(for: wraps[1], isThere: false, "a wrap that an entry replaced")
        try look(for: wraps[2], isThere: false, "a wrap that was restored over")
        for wrap in wraps[3...] { try look(for: wrap, isThere: true, "the wrap of a member who stays") }
    }

    private func blobs() async throws {
        let blobs = (UInt32(11)..<13).map { Sample.secret($0, byteCount: 9000) }
        for (index, blob) in blobs.enumerated() {
            try await store.putBlob(0, blob, of: Sample.hash(UInt8(index)), in: Sample.tresor(1))
            try look(for: blob, isThere: true, "a blob")
        }
        try await store.deleteBlobs([Sample.hash(0)], in: Sample.tresor(1))
        try look(for: blobs[0], isThere: false, "a deleted blob")
        try look(for: blobs[1], isThere: true, "a blob")
    }

    private func tresors() async throws {
        let (entry, wrap) = (Sample.secret(13, byteCount: 9000), Sample.secret(14, byteCount: 1200))
        let tresor = Sample.tresor(2)
        let change = LogChange(
            tresor: tresor, sequence: 0, previous: .zero, entry: entry, putting: [Sample.wrap(1, epoch: 1, wrap)])
        try await expect(store.append(change) == .done, or: "it refuses a first entry")
        try look(for: wrap, isThere: true, "a wrap")
        try await store.deleteTresor(tresor)
        try look(for: entry, isThere: false, "an entry of a deleted tresor")
        try look(for: wrap, isThere: false, "a wrap of a deleted tresor")
    }

    private func look(for needle: [UInt8], isThere: Bool, _ name: String) throws {
        let found = try Self.isPart(of: needle, in: bytes())
        try expect(
            found == isThere,
            or: isThere
                ? "the bytes that you give do not show \(name), so that nobody can tell whether it is erased"
                : "the bytes of \(name) are still at the place")
    }

    /// Whether at least eight neighbouring bytes of `needle` are in any of the arrays.
    private static func isPart(of needle: [UInt8], in arrays: [[UInt8]]) -> Bool {
        var parts: Set<UInt64> = []
        for start in stride(from: 0, through: needle.count - 8, by: 8) {
            parts.insert(needle[start..<(start + 8)].reduce(0) { $0 << 8 | UInt64($1) })
        }
        return arrays.contains { bytes in
            var window: UInt64 = 0
            for (index, byte) in bytes.enumerated() {
                window = window << 8 | UInt64(byte)
                if index >= 7, parts.contains(window) { return true }
            }
            return false
        }
    }
}
