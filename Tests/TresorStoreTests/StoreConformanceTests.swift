// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore
import TresorCrypto
import TresorSQLite
import TresorStore
import TresorTesting

/// The implementations, all held to one contract.
enum Implementation: CaseIterable {
    case sqlite, memory

    /// A fresh place of its own.
    func place() throws -> StorePlace {
        switch self {
        case .memory:
            let store = MemoryStore()
            return StorePlace { store }
        case .sqlite:
            let scratch = try Scratch()
            return StorePlace(bytes: { try scratch.names.map { name in try bytes(at: scratch[name]) } }) {
                try await SQLiteStore.open(at: scratch["store.db"], creating: true)
            }
        }
    }
}

@Suite struct StoreConformanceTests {
    @Test(arguments: Implementation.allCases, StoreClaim.all)
    func everyPromiseIsKept(_ implementation: Implementation, _ claim: StoreClaim) async throws {
        let place = try implementation.place()
        guard place.bytes != nil || claim.promise != .erasure else {
            // Nobody can look into the memory of the process.
            let finding = await #expect(throws: StoreFinding.self) { try await claim.check(at: place) }
            #expect(finding?.sentence.hasPrefix("this was not checked") == true)
            return
        }
        try await claim.check(at: place)
    }

    @Test(arguments: Implementation.allCases)
    func A46_handleOfAnotherUserIsRefused(_ implementation: Implementation) async throws {
        try await StoreClaim(.handleOwnership).check(at: try implementation.place())
    }

    @Test(arguments: Implementation.allCases)
    func A47_handlesAreComparedAsBytes(_ implementation: Implementation) async throws {
        try await StoreClaim(.handleBytes).check(at: try implementation.place())
    }

    /// A finding says which promise is broken, and how.
    @Test func allPromisesAreCheckedAtOnce() async throws {
        #expect(await StoreClaim.findings { try Implementation.sqlite.place() } == [])
        let findings = await StoreClaim.findings { StorePlace { throw TresorError.store(.damaged) } }
        #expect(findings.map(\.claim.promise) == Promise.allCases)
        #expect(
            findings.first?.description.hasPrefix("a new store is empty: a call that should succeed throws") == true)
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
                    LogChange(tresor: tresor(1), sequence: 0, previous: .zero, entry: [UInt8(index)]))
            }
        }
        return try await group.reduce(0) { $0 + ($1 == .done ? 1 : 0) }
    }
}
