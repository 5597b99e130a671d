// SPDX-License-Identifier: Apache-2.0

/// A person's own wraps that their home keeps (SPEC §8.5): who was given an old copy of a store back, or is denied a wrap, still reads, and can restore
/// everybody's wraps. They open under the identity alone, as they do in the store.
package struct KeptWraps: Hashable, Sendable {
    private var wraps: [Place: [UInt8]] = [:]

    private struct Place: Hashable, Comparable {
        let tresor: TresorID
        let epoch: UInt64

        static func < (left: Place, right: Place) -> Bool {
            left.tresor == right.tresor ? left.epoch < right.epoch : left.tresor < right.tresor
        }
    }

    init() {}

    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.keptWraps)
        var last: Place?
        while decoder.remaining > 0 {
            let place = Place(tresor: TresorID(try decoder.digest()), epoch: try decoder.integer())
            if let last, place <= last { throw .altered }
            last = place
            wraps[place] = try decoder.vector16(1...Int(UInt16.max))
        }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.keptWraps)
        for (place, wrap) in wraps.sorted(by: { $0.key < $1.key }) {
            encoder.digest(place.tresor.digest)
            encoder.integer(place.epoch)
            encoder.vector16(wrap)
        }
        return encoder.bytes
    }

    subscript(tresor: TresorID, epoch: UInt64) -> [UInt8]? {
        get { wraps[Place(tresor: tresor, epoch: epoch)] }
        set { wraps[Place(tresor: tresor, epoch: epoch)] = newValue }
    }

    /// The wraps of a tresor, by falling epoch.
    func wraps(of tresor: TresorID) -> [(epoch: UInt64, bytes: [UInt8])] {
        wraps.filter { $0.key.tresor == tresor }.sorted { $1.key < $0.key }.map { ($0.key.epoch, $0.value) }
    }

    /// Takes wraps that opened, but for those of epochs to which the links of newer ones lead: these go.
    mutating func take(_ opened: [UInt64: [UInt8]], of tresor: TresorID, linked: Set<UInt64>) {
        for (epoch, wrap) in opened where !linked.contains(epoch) { self[tresor, epoch] = wrap }
        wraps = wraps.filter { $0.key.tresor != tresor || !linked.contains($0.key.epoch) }
    }
}

extension Session {
    /// Keeps what opened. A convenience, as the names are: what cannot be read or written is no error.
    func rememberOpenedWraps(in state: LogState) {
        guard let opened = openedWraps[state.tresor], let history = state.members[identity.user]?.history else {
            return
        }
        let present = client.keptWraps()
        let known = Set(present.wraps(of: state.tresor).map(\.epoch)).union(opened.keys)
        let linked = history == .all ? linkedEpochs(among: known, in: state) : []
        func taking(_ wraps: KeptWraps) -> KeptWraps {
            var wraps = wraps
            wraps.take(opened, of: state.tresor, linked: linked)
            return wraps
        }
        guard taking(present) != present else { return }
        _ = try? client.home.exclusively { () throws(TresorError) in
            try client.home.replace(.wraps, with: taking(client.keptWraps()).bytes)
        }
    }

    /// Those of some epochs to which the links of newer ones lead whose wraps opened. An author may link past what an older
    /// wrap still opens, and then that one stays.
    private func linkedEpochs(among epochs: Set<UInt64>, in state: LogState) -> Set<UInt64> {
        guard let least = epochs.min() else { return [] }
        var reached: Set<UInt64> = []
        for epoch in (openedWraps[state.tresor] ?? [:]).keys.sorted(by: >) where !reached.contains(epoch) {
            var waiting = [keys[state.tresor]?[epoch]].compactMap(\.self)
            while let next = waiting.popLast() {
                guard epochs.contains(where: { $0 < next.epoch && !reached.contains($0) }) else { continue }
                for link in (try? links(of: next, in: state)) ?? [] where link.epoch >= least {
                    if reached.insert(link.epoch).inserted { waiting.append(link) }
                }
            }
        }
        return reached.intersection(epochs)
    }

    /// Keeps this person's own wrap of an epoch that is about to begin, beside the one that opened: a store that takes the entry and not the wrap takes
    /// nothing away.
    ///
    /// Where there is none, the home is shown to be writable all the same: what it could not remember is not begun.
    ///
    /// - Throws: ``TresorError/failed(_:)`` or ``TresorError/busy`` when the home cannot be written: nothing is sent then.
    nonisolated func keepBeforeSending(_ wraps: [StoredWrap], of tresor: TresorID) throws(TresorError) {
        guard let mine = wraps.first(where: { $0.user == identity.user }) else { return try client.proveWritable() }
        try client.home.exclusively { () throws(TresorError) in
            var kept = client.keptWraps()
            kept[tresor, mine.epoch] = mine.bytes
            try client.home.replace(.wraps, with: kept.bytes)
        }
    }
}

extension Client {
    func keptWraps() -> KeptWraps {
        guard let bytes = try? home.read(.wraps) else { return KeptWraps() }
        let wraps = try? recalled.wraps.value(of: bytes) { (bytes) throws(TresorError) in try KeptWraps(bytes) }
        return wraps ?? KeptWraps()
    }
}
