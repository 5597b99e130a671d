// SPDX-License-Identifier: Apache-2.0

import TresorCore

/// The checks of logs and wraps.
enum LogChecks {
    private static let tresor = Sample.tresor(1)

    static func compareAndSwap(in store: any Store) async throws {
        func refuse(_ sequence: UInt64, after previous: [UInt8]?, _ entry: [UInt8], _ reason: String) async throws {
            let outcome = try await store.append(Sample.change(sequence, after: previous, entry))
            try expect(outcome == .conflict, or: "it appends \(reason)")
        }
        func confirm(_ sequence: UInt64, after previous: [UInt8]?, _ entry: [UInt8]) async throws {
            let outcome = try await store.append(Sample.change(sequence, after: previous, entry))
            try expect(outcome == .done, or: "it refuses entry \(sequence) at the end of the log")
        }
        try await refuse(1, after: nil, [10], "entry 1 to an empty log")
        try await refuse(1, after: [9], [10], "entry 1 to an empty log, after an entry that is not there")
        try await refuse(0, after: [9], [10], "entry 0 after an entry that is not there")
        try await confirm(0, after: nil, [10])
        try await refuse(0, after: nil, [10], "entry 0 a second time")
        try await refuse(1, after: nil, [11], "entry 1 without the entry before it")
        try await refuse(1, after: [11], [11], "entry 1 after another entry than the last one")
        try await refuse(2, after: [10], [11], "entry 2 in the place of entry 1")
        try await refuse(.max, after: [10], [11], "an entry with the last of all numbers")
        try await refuse(0, after: [10], [11], "entry 0 after the last entry")
        try await confirm(1, after: [10], [11])
        try await refuse(1, after: [10], [12], "a second entry 1")
        try await expect(
            store.entries(of: tresor, from: 0, limit: 10) == [[10], [11]],
            or: "it does not show exactly the entries that it confirmed")
    }

    static func entryOrder(in store: any Store) async throws {
        let log = (0..<300).map { index in Array("entry \(index)".utf8) }
        for (index, entry) in log.enumerated() {
            let change = try Sample.change(UInt64(index), after: index == 0 ? nil : log[index - 1], entry)
            try await expect(store.append(change) == .done, or: "it refuses entry \(index) at the end of the log")
        }
        let expected: [(first: UInt64, limit: Int, entries: ArraySlice<[UInt8]>)] = [
            (0, 1000, log[...]), (250, 10, log[250..<260]), (299, 10, log[299...]), (300, 10, []), (.max, 10, []),
            (0, 0, []), (0, -1, []),
        ]
        for (first, limit, entries) in expected {
            try await expect(
                store.entries(of: tresor, from: first, limit: limit) == Array(entries),
                or: "it does not give the entries from \(first) on, in order, at most \(limit), of 300")
        }
        try await expect(
            store.entries(of: Sample.tresor(2), from: 0, limit: 10).isEmpty, or: "it gives the entries of another log")
    }

    static func wrapTransactions(in store: any Store) async throws {
        let users = (0...3).map { Sample.user($0) }
        let first = [Sample.wrap(1, epoch: 1, [1]), Sample.wrap(2, epoch: 1, [2])]
        try await expect(
            store.append(Sample.change(0, after: nil, [0], putting: first)) == .done, or: "it refuses a first entry")
        let more = [
            Sample.wrap(2, epoch: 256, [4]), Sample.wrap(2, epoch: 2, [3]), Sample.wrap(2, epoch: .max, [5]),
        ]
        try await store.putWraps(more, in: tresor)
        try await store.putWraps([Sample.wrap(2, epoch: 1, [6])], in: Sample.tresor(2))
        try await readWraps(store, users)

        let losing = try Sample.change(
            2, after: [0], [1], putting: [Sample.wrap(1, epoch: 1, [9])], removing: [users[2]])
        try await expect(store.append(losing) == .conflict, or: "it appends entry 2 in the place of entry 1")
        try await expect(
            store.wraps(of: users[1], in: tresor, epoch: nil) == [[1]], or: "it stores the wraps of an entry it refused"
        )
        try await expect(
            store.wraps(of: users[2], in: tresor, epoch: nil).count == 4,
            or: "it deletes wraps for an entry that it refused")

        let winning = try Sample.change(
            1, after: [0], [1], putting: [Sample.wrap(1, epoch: 2, [7]), Sample.wrap(3, epoch: 2, [8])],
            removing: [users[2], users[3]])
        try await expect(store.append(winning) == .done, or: "it refuses an entry at the end of the log")
        try await expect(
            store.wraps(of: users[1], in: tresor, epoch: nil) == [[1], [7]],
            or: "it does not add the wraps of an entry to those that are there")
        try await expect(
            store.wraps(of: users[2], in: tresor, epoch: nil).isEmpty,
            or: "it keeps wraps of a member whom an entry removes")
        try await expect(
            store.wraps(of: users[3], in: tresor, epoch: nil) == [[8]],
            or: "it does not delete wraps before it stores those of the same entry")
        try await expect(
            store.tresors(of: users[2]) == [Sample.tresor(2)],
            or: "it lists other tresors than those in which a user has a wrap")
    }

    private static func readWraps(_ store: any Store, _ users: [UserID]) async throws {
        try await expect(
            store.wraps(of: users[2], in: tresor, epoch: nil) == [[2], [3], [4], [5]],
            or: "it does not give the wraps of a member by rising epoch")
        try await expect(
            store.wraps(of: users[2], in: tresor, epoch: 256) == [[4]], or: "it does not give the wrap of one epoch")
        try await expect(
            store.wraps(of: users[2], in: tresor, epoch: 3).isEmpty, or: "it gives a wrap of an epoch without one")
        try await expect(
            store.wraps(of: [users[2], users[3], users[1]], in: tresor, epoch: 1) == [[[2]], [], [[1]]],
            or: "it does not give the wraps of many members in their order")
        try await expect(
            store.wraps(of: [], in: tresor, epoch: 1).isEmpty, or: "it gives wraps although nobody was asked for")
        try await expect(
            store.tresors(of: users[2]) == [tresor, Sample.tresor(2)],
            or: "it does not list the tresors in which a user has a wrap, in byte order")
    }

    static func wrapRestoration(in store: any Store) async throws {
        for byte in [UInt8(1), 2] { try await store.putWraps([Sample.wrap(1, epoch: 1, [byte])], in: tresor) }
        try await expect(
            store.wraps(of: Sample.user(1), in: tresor, epoch: nil) == [[2]],
            or: "it does not replace the wrap of the same user and epoch")
    }

    static func entryRestoration(in store: any Store) async throws {
        try await expect(store.append(Sample.change(0, after: nil, [10])) == .done, or: "it refuses a first entry")
        try await expect(store.append(Sample.change(1, after: [10], [11])) == .done, or: "it refuses entry 1")
        _ = try await store.restore([10], at: 0, of: tresor)
        try await expect(
            store.restore([12], at: 0, of: tresor) == .conflict, or: "it restores an entry in the place of another")
        try await expect(
            store.restore([12], at: 2, of: tresor) == .conflict, or: "it restores an entry after the end of the log")
        try await expect(
            store.restore([12], at: .max, of: tresor) == .conflict, or: "it restores an entry far after the end")
        try await expect(
            store.restore([12], at: 0, of: Sample.tresor(2)) == .conflict, or: "it restores an entry of an unknown log")
        try await expect(
            store.entries(of: tresor, from: 0, limit: 10) == [[10], [11]], or: "it changes a log by restoring")
        try await expect(
            store.entries(of: Sample.tresor(2), from: 0, limit: 10).isEmpty, or: "it begins a log by restoring")
    }

    static func tresorDeletion(in store: any Store) async throws {
        let (user, hash, other) = (Sample.user(1), Sample.hash(1), Sample.tresor(2))
        let first = try Sample.change(
            0, after: nil, [10], putting: [Sample.wrap(1, epoch: 1, [2])],
            blobs: [StoredBlob(hash: hash, size: 1, bytes: [3])])
        try await expect(store.append(first) == .done, or: "it refuses a first entry")
        try await store.putWraps([Sample.wrap(1, epoch: 1, [4])], in: other)
        for _ in 0..<2 { try await store.deleteTresor(tresor) }
        try await store.deleteTresor(Sample.tresor(3))
        func look(_ when: String) async throws {
            try await expect(
                store.entries(of: tresor, from: 0, limit: 9).isEmpty, or: "it has entries of a deleted tresor \(when)")
            try await expect(
                store.wraps(of: user, in: tresor, epoch: nil).isEmpty, or: "it has wraps of a deleted tresor \(when)")
            try await expect(
                store.blobs([hash], in: tresor) == [nil], or: "it has a blob of a deleted tresor \(when)")
            try await expect(
                store.tresors(of: user) == [other], or: "it does not list exactly the tresors that are left \(when)")
        }
        try await look("after its deletion")
        try await expect(store.append(first) == .conflict, or: "it begins a deleted tresor again")
        try await expect(
            store.restore([10], at: 0, of: tresor) == .conflict, or: "it restores an entry of a deleted tresor")
        try await store.putWraps([Sample.wrap(1, epoch: 1, [2])], in: tresor)
        try await store.putBlob(0, [3], of: hash, in: tresor)
        try await look("after something was put for it")
        try await expect(
            store.wraps(of: user, in: other, epoch: nil) == [[4]], or: "it deletes a wrap of another tresor")
    }
}
