// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The checks of card chains, and of a store without anything.
enum CardChecks {
    static func emptiness(of store: any Store) async throws {
        let (user, tresor, device) = (Sample.user(1), Sample.tresor(1), try Sample.device(1))
        try await expect(store.card(of: user) == nil, or: "it has a card that nobody put there")
        try await expect(store.cards(handle: [1]).isEmpty, or: "it has cards under a handle that nobody took")
        try await expect(store.users(prefix: [], limit: 10).isEmpty, or: "it lists users although it has no card")
        try await expect(store.entries(of: tresor, from: 0, limit: 10).isEmpty, or: "it has entries of an unknown log")
        try await expect(store.wraps(of: user, in: tresor, epoch: nil).isEmpty, or: "it has wraps of an unknown user")
        try await expect(store.tresors(of: user).isEmpty, or: "it lists tresors for an unknown user")
        try await expect(
            store.serverShare(user: user, device: device) == nil, or: "it has a server share that nobody put there")
        try await expect(
            store.kitCopy(locator: Sample.hash(1)) == nil, or: "it has a kit copy that nobody put there")
        try await store.deleteServerShares(user: user, devices: nil)
        try await store.deleteServerShares(user: user, devices: [device])
        try await store.deleteKitCopy(locator: Sample.hash(1))
        try await store.putWraps([], in: tresor)
    }

    static func replacement(in store: any Store) async throws {
        let user = Sample.user(1)
        func put(_ chain: [UInt8], replacing old: [UInt8]?) async throws -> StoreOutcome {
            try await store.putCard(chain, user: user, handle: [9], replacing: old)
        }
        try await expect(put([1], replacing: [0]) == .conflict, or: "it replaces a chain that it does not have")
        try await expect(store.card(of: user) == nil, or: "it stores a chain after a conflict")
        try await expect(put([1], replacing: nil) == .done, or: "it refuses the first chain of a user id")
        try await expect(put([1], replacing: nil) == .done, or: "it refuses the chain that it already has")
        try await expect(put([2], replacing: nil) == .conflict, or: "it confirms a second first chain of a user id")
        try await expect(put([2], replacing: [3]) == .conflict, or: "it replaces another chain than the one expected")
        try await expect(store.card(of: user) == [1], or: "it changes the chain after a conflict")
        try await expect(put([2], replacing: [1]) == .done, or: "it refuses to replace the chain that it has")
        try await expect(store.card(of: user) == [2], or: "it does not show the chain that it confirmed")
        try await expect(store.cards(handle: [9]) == [[2]], or: "it does not show the new chain under its handle alone")
    }

    static func handleOwnership(in store: any Store) async throws {
        let (first, second) = (Sample.user(1), Sample.user(2))
        try await expect(
            store.putCard([1], user: first, handle: [9], replacing: nil) == .done, or: "it refuses a free handle")
        try await expect(
            store.putCard([2], user: second, handle: [9], replacing: nil) == .conflict,
            or: "it gives the handle of one user id to another")
        try await expect(store.card(of: second) == nil, or: "it stores a chain whose handle belongs to another")
        try await expect(
            store.cards(handle: [9]) == [[1]], or: "it shows another chain under a handle than its owner's")
    }

    static func handleBytes(in store: any Store) async throws {
        let composed = Array("\u{e9}".utf8)
        let decomposed = Array("e\u{301}".utf8)
        for (index, handle) in [composed, decomposed, [], [0]].enumerated() {
            let number = UInt8(index + 1)
            try await expect(
                store.putCard([number], user: Sample.user(number), handle: handle, replacing: nil) == .done,
                or: "it takes the handle \(handle) for one with other bytes")
        }
        for (index, handle) in [composed, decomposed, [], [0]].enumerated() {
            try await expect(
                store.cards(handle: handle) == [[UInt8(index + 1)]], or: "it does not find the handle \(handle) alone")
        }
    }

    static func userPrefixes(in store: any Store) async throws {
        let all = [
            Sample.user(0), Sample.user(1), Sample.user(1, 0xff), Sample.user(0xfe, 0xff), Sample.user(0xff),
            Sample.user(0xff, 0xff),
        ]
        for (index, user) in all.enumerated().reversed() {
            let card = [UInt8(index)]
            try await expect(
                store.putCard(card, user: user, handle: card, replacing: nil) == .done, or: "it refuses a free handle")
        }
        let whole = all[1].digest.bytes
        let expected: [(prefix: [UInt8], users: [UserID])] = [
            ([], all), ([1], Array(all[1...2])), ([1, 0xff, 0xff], [all[2]]), ([0xfe], [all[3]]),
            ([0xff], Array(all[4...5])), ([0xff, 0xff], [all[5]]), (whole, [all[1]]), (whole + [0], []), ([7], []),
        ]
        for (prefix, users) in expected {
            try await expect(
                store.users(prefix: prefix, limit: 10) == users,
                or: "it does not list the users with the prefix \(prefix), in byte order")
        }
        for limit in [2, 0, -1] {
            try await expect(
                store.users(prefix: [], limit: limit) == Array(all.prefix(max(0, limit))),
                or: "it does not list the first users for the limit \(limit)")
        }
    }
}
