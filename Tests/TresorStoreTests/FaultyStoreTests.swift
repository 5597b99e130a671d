// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// The stand-ins for a store do what they say.
@Suite struct FaultyStoreTests {
    @Test func withoutAFaultEveryPromiseIsKept() async {
        let findings = await StoreClaim.findings {
            let store = FaultyStore()
            return StorePlace { store }
        }
        // Nobody sees the bytes of memory, so that nobody can tell what is erased.
        #expect(findings.map(\.claim) == [StoreClaim(.erasure)])
    }

    @Test func eachFaultMeetsItsCallAlone() async throws {
        let store = FaultyStore()
        func put(_ byte: UInt8) async -> TresorError? {
            await errorOf {
                try await store.putServerShare([byte], deviceKey: .zero, user: user(1), device: device(byte))
            }
        }
        func isKept(_ byte: UInt8) async throws -> Bool {
            try await store.base.serverShare(user: user(1), device: device(byte)) != nil
        }
        store.fail(after: 1, by: .refusing(.store(.full)))
        store.fail(after: 2, by: .losingAnswer(.store(.inputOutput)))
        store.fail(after: 3, by: .losingWrite)
        #expect(await put(1) == nil)
        #expect(await put(2) == .store(.full))
        #expect(await put(3) == .store(.inputOutput))
        #expect(await put(4) == nil)
        #expect(await put(5) == nil)
        for (byte, kept) in [(UInt8(1), true), (2, false), (3, true), (4, false), (5, true)] {
            #expect(try await isKept(byte) == kept, "\(byte)")
        }
        #expect(store.calls.map(\.name) == Array(repeating: "putServerShare", count: 5))
    }

    @Test func aLastingFaultEndsWhenItIsHealed() async throws {
        let store = FaultyStore()
        store.fail(after: 1, by: .refusing(.busy), isLasting: true)
        #expect(await errorOf { _ = try await store.card(of: user(1)) } == nil)
        for _ in 0..<3 { #expect(await errorOf { _ = try await store.card(of: user(1)) } == .busy) }
        store.heal()
        #expect(await errorOf { _ = try await store.card(of: user(1)) } == nil)
        #expect(store.calls.count == 5)
    }

    @Test func aLostWriteIsConfirmedAndAReadIsAnswered() async throws {
        let store = FaultyStore()
        store.fail(by: .losingWrite, isLasting: true)
        let change = LogChange(tresor: tresor(1), sequence: 0, previous: .zero, entry: [1])
        #expect(try await store.append(change) == .done)
        #expect(try await store.entries(of: tresor(1), from: 0, limit: 9).isEmpty)
        #expect(try await store.putCard([1], user: user(1), handle: [1], replacing: nil) == .done)
        #expect(try await store.card(of: user(1)) == nil)
    }

    /// The closure sees calls before they are sent, waits, and chooses among them.
    @Test func aClosureChoosesTheFateOfCalls() async throws {
        let base = MemoryStore()
        let store = FaultyStore(base) { call in
            await Task.yield()
            return switch call.name {
            case "putKitCopy": .losingWrite
            case "append": .losingAnswer(.store(.inputOutput))
            default: call.isWrite ? .refusing(.busy) : nil
            }
        }
        try await store.putKitCopy([1], locator: digest(1))
        #expect(await base.kitCopy(locator: digest(1)) == nil)
        let change = LogChange(tresor: tresor(1), sequence: 0, previous: .zero, entry: [1])
        #expect(await errorOf { _ = try await store.append(change) } == .store(.inputOutput))
        #expect(await errorOf { try await store.deleteKitCopy(locator: digest(1)) } == .busy)
        #expect(try await store.entries(of: tresor(1), from: 0, limit: 9) == [[1]])
        store.fail(by: .refusing(.store(.full)))
        #expect(await errorOf { try await store.putKitCopy([1], locator: digest(1)) } == .store(.full))
    }

    /// A write is what changes the store: exactly these calls are confirmed without being done.
    @Test func aWriteIsKnown() {
        let writes = StoreFunction.allCases.map(StoreCall.init).filter(\.isWrite).map(\.name)
        #expect(
            writes == [
                "putCard", "append", "restore", "putWraps", "deleteTresor", "putServerShare", "deleteServerShares",
                "putKitCopy", "deleteKitCopy", "putBlob", "deleteBlobs",
            ])
    }

    /// No requirement of `Store` bypasses the one place through which a wrapper sees all calls.
    @Test func everyCallIsSeen() async throws {
        let store = FaultyStore()
        let (user, tresor, device) = (user(1), tresor(1), try device(1))
        _ = try await store.putCard([1], user: user, handle: [1], replacing: nil)
        _ = try await store.card(of: user)
        _ = try await store.cards(handle: [1])
        _ = try await store.users(prefix: [], limit: 1)
        _ = try await store.entries(of: tresor, from: 0, limit: 1)
        _ = try await store.append(LogChange(tresor: tresor, sequence: 0, previous: .zero, entry: [1]))
        _ = try await store.restore([1], at: 0, of: tresor)
        _ = try await store.wraps(of: user, in: tresor, epoch: nil)
        _ = try await store.wraps(of: [user], in: tresor, epoch: 1)
        try await store.putWraps([], in: tresor)
        _ = try await store.tresors(of: user)
        try await store.deleteTresor(tresor)
        try await store.putServerShare([1], deviceKey: .zero, user: user, device: device)
        _ = try await store.serverShare(user: user, device: device)
        try await store.deleteServerShares(user: user, devices: nil)
        try await store.putKitCopy([1], locator: digest(1))
        _ = try await store.kitCopy(locator: digest(1))
        try await store.deleteKitCopy(locator: digest(1))
        try await store.putBlob(0, [1], of: digest(1), in: tresor)
        _ = try await store.blob(digest(1), part: 0, in: tresor)
        _ = try await store.blobs([digest(1)], in: tresor)
        try await store.deleteBlobs([digest(1)], in: tresor)
        #expect(store.calls.map(\.function) == StoreFunction.allCases)
    }
}
