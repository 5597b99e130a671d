// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The objects that every operation reads, as they were last decoded.
struct Recalled: Sendable {
    let identity = Recall<IdentityFile>()
    let pins = Recall<Pins>()
    let heads = Recall<PinnedHeads>()
    let notedStores = Recall<NotedStores>()
    let wraps = Recall<KeptWraps>()
}

/// The decoded objects of the home.
extension Client {
    /// The pins that count: what this home compared, and what the newest card of this person said (SPEC §7.5).
    func pins() throws(TresorError) -> Pins {
        let stored = try storedPins()
        // Without an identity file that reads, nothing of another device counts; what relies on the file reports it.
        return stored.hasKnown ? stored.counting(by: (try? people.ownChain())?.newest.hash) : stored
    }

    /// All pins that the home has, also those that a former card of this person said.
    func storedPins() throws(TresorError) -> Pins {
        guard let bytes = try home.read(.pins) else { return Pins() }
        return try decoding(.pins) { () throws(TresorError) in
            try recalled.pins.value(of: bytes) { (bytes) throws(TresorError) in try Pins(bytes) }
        }
    }

    func heads() throws(TresorError) -> PinnedHeads {
        guard let bytes = try home.read(.heads) else { return PinnedHeads() }
        return try decoding(.heads) { () throws(TresorError) in
            try recalled.heads.value(of: bytes) { (bytes) throws(TresorError) in try PinnedHeads(bytes) }
        }
    }

    /// Decodes an object, and tells which one does not decode.
    func decoding<Value>(
        _ object: HomeObject, _ decode: () throws(TresorError) -> Value
    ) throws(TresorError) -> Value {
        do throws(TresorError) {
            return try decode()
        } catch {
            meetsDamaged(object, error)
            throw error
        }
    }

    /// Reads the marks of this home; none without an unlocked identity, or where they do not open.
    func marks() -> Marks { (try? openMarks()) ?? Marks() }

    /// Reads the marks of this home; none without an unlocked identity.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported`` for marks that do not open;
    ///   ``TresorError/failed(_:)`` for those that cannot be read.
    func openMarks() throws(TresorError) -> Marks {
        guard let identity, let sealed = try home.read(.marks) else { return Marks() }
        return try Marks(sealed, of: identity)
    }

    func keptWraps() -> KeptWraps {
        guard let bytes = try? home.read(.wraps) else { return KeptWraps() }
        let wraps = try? recalled.wraps.value(of: bytes) { (bytes) throws(TresorError) in try KeptWraps(bytes) }
        return wraps ?? KeptWraps()
    }
}
