// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TresorCore
import TresorCrypto
import TresorRemote
import TresorStore

/// Services that judge nothing, each before a store of a test.
enum OpenWires {
    private struct Known {
        weak var wire: OpenWire?
    }

    private static let wires = Mutex<[ObjectIdentifier: Known]>([:])

    /// The way of a client to a store. All clients of one store come to one service.
    static func way(to store: any Store, overTLS: Bool) -> OpenWire {
        if let wire = store as? OpenWire { return wire }
        guard type(of: store) is AnyClass else { return OpenWire(to: store, overTLS: overTLS) }
        let name = ObjectIdentifier(store as AnyObject)
        return wires.withLock { wires in
            if let known = wires[name]?.wire { return known }
            let wire = OpenWire(to: store, overTLS: overTLS)
            wires[name] = Known(wire: wire)
            return wire
        }
    }

    /// The service that a command asks; `nil` where it opens the store itself. Before a service that judges, one that
    /// judges nothing passes on what a lying store makes of the answers.
    static func service(before store: any Store) -> OpenWire? {
        switch StoreKind.current {
        case .memory, .sqlite: return nil
        case .wire: return way(to: store, overTLS: false)
        #if Server
            case .evil: return way(to: store, overTLS: true)
            case .http, .https, .postgres: return way(to: store, overTLS: false)
        #endif
        }
    }
}

/// A store behind a service that judges nothing.
final class OpenWire: TestStore {
    private struct Service: Sendable {
        let store: HTTPStore
        /// The needs of the connections.
        var way: (any Sendable)?
    }

    private let service: Lazily<Service>

    fileprivate init(to store: any Store, overTLS: Bool) {
        let judged: any Store = StoreKind.current.judges ? SeenStore(base: store) : store
        service = Lazily {
            let clock = { @Sendable in UInt64(Date.now.timeIntervalSince1970) }
            // A page as large as that of a service: what a store shows once is not shown by halves.
            let handler = try OpenHandler(
                judged, behind: StageStores.innermost(store), clock: clock, pageCount: 4_096)
            #if Server
                if overTLS {
                    let way = try await TLSWay.open(to: handler, server: handler.server.id(), clock: clock)
                    return Service(store: way.remote, way: way)
                }
            #endif
            return Service(
                store: HTTPStore(ServiceClient(over: LoopbackTransport(into: handler, clock: clock), clock: clock)))
        }
    }

    /// The store as a command opens it. It answers while this value lives.
    func open() async throws(TresorError) -> HTTPStore { try await service.value.store }

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await TaskCaller.pass(to: open(), call) }
}

extension StageStores {
    /// The honest store behind those that stand before it.
    static func innermost(_ store: any Store) -> any Store {
        var store = store
        while let front = store as? any LayeredStore { store = front.truth }
        return store
    }
}
