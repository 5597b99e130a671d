// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The checks of what outlives one store value: many writers, durability.
enum PlaceChecks {
    private static let tresor = Sample.tresor(1)

    static func manyWriters(at place: StorePlace) async throws {
        let stores = [try await place.open(), try await place.open()]
        let begun = LogChange(tresor: Sample.tresor(2), sequence: 0, previous: .zero, entry: [0])
        try await expect(stores[0].append(begun) == .done, or: "it refuses a first entry")
        let races: [(tresor: TresorID, sequence: UInt64, previous: Hash256)] = [
            (tresor, 0, .zero), (begun.tresor, 1, try BLAKE2b.hash(.entryHash, begun.entry)),
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
        let share = Sample.secret(3, byteCount: 32)
        do {
            let store = try await place.open()
            try await expect(
                store.putCard([1], user: user, handle: [9], replacing: nil) == .done, or: "it refuses a free handle")
            let change = try Sample.change(0, after: nil, [10], putting: [Sample.wrap(1, epoch: 1, [2])])
            try await expect(store.append(change) == .done, or: "it refuses a first entry")
            try await store.putServerShare(share, deviceKey: Sample.hash(1), user: user, device: device)
            try await store.putKitCopy([4], locator: Sample.hash(1))
        }
        let store = try await place.open()
        try await expect(store.card(of: user) == [1], or: "it loses a card chain")
        try await expect(store.cards(handle: [9]) == [[1]], or: "it loses a handle")
        try await expect(store.entries(of: tresor, from: 0, limit: 10) == [[10]], or: "it loses an entry")
        try await expect(store.wraps(of: user, in: tresor, epoch: nil) == [[2]], or: "it loses a wrap")
        try await expect(store.tresors(of: user) == [tresor], or: "it loses the tresors of a user id")
        try await expect(store.serverShare(user: user, device: device) == share, or: "it loses a server share")
        try await expect(store.kitCopy(locator: Sample.hash(1)) == [4], or: "it loses a kit copy")
        try await expect(
            store.append(Sample.change(0, after: nil, [11])) == .conflict, or: "it begins a log a second time")
    }

    static func blobDurability(at place: StorePlace) async throws {
        do {
            let store = try await place.open()
            let blob = StoredBlob(hash: Sample.hash(1), size: 2, bytes: [5, 6])
            try await expect(
                store.append(Sample.change(0, after: nil, [10], blobs: [blob])) == .done, or: "it refuses a first entry"
            )
            try await store.putBlob(0, [7], of: Sample.hash(2), in: tresor)
        }
        let store = try await place.open()
        try await expect(
            store.blobs([Sample.hash(1), Sample.hash(2)], in: tresor) == [[5, 6], [7]], or: "it loses a blob")
    }
}
