// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TresorCore
package import TresorCrypto

/// A home that reads the identity, pins, pinned heads, names, wraps and marks only once for each operation.
///
/// A reading holds for one second at most: an operation that waits for a person or a long file reads again. Under the
/// home's lock everything is read again, and a write ends the readings before it, as the reading of a secret does: a
/// device's slot is written before its share, so the identity file must be no older than the share. Secrets are never
/// held.
package final class SteadyHome: Home {
    private struct Reading: Sendable {
        let bytes: [UInt8]?
        let time: Duration
    }

    private struct Contents: Sendable {
        var readings: [HomeObject: Reading] = [:]
        /// Rises with every write and every lock; a reading that began before is not kept.
        var turn: UInt64 = 0
    }

    /// The time for which a reading holds.
    package static let patience = Duration.seconds(1)

    private let home: any Home
    private let clock: @Sendable () -> Duration
    private let contents = Mutex(Contents())

    /// Makes a home that remembers the readings of `home`.
    ///
    /// - Parameter clock: a time that never goes back.
    package init(_ home: any Home, clock: (@Sendable () -> Duration)? = nil) {
        self.home = home
        let start = ContinuousClock.now
        self.clock = clock ?? { ContinuousClock.now - start }
    }

    package func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        guard Self.isHeld(object) else { return try home.read(object) }
        let now = clock()
        let (known, turn) = contents.withLock { ($0.readings[object], $0.turn) }
        if let known, now - known.time < Self.patience { return known.bytes }
        let bytes = try home.read(object)
        contents.withLock { contents in
            guard contents.turn == turn else { return }
            contents.readings[object] = Reading(bytes: bytes, time: now)
        }
        return bytes
    }

    package func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        defer { forget() }
        try home.replace(object, with: bytes)
    }

    package func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        defer { forget() }
        return try home.readSecret(object)
    }

    package func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        defer { forget() }
        try home.replace(object, withSecret: bytes)
    }

    package func delete(_ object: HomeObject) throws(TresorError) {
        defer { forget() }
        try home.delete(object)
    }

    package func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        try home.exclusively { () throws(TresorError) in
            forget()
            return try body()
        }
    }

    package func slotLock() throws(TresorError) -> SlotLock? {
        defer { forget() }
        return try home.slotLock()
    }

    private func forget() {
        contents.withLock { contents in
            contents.readings = [:]
            contents.turn += 1
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
