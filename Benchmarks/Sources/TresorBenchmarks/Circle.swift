// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring
import TresorStore
import TresorSQLite

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// An owner and any number of readers on one store.
struct Circle {
    let anna: Session
    let tresor: TresorID
    /// Only their cards: guarded memory does not suffice for the keys of so many people.
    let readers: [CardChain]

    /// - Parameter members: the number of members, including the owner.
    /// - Parameter directory: the directory of the store file; `nil` for memory.
    init(members count: Int, in directory: String? = nil) async throws {
        let store: any Store =
            if let directory {
                try await SQLiteStore.open(at: directory + "/store-\(count).db", creating: true)
            } else {
                MemoryStore()
            }
        anna = try Self.person("anna", on: store)
        tresor = try await anna.tresors.create(Name(text: "plans")).tresor
        readers = try Self.cards(count - 1)
        for start in stride(from: 0, to: readers.count, by: 500) {
            let chains = Array(readers[start..<min(start + 500, readers.count)])
            try await anna.tresors.perform(
                .share(with: chains, role: .reader, fromNow: false, notAfter: nil), on: tresor,
                acceptingUnverified: true)
        }
    }

    private static let time: UInt64 = 1_777_730_400

    /// Somebody on a store, with a home that keeps nothing.
    static func person(_ handle: String, on store: any Store) throws -> Session {
        let client = Client(home: VolatileHome(), store: store, clock: { Self.time })
        let identity = try Identity.make(handle: Name(text: handle), time: Self.time)
        let kit = try RecoveryKit()
        let slot = try identity.seal(
            under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
            since: Self.time)
        try client.home.replace(.identity, with: try IdentityFile(of: identity, previous: [], slots: [slot]).bytes)
        return Session(client: client, identity: identity)
    }

    /// The cards of so many people.
    static func cards(_ count: Int) throws -> [CardChain] {
        try Cores.map(count, grain: 16) { (range) throws(TresorError) in
            var people: [CardChain] = []
            for number in range {
                people.append(try Identity.make(handle: Name(text: "reader \(number)"), time: Self.time).chain)
            }
            return people
        }
    }
}
