// SPDX-License-Identifier: Apache-2.0

import TresorCore

/// The checks of what outlives one store value: many writers, durability, erasure.
enum PlaceChecks {
    private static let tresor = Sample.tresor(1)

    static func manyWriters(at place: StorePlace) async throws {
        let stores = [try await place.open(), try await place.open()]
        let begun = LogChange(tresor: Sample.tresor(2), sequence: 0, previous: nil, entry: [0])
        try await expect(stores[0].append(begun) == .done, or: "it refuses a first entry")
        let races: [(tresor: TresorID, sequence: UInt64, previous: [UInt8]?)] = [
            (tresor, 0, nil), (begun.tresor, 1, begun.entry),
        ]
        for (tresor, sequence, previous) in races {
            let count = try await race(stores) { number in
                LogChange(tresor: tresor, sequence: sequence, previous: previous, entry: [number])
            }
            try expect(count == 1, or: "of 20 writers at once, \(count) were told that they wrote entry \(sequence)")
            for store in stores {
                let entries = try await store.entries(of: tresor, from: 0, limit: 100)
                try expect(
                    entries.count == Int(sequence) + 1, or: "it has another number of entries than it confirmed")
            }
        }
    }

    /// Lets 20 writers append an entry of their own at once.
    ///
    /// - Returns: the number of confirmed appends.
    private static func race(
        _ stores: [any Store], _ change: (_ number: UInt8) -> LogChange
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: StoreOutcome.self) { group in
            for number in UInt8(1)...20 {
                let (store, change) = (stores[Int(number) % stores.count], change(number))
                group.addTask { try await store.append(change) }
            }
            return try await group.reduce(0) { $0 + ($1 == .done ? 1 : 0) }
        }
    }

    static func durability(at place: StorePlace) async throws {
        let (user, device) = (Sample.user(1), try Sample.device(1))
        do {
            let store = try await place.open()
            try await expect(
                store.putCard([1], user: user, handle: [9], replacing: nil) == .done, or: "it refuses a free handle")
            let change = Sample.change(0, after: nil, [10], putting: [Sample.wrap(1, epoch: 1, [2])])
            try await expect(store.append(change) == .done, or: "it refuses a first entry")
            try await store.putServerShare([3], user: user, device: device)
            try await store.putKitCopy([4], locator: Sample.hash(1))
        }
        let store = try await place.open()
        try await expect(store.card(of: user) == [1], or: "it loses a card chain")
        try await expect(store.cards(handle: [9]) == [[1]], or: "it loses a handle")
        try await expect(store.entries(of: tresor, from: 0, limit: 10) == [[10]], or: "it loses an entry")
        try await expect(store.wraps(of: user, in: tresor, epoch: nil) == [[2]], or: "it loses a wrap")
        try await expect(store.tresors(of: user) == [tresor], or: "it loses the tresors of a user id")
        try await expect(store.serverShare(user: user, device: device) == [3], or: "it loses a server share")
        try await expect(store.kitCopy(locator: Sample.hash(1)) == [4], or: "it loses a kit copy")
        try await expect(
            store.append(Sample.change(0, after: nil, [11])) == .conflict, or: "it begins a log a second time")
    }

    static func erasure(at place: StorePlace) async throws {
        guard let bytes = place.bytes else { return }
        let store = try await place.open()
        func look(for needle: [UInt8], isThere: Bool, _ name: String) throws {
            let found = try Self.isPart(of: needle, in: bytes())
            try expect(
                found == isThere,
                or: isThere
                    ? "the bytes that you give do not show \(name), so that nobody can tell whether it is erased"
                    : "the bytes of \(name) are still at the place")
        }
        let (user, devices) = (Sample.user(1), try (0..<3).map { try Sample.device($0) })
        let shares = (0..<4).map { Sample.secret($0, byteCount: 32) }
        for (share, device) in zip(shares, devices) {
            try await store.putServerShare(share, user: user, device: device)
            try look(for: share, isThere: true, "a server share")
        }
        try await store.putServerShare(shares[3], user: user, device: devices[0])
        try look(for: shares[0], isThere: false, "a replaced server share")
        try await store.deleteServerShares(user: user, devices: [devices[1]])
        try look(for: shares[1], isThere: false, "a deleted server share")
        try look(for: shares[2], isThere: true, "a server share")
        try await store.deleteServerShares(user: user, devices: nil)
        for share in shares { try look(for: share, isThere: false, "a deleted server share") }

        let copies = [Sample.secret(4, byteCount: 9000), Sample.secret(5, byteCount: 9000)]
        try await store.putKitCopy(copies[0], locator: Sample.hash(1))
        try look(for: copies[0], isThere: true, "a kit copy")
        try await store.putKitCopy(copies[1], locator: Sample.hash(1))
        try look(for: copies[0], isThere: false, "a replaced kit copy")
        try look(for: copies[1], isThere: true, "a kit copy")
        try await store.deleteKitCopy(locator: Sample.hash(1))
        try look(for: copies[1], isThere: false, "a deleted kit copy")

        let wraps = [Sample.secret(6, byteCount: 1200), Sample.secret(7, byteCount: 1200)]
        let change = Sample.change(
            0, after: nil, [0], putting: [Sample.wrap(1, epoch: 1, wraps[0]), Sample.wrap(2, epoch: 1, wraps[1])])
        try await expect(store.append(change) == .done, or: "it refuses a first entry")
        for wrap in wraps { try look(for: wrap, isThere: true, "a wrap") }
        let removal = Sample.change(1, after: [0], [1], removing: [Sample.user(1)])
        try await expect(store.append(removal) == .done, or: "it refuses an entry at the end of the log")
        try look(for: wraps[0], isThere: false, "the wrap of a removed member")
        try look(for: wraps[1], isThere: true, "the wrap of a member who stays")
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
