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
    static func way(to store: any Store, overTLS: Bool) -> any Store {
        guard !(store is OpenWire) else { return store }
        guard type(of: store) is AnyClass else { return OpenWire(to: store, overTLS: overTLS) }
        let name = ObjectIdentifier(store as AnyObject)
        return wires.withLock { wires in
            if let known = wires[name]?.wire { return known }
            let wire = OpenWire(to: store, overTLS: overTLS)
            wires[name] = Known(wire: wire)
            return wire
        }
    }
}

/// A store behind a service that judges nothing.
private final class OpenWire: RoutedStore {
    private let remote: Lazily<any Store>

    init(to store: any Store, overTLS: Bool) {
        remote = Lazily {
            let clock = { @Sendable in UInt64(Date.now.timeIntervalSince1970) }
            // A page as large as that of a service: what a store shows once is not shown by halves.
            let handler = try OpenHandler(store, behind: StageStores.innermost(store), clock: clock, pageCount: 4_096)
            #if Server
                if overTLS { return try await TLSWay.open(to: handler, server: handler.server.id(), clock: clock) }
            #endif
            return HTTPStore(ServiceClient(over: LoopbackTransport(into: handler, clock: clock), clock: clock))
        }
    }

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await call(remote.value) }
}

extension StageStores {
    /// The honest store behind those that stand before it.
    static func innermost(_ store: any Store) -> any Store {
        var store = store
        while let front = store as? any FrontStore { store = front.truth }
        return store
    }
}
