// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// The private storage of one person (SPEC §8.5): the identity file, pins, pinned heads, verified logs, the device
/// share. It is trusted.
///
/// Each object is replaced as a whole: after a crash it is entirely old or entirely new. Calls block.
public protocol Home: Sendable {
    /// Reads the bytes of an object; `nil` if there is none.
    ///
    /// - Throws: ``TresorError/failed(_:)``; with `permissions` if others could read a secret object.
    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]?

    /// Replaces the object durably before it returns.
    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError)

    /// Reads a small secret object, at most 1 MiB, into secret memory only; `nil` if there is none.
    ///
    /// - Throws: the errors of ``read(_:)``.
    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes?

    /// Replaces the object by bytes in secret memory, durably before it returns. Leaves no copy of them elsewhere.
    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError)

    /// Deletes the object durably; succeeds if there is none.
    func delete(_ object: HomeObject) throws(TresorError)

    /// Runs `body` while no other task or process is inside this call on the same home.
    ///
    /// - Throws: ``TresorError/busy`` after 5 seconds without the lock; otherwise the errors of `body`.
    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result
}

/// The objects of a home.
@nonexhaustive
public enum HomeObject: Hashable, Sendable {
    /// The identity file (SPEC §8).
    case identity
    /// The names of tresors when they last opened, sealed (SPEC §8.5).
    case names
    /// The person's own marks about tresors, sealed (SPEC §8.5).
    case marks
    /// The pins: the people whom this person has verified (SPEC §7.5).
    case pins
    /// The pinned heads: the highest verified head of each tresor (SPEC §9.8).
    case heads
    /// One part of the local copy of a verified log (SPEC §9.8): a cache, bound to its head.
    case log(TresorID, part: UInt64 = 0)
    /// The snapshot of a verified log, tagged (SPEC §9.10): a cache, bound to its head and this identity.
    case state(TresorID)
    /// The person's own wraps of the newest epochs (SPEC §8.5), for a store that loses them.
    case wraps
    /// The device share of a slot (SPEC §8.3), separate from the rest.
    case deviceShare
    /// The cleanup journal: objects that an interrupted change of unlock methods still has to delete (SPEC §8.4).
    case cleanupJournal
    /// The evidence that a store showed two histories; named by its hash, never replaced.
    case evidence(Hash256)
}
