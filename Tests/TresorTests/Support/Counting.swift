// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// How often each kind of thing was asked for.
final class CallCounts: Sendable {
    private let values = Mutex<[String: Int]>([:])

    var counts: [String: Int] { values.withLock { $0 } }

    func count(_ what: String) { values.withLock { $0[what, default: 0] += 1 } }

    func reset() { values.withLock { $0 = [:] } }
}

/// A home whose reads are counted, by kind of object.
struct CountingHome: Home {
    let home: any Home
    let tally = CallCounts()

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        tally.count("home \(Self.kind(object))")
        return try home.read(object)
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        tally.count("home writes")
        try home.replace(object, with: bytes)
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        tally.count("home \(Self.kind(object))")
        return try home.readSecret(object)
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        tally.count("home writes")
        try home.replace(object, withSecret: bytes)
    }

    func delete(_ object: HomeObject) throws(TresorError) {
        tally.count("home deletions")
        try home.delete(object)
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        if HomePatience.isNone { tally.count("home locks at once") }
        tally.count("home locks")
        return try home.exclusively(body)
    }

    func slotLock() throws(TresorError) -> SlotLock? { try home.slotLock() }

    private static func kind(_ object: HomeObject) -> String {
        switch object.kind {
        case .log: "log"
        case .state: "state"
        case .records: "records"
        case .volume: "volume"
        case .evidence: "evidence"
        case .outbox: "outbox"
        default: "\(object.kind)"
        }
    }
}

/// A store whose readings are counted, by function.
struct CountingStore: FrontStore {
    let store: any Store
    var truth: any Store { store }
    let tally = CallCounts()

    func pass<Answer>(
        _ function: StoreFunction, confirming done: Answer?,
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        if !function.isWrite { tally.count(function.rawValue) }
        return try await call(store)
    }
}
