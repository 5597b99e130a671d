// SPDX-License-Identifier: Apache-2.0

import Foundation
import TresorCore
import TresorCrypto
import TresorStore

@testable import Tresor

/// The kinds of stores over which the suites run. `TRESOR_STORES` names the one of this process; `scripts/test-stores`
/// runs each.
enum StoreKind: String, CaseIterable, Sendable {
    case memory
    /// The embedded store in a file.
    case sqlite
    /// A service that judges nothing before the store of a test, in this process: what EvilStore says goes over the
    /// messages of the wire.
    case wire
    #if Server
        /// A service over SQLite, in this process.
        case http
        /// A service over SQLite, over TLS on loopback.
        case https
        /// A service over PostgreSQL, in this process.
        case postgres
        /// As `wire`, over the real one: the strict channel with TLS on loopback.
        case evil
    #endif

    /// Whether it is a service that judges who may do what.
    var judges: Bool {
        switch self {
        case .memory, .sqlite, .wire: return false
        #if Server
            case .evil: return false
            case .http, .https, .postgres: return true
        #endif
        }
    }

    /// The kind of a part of a test; `nil` for that of the process.
    @TaskLocal static var chosen: StoreKind?

    private static let named = ProcessInfo.processInfo.environment["TRESOR_STORES"]

    private static let ofProcess: StoreKind = {
        guard let name = named else { return .memory }
        guard let kind = StoreKind(rawValue: name) else { fatalError("TRESOR_STORES names no kind: \(name)") }
        return kind
    }()

    static var current: StoreKind { chosen ?? ofProcess }

    /// The kind of the process; where none is named, also a service that lies.
    static var withEvilServer: [StoreKind] {
        guard named == nil else { return [current] }
        #if Server
            return [current, .evil]
        #else
            return [current, .wire]
        #endif
    }

    /// The kinds whose programs are here.
    static var installed: [StoreKind] {
        #if Server
            allCases.filter { $0 != .postgres || PostgresCluster.programs != nil }
        #else
            allCases
        #endif
    }
}

/// The stores of the suites: the one place that knows their kind.
enum StageStores {
    /// Makes an honest, empty store.
    ///
    /// A test that calls it itself holds it in its hand, as the operator of a service does: nobody judges its calls.
    static func make() -> any Store {
        switch StoreKind.current {
        case .memory, .wire: return MemoryStore()
        case .sqlite:
            return LazyStore { try await SQLiteFile.open() }
        #if Server
            case .evil: return MemoryStore()
            case .http, .https, .postgres:
                let kind = StoreKind.current
                return ServiceStore { try await ServiceHouse.open(kind) }
        #endif
        }
    }

    /// A store as clients see it: on the other side of the wire, if there is one.
    static func seen(_ store: any Store) -> any Store {
        switch StoreKind.current {
        case .memory, .sqlite: return store
        case .wire: return OpenWires.way(to: store, overTLS: false)
        #if Server
            case .evil: return OpenWires.way(to: store, overTLS: true)
            case .http, .https, .postgres: return store is SeenStore ? store : SeenStore(base: store)
        #endif
        }
    }

    /// A store for somebody whom the operator of a service helps: nobody judges what they send.
    static func inLeague(_ store: any Store) -> any Store { StoreKind.current.judges ? HandStore(truth: store) : store }

    /// The error of a call about a tresor by somebody who was never in it. A service shows them no log, whether it has
    /// one or not.
    static var errorOfStrangers: TresorError { StoreKind.current.judges ? .notFound : .noAccess }

    /// Makes calls by the hand of the test, also in the middle of a call of a client.
    static func byHand<Answer>(
        _ calls: () async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await ClientSide.call(false, calls)
    }
}

extension World {
    /// A client that holds no secret. A service answers nobody who does not sign: it is asked in the name of `person`.
    func client(_ home: any Home, asking person: Identity, seeing view: (any Store)? = nil) -> Client {
        let store = AskedStore(base: StageStores.seen(view ?? store), person: person)
        return Client(home: home, store: store, clock: { [clock] in clock.now })
    }
}
