// SPDX-License-Identifier: Apache-2.0

import TresorCore
package import TresorCrypto

/// The wraps of this person that their home keeps (SPEC §8.5).
///
/// With them a person still reads, and can restore the wraps of all members, if a store was reset to an old copy or
/// withholds a wrap. They open with the identity alone, as in the store.
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

    /// Decodes the wraps; tresor ids and epochs must rise strictly. The wraps themselves are not decoded.
    ///
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

    /// Returns the wraps of a tresor, by falling epoch.
    func wraps(of tresor: TresorID) -> [(epoch: UInt64, bytes: [UInt8])] {
        wraps.filter { $0.key.tresor == tresor }.sorted { $1.key < $0.key }.map { ($0.key.epoch, $0.value) }
    }

    /// Forgets the wraps of a tresor.
    mutating func forget(_ tresor: TresorID) { wraps = wraps.filter { $0.key.tresor != tresor } }

    /// Takes wraps that opened. Those of epochs to which the links of newer ones lead are dropped.
    mutating func take(_ opened: [UInt64: [UInt8]], of tresor: TresorID, linked: Set<UInt64>) {
        for (epoch, wrap) in opened where !linked.contains(epoch) { self[tresor, epoch] = wrap }
        wraps = wraps.filter { $0.key.tresor != tresor || !linked.contains($0.key.epoch) }
    }
}
