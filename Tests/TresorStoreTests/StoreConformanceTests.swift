// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore
import TresorStore
import TresorSQLite

/// The implementations, all held to one contract.
enum Implementation: CaseIterable {
    case sqlite, memory

    func with(_ body: (any Store) async throws -> Void) async throws {
        switch self {
        case .memory: try await body(MemoryStore())
        case .sqlite:
            let scratch = try Scratch()
            try await body(try await SQLiteStore.open(at: scratch["store.db"], creating: true))
        }
    }
}

@Suite struct StoreConformanceTests {
    @Test(arguments: Implementation.allCases)
    func emptyStoreHasNothing(_ implementation: Implementation) async throws {
        try await implementation.with { (store) async throws in
            #expect(try await store.card(of: user(1)) == nil)
            #expect(try await store.cards(handle: [1]).isEmpty)
            #expect(try await store.users(prefix: [], limit: 10).isEmpty)
            #expect(try await store.entries(of: tresor(1), from: 0, limit: 10).isEmpty)
            #expect(try await store.wraps(of: user(1), in: tresor(1), epoch: nil).isEmpty)
            #expect(try await store.tresors(of: user(1)).isEmpty)
            #expect(try await store.serverShare(user: user(1), device: device(1)) == nil)
            #expect(try await store.kitCopy(locator: digest(1)) == nil)
            try await store.deleteServerShares(user: user(1), devices: nil)
            try await store.deleteServerShares(user: user(1), devices: [device(1)])
            try await store.deleteKitCopy(locator: digest(1))
            try await store.putWraps([], in: tresor(1))
        }
    }

    @Test(arguments: Implementation.allCases)
    func cardIsCreatedOnceAndReplacedOnlyByWhoKnowsIt(_ implementation: Implementation) async throws {
        try await implementation.with { (store) async throws in
            #expect(try await store.putCard([1], user: user(1), handle: [9], replacing: [0]) == .conflict)
            #expect(try await store.card(of: user(1)) == nil)
            #expect(try await store.putCard([1], user: user(1), handle: [9], replacing: nil) == .done)
            #expect(try await store.putCard([1], user: user(1), handle: [9], replacing: nil) == .done)
            #expect(try await store.putCard([2], user: user(1), handle: [9], replacing: nil) == .conflict)
            #expect(try await store.putCard([2], user: user(1), handle: [9], replacing: [3]) == .conflict)
            #expect(try await store.card(of: user(1)) == [1])
            #expect(try await store.putCard([2], user: user(1), handle: [9], replacing: [1]) == .done)
            #expect(try await store.card(of: user(1)) == [2])
            #expect(try await store.cards(handle: [9]) == [[2]])
        }
    }

    @Test(arguments: Implementation.allCases)
    func A46_handleOfAnotherUserIsRefused(_ implementation: Implementation) async throws {
        try await implementation.with { (store) async throws in
            #expect(try await store.putCard([1], user: user(1), handle: [9], replacing: nil) == .done)
            #expect(try await store.putCard([2], user: user(2), handle: [9], replacing: nil) == .conflict)
            #expect(try await store.card(of: user(2)) == nil)
            #expect(try await store.cards(handle: [9]) == [[1]])
        }
    }

    @Test(arguments: Implementation.allCases)
    func A47_handlesAreComparedAsBytes(_ implementation: Implementation) async throws {
        let composed = Array("\u{e9}".utf8)
        let decomposed = Array("e\u{301}".utf8)
        try await implementation.with { (store) async throws in
            #expect(try await store.putCard([1], user: user(1), handle: composed, replacing: nil) == .done)
            #expect(try await store.putCard([2], user: user(2), handle: decomposed, replacing: nil) == .done)
            #expect(try await store.putCard([3], user: user(3), handle: [], replacing: nil) == .done)
            #expect(try await store.putCard([4], user: user(4), handle: [0], replacing: nil) == .done)
            #expect(try await store.cards(handle: composed) == [[1]])
            #expect(try await store.cards(handle: decomposed) == [[2]])
            #expect(try await store.cards(handle: []) == [[3]])
            #expect(try await store.cards(handle: [0]) == [[4]])
        }
    }

    @Test(arguments: Implementation.allCases)
    func usersAreFoundByPrefix(_ implementation: Implementation) async throws {
        let all = [user(0), user(1), user(1, 0xff), user(0xfe, 0xff), user(0xff), user(0xff, 0xff)]
        try await implementation.with { (store) async throws in
            for (index, id) in all.enumerated().reversed() {
                let card = [UInt8(index)]
                #expect(try await store.putCard(card, user: id, handle: card, replacing: nil) == .done)
            }
            #expect(try await store.users(prefix: [], limit: 10) == all)
            #expect(try await store.users(prefix: [1], limit: 10) == [user(1), user(1, 0xff)])
            #expect(try await store.users(prefix: [1, 0xff, 0xff], limit: 10) == [user(1, 0xff)])
            #expect(try await store.users(prefix: [0xfe], limit: 10) == [user(0xfe, 0xff)])
            #expect(try await store.users(prefix: [0xff], limit: 10) == [user(0xff), user(0xff, 0xff)])
            #expect(try await store.users(prefix: [0xff, 0xff], limit: 10) == [user(0xff, 0xff)])
            #expect(try await store.users(prefix: user(1).digest.bytes, limit: 10) == [user(1)])
            #expect(try await store.users(prefix: user(1).digest.bytes + [0], limit: 10).isEmpty)
            #expect(try await store.users(prefix: [7], limit: 10).isEmpty)
            #expect(try await store.users(prefix: [], limit: 2) == Array(all.prefix(2)))
            #expect(try await store.users(prefix: [], limit: 0).isEmpty)
            #expect(try await store.users(prefix: [], limit: -1).isEmpty)
        }
    }

    @Test(arguments: Implementation.allCases)
    func logGrowsOnlyAtItsEnd(_ implementation: Implementation) async throws {
        func change(_ sequence: UInt64, after previous: [UInt8]?, _ entry: [UInt8]) -> LogChange {
            LogChange(tresor: tresor(1), sequence: sequence, previous: previous, entry: entry)
        }
        try await implementation.with { (store) async throws in
            #expect(try await store.append(change(1, after: nil, [10])) == .conflict)
            #expect(try await store.append(change(1, after: [9], [10])) == .conflict)
            #expect(try await store.append(change(0, after: [9], [10])) == .conflict)
            #expect(try await store.append(change(0, after: nil, [10])) == .done)
            #expect(try await store.append(change(0, after: nil, [10])) == .conflict)
            #expect(try await store.append(change(1, after: nil, [11])) == .conflict)
            #expect(try await store.append(change(1, after: [11], [11])) == .conflict)
            #expect(try await store.append(change(2, after: [10], [11])) == .conflict)
            #expect(try await store.append(change(.max, after: [10], [11])) == .conflict)
            #expect(try await store.append(change(0, after: [10], [11])) == .conflict)
            #expect(try await store.append(change(1, after: [10], [11])) == .done)
            #expect(try await store.append(change(1, after: [10], [12])) == .conflict)
            #expect(try await store.entries(of: tresor(1), from: 0, limit: 10) == [[10], [11]])
        }
    }

    @Test(arguments: Implementation.allCases)
    func entriesAreReadInOrderAndByPieces(_ implementation: Implementation) async throws {
        let log = (0..<300).map { index in Array("entry \(index)".utf8) }
        try await implementation.with { (store) async throws in
            for (index, entry) in log.enumerated() {
                let previous = index == 0 ? nil : log[index - 1]
                let change = LogChange(
                    tresor: tresor(1), sequence: UInt64(index), previous: previous, entry: entry)
                #expect(try await store.append(change) == .done)
            }
            #expect(try await store.entries(of: tresor(1), from: 0, limit: 1000) == log)
            #expect(try await store.entries(of: tresor(1), from: 250, limit: 10) == Array(log[250..<260]))
            #expect(try await store.entries(of: tresor(1), from: 299, limit: 10) == [log[299]])
            #expect(try await store.entries(of: tresor(1), from: 300, limit: 10).isEmpty)
            #expect(try await store.entries(of: tresor(1), from: .max, limit: 10).isEmpty)
            #expect(try await store.entries(of: tresor(1), from: 0, limit: 0).isEmpty)
            #expect(try await store.entries(of: tresor(1), from: 0, limit: -1).isEmpty)
            #expect(try await store.entries(of: tresor(2), from: 0, limit: 10).isEmpty)
        }
    }

    @Test(arguments: Implementation.allCases)
    func wrapsChangeWithTheirEntryOrNotAtAll(_ implementation: Implementation) async throws {
        func wrap(_ id: UInt8, _ epoch: UInt64, _ byte: UInt8) -> StoredWrap {
            StoredWrap(user: user(id), epoch: epoch, bytes: [byte])
        }
        try await implementation.with { (store) async throws in
            let first = LogChange(
                tresor: tresor(1), sequence: 0, previous: nil, entry: [0], putting: [wrap(1, 1, 1), wrap(2, 1, 2)])
            #expect(try await store.append(first) == .done)
            try await store.putWraps([wrap(2, 256, 4), wrap(2, 2, 3), wrap(2, .max, 5)], in: tresor(1))
            try await store.putWraps([wrap(2, 1, 6)], in: tresor(2))
            #expect(try await store.wraps(of: user(2), in: tresor(1), epoch: nil) == [[2], [3], [4], [5]])
            #expect(try await store.wraps(of: user(2), in: tresor(1), epoch: 256) == [[4]])
            #expect(try await store.wraps(of: user(2), in: tresor(1), epoch: 3).isEmpty)
            #expect(
                try await store.wraps(of: [user(2), user(3), user(1)], in: tresor(1), epoch: 1) == [[2], nil, [1]])
            #expect(try await store.wraps(of: [], in: tresor(1), epoch: 1).isEmpty)
            #expect(try await store.tresors(of: user(2)) == [tresor(1), tresor(2)])

            let losing = LogChange(
                tresor: tresor(1), sequence: 2, previous: [0], entry: [1], putting: [wrap(1, 1, 9)],
                removingWrapsOf: [user(2)])
            #expect(try await store.append(losing) == .conflict)
            #expect(try await store.wraps(of: user(1), in: tresor(1), epoch: nil) == [[1]])
            #expect(try await store.wraps(of: user(2), in: tresor(1), epoch: nil).count == 4)

            let winning = LogChange(
                tresor: tresor(1), sequence: 1, previous: [0], entry: [1], putting: [wrap(1, 2, 7), wrap(3, 2, 8)],
                removingWrapsOf: [user(2), user(3)])
            #expect(try await store.append(winning) == .done)
            #expect(try await store.wraps(of: user(1), in: tresor(1), epoch: nil) == [[1], [7]])
            #expect(try await store.wraps(of: user(2), in: tresor(1), epoch: nil).isEmpty)
            #expect(try await store.wraps(of: user(3), in: tresor(1), epoch: nil) == [[8]])
            #expect(try await store.tresors(of: user(2)) == [tresor(2)])
        }
    }

    @Test(arguments: Implementation.allCases)
    func wrapIsPutBack(_ implementation: Implementation) async throws {
        try await implementation.with { (store) async throws in
            for byte in [UInt8(1), 2] {
                try await store.putWraps([StoredWrap(user: user(1), epoch: 1, bytes: [byte])], in: tresor(1))
            }
            #expect(try await store.wraps(of: user(1), in: tresor(1), epoch: nil) == [[2]])
        }
    }

    @Test(arguments: Implementation.allCases)
    func serverSharesAreKeptByUserAndDevice(_ implementation: Implementation) async throws {
        let shares = (0..<4).map { _ in random(32) }
        try await implementation.with { (store) async throws in
            for (index, share) in shares.enumerated() {
                try await store.putServerShare(share, user: user(UInt8(index / 3)), device: device(UInt8(index % 3)))
            }
            #expect(try await store.serverShare(user: user(0), device: device(2)) == shares[2])
            #expect(try await store.serverShare(user: user(1), device: device(0)) == shares[3])
            #expect(try await store.serverShare(user: user(1), device: device(1)) == nil)
            try await store.putServerShare([7], user: user(0), device: device(2))
            #expect(try await store.serverShare(user: user(0), device: device(2)) == [7])
            try await store.deleteServerShares(user: user(0), devices: [device(1), device(9)])
            #expect(try await store.serverShare(user: user(0), device: device(1)) == nil)
            try await store.deleteServerShares(user: user(0), devices: [])
            #expect(try await store.serverShare(user: user(0), device: device(0)) == shares[0])
            try await store.deleteServerShares(user: user(0), devices: nil)
            #expect(try await store.serverShare(user: user(0), device: device(0)) == nil)
            #expect(try await store.serverShare(user: user(1), device: device(0)) == shares[3])
        }
    }

    @Test(arguments: Implementation.allCases)
    func kitCopyIsReplacedAndDeleted(_ implementation: Implementation) async throws {
        try await implementation.with { (store) async throws in
            try await store.putKitCopy([1], locator: digest(1))
            try await store.putKitCopy([2], locator: digest(1))
            try await store.putKitCopy([], locator: digest(2))
            #expect(try await store.kitCopy(locator: digest(1)) == [2])
            #expect(try await store.kitCopy(locator: digest(2)) == [])
            try await store.deleteKitCopy(locator: digest(1))
            #expect(try await store.kitCopy(locator: digest(1)) == nil)
        }
    }

    @Test(arguments: Implementation.allCases)
    func exactlyOneOfManyAppendsWins(_ implementation: Implementation) async throws {
        try await implementation.with { (store) async throws in
            let done = try await race(Array(repeating: store, count: 20))
            #expect(done == 1)
            #expect(try await store.entries(of: tresor(1), from: 0, limit: 10).count == 1)
        }
    }
}

/// Lets every store append its own genesis to one log at once.
///
/// - Returns: the number of confirmed appends.
func race(_ stores: [any Store]) async throws -> Int {
    try await withThrowingTaskGroup(of: StoreOutcome.self) { group in
        for (index, store) in stores.enumerated() {
            group.addTask {
                try await store.append(
                    LogChange(tresor: tresor(1), sequence: 0, previous: nil, entry: [UInt8(index)]))
            }
        }
        return try await group.reduce(0) { $0 + ($1 == .done ? 1 : 0) }
    }
}
