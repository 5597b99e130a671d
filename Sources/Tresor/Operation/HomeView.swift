// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto

/// A home as an operation sees it: each small object is read once in a turn, and decoded once. Once the person has locked
/// the session, every call throws ``TresorError/usage(_:)`` with `locked`.
struct HomeView: Home {
    let base: any Home
    /// The unlocked identity of the person; `nil` before it is opened.
    let person: Identity?
    /// What was read in this turn; `nil` where every step reads the home.
    let readings: HomeReadings?
    private let decoded = DecodedObjects()

    init(_ base: any Home, as person: Identity?, readings: HomeReadings?) {
        self.base = base
        self.person = person
        self.readings = readings
    }

    /// Whether the person has locked the session, and no change is under way that goes on to its end.
    var isLocked: Bool { (person?.isLocked ?? false) && !Cancellation.isIgnored }

    func checkUnlocked() throws(TresorError) {
        guard !isLocked else { throw .usage(.locked) }
    }

    /// Returns the value of an object's bytes, decoded at most once in a row.
    ///
    /// - Throws: the errors of `decode`; nothing is kept then.
    func value<Value: Sendable>(
        of object: HomeObject, _ bytes: [UInt8], _ decode: ([UInt8]) throws(TresorError) -> Value
    ) throws(TresorError) -> Value {
        try decoded.value(of: object, bytes, decode)
    }

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        try checkUnlocked()
        guard let readings else { return try base.read(object) }
        return try readings.read(object, in: base)
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        try checkUnlocked()
        defer { readings?.forget() }
        try base.replace(object, with: bytes)
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        try checkUnlocked()
        defer { readings?.forget() }
        return try base.readSecret(object)
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        try checkUnlocked()
        defer { readings?.forget() }
        try base.replace(object, withSecret: bytes)
    }

    func delete(_ object: HomeObject) throws(TresorError) {
        try checkUnlocked()
        defer { readings?.forget() }
        try base.delete(object)
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        try checkUnlocked()
        return try base.exclusively { () throws(TresorError) in
            readings?.forget()
            return try body()
        }
    }

    func slotLock() throws(TresorError) -> SlotLock? {
        try checkUnlocked()
        defer { readings?.forget() }
        return try base.slotLock()
    }
}

/// The identity, pins, pinned heads, names, wraps and marks, as they were read in this turn.
///
/// Under the home's lock everything is read again, and a write ends the readings before it, as the reading of a secret
/// does: a device's slot is written before its share, so the identity file must be no older than the share. Secrets are
/// never held.
final class HomeReadings: Sendable {
    private struct Reading: Sendable {
        let bytes: [UInt8]?
        let turn: UInt64
    }

    private struct Contents: Sendable {
        var readings: [HomeObject: Reading] = [:]
        /// Rises with every write and every lock; a reading that began before is not kept.
        var changeCount: UInt64 = 0
    }

    private let turns: Turns
    private let contents = Mutex(Contents())

    init(of turns: Turns) { self.turns = turns }

    func read(_ object: HomeObject, in home: any Home) throws(TresorError) -> [UInt8]? {
        guard Self.isHeld(object) else { return try home.read(object) }
        let turn = turns.number
        let (known, changeCount) = contents.withLock { ($0.readings[object], $0.changeCount) }
        if let known, known.turn == turn { return known.bytes }
        let bytes = try home.read(object)
        contents.withLock { contents in
            guard contents.changeCount == changeCount else { return }
            contents.readings[object] = Reading(bytes: bytes, turn: turn)
        }
        return bytes
    }

    func forget() {
        contents.withLock { contents in
            contents.readings = [:]
            contents.changeCount += 1
        }
    }

    /// Whether readings are held: those of small objects that every step needs, and of no secret key.
    private static func isHeld(_ object: HomeObject) -> Bool {
        switch object.kind {
        case .identity, .pins, .heads, .names, .wraps, .marks: true
        default: false
        }
    }
}

/// The last decoded value of each object. The same bytes are not decoded and checked twice.
private final class DecodedObjects: Sendable {
    private struct Decoded: Sendable {
        let bytes: [UInt8]
        let value: any Sendable
    }

    private let last = Mutex<[HomeObject: Decoded]>([:])

    func value<Value: Sendable>(
        of object: HomeObject, _ bytes: [UInt8], _ decode: ([UInt8]) throws(TresorError) -> Value
    ) throws(TresorError) -> Value {
        if let last = last.withLock({ $0[object] }), last.bytes == bytes, let value = last.value as? Value {
            return value
        }
        let value = try decode(bytes)
        last.withLock { $0[object] = Decoded(bytes: bytes, value: value) }
        return value
    }
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
        try decoded(.pins) { (bytes) throws(TresorError) in try Pins(bytes) } ?? Pins()
    }

    func heads() throws(TresorError) -> PinnedHeads {
        try decoded(.heads) { (bytes) throws(TresorError) in try PinnedHeads(bytes) } ?? PinnedHeads()
    }

    /// Reads and decodes an object, and tells which one does not decode; `nil` if there is none.
    func decoded<Value: Sendable>(
        _ object: HomeObject, _ decode: ([UInt8]) throws(TresorError) -> Value
    ) throws(TresorError) -> Value? {
        guard let bytes = try home.read(object) else { return nil }
        do throws(TresorError) {
            return try operation.view.value(of: object, bytes, decode)
        } catch {
            hooks.meetsDamaged(object, error)
            throw error
        }
    }

    /// Reads and decodes an object for which there is a substitute; `nil` where that fails.
    func readable<Value: Sendable>(
        _ object: HomeObject, _ decode: ([UInt8]) throws(TresorError) -> Value
    ) -> Value? {
        guard let bytes = try? home.read(object) else { return nil }
        return try? operation.view.value(of: object, bytes, decode)
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
        readable(.wraps) { (bytes) throws(TresorError) in try KeptWraps(bytes) } ?? KeptWraps()
    }
}
