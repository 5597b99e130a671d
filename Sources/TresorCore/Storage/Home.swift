// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// What a person keeps for themselves (SPEC §8.5): the identity file, pins, heads, verified logs, the device half. It is trusted, and it
/// is private to one person.
///
/// Each object is replaced as a whole: after a crash it is wholly old or wholly new. Calls block.
public protocol Home: Sendable {
    /// The object's bytes, or `nil` when there is none.
    ///
    /// - Throws: ``TresorError/failed(_:)``; with `permissions` when a secret object could be read by others.
    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]?

    /// Replaces the object, durably, before returning.
    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError)

    /// The bytes of a small secret object, at most 1 MiB, in secret memory and nowhere else; `nil` when there is none.
    ///
    /// - Throws: what ``read(_:)`` throws.
    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes?

    /// Replaces the object by bytes that lie in secret memory, durably, before returning. No copy of them stays
    /// elsewhere.
    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError)

    /// Deletes the object, durably; success if there is none.
    func delete(_ object: HomeObject) throws(TresorError)

    /// Runs `body` while nobody else, in this process or another, is inside this call on the same home.
    ///
    /// - Throws: ``TresorError/busy`` when the lock cannot be had for 5 seconds; otherwise what `body` throws.
    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result
}

/// What a home holds.
public enum HomeObject: Hashable, Sendable {
    /// The identity file (SPEC §8).
    case identity
    /// What tresors were called when they could last be opened, sealed (SPEC §8.5).
    case names
    /// What this person said of tresors that no log says, sealed (SPEC §8.5).
    case marks
    /// Whom this person has verified (SPEC §7.5).
    case pins
    /// The highest head seen of each tresor (SPEC §9.8).
    case heads
    /// One part of the verified log of a tresor (SPEC §9.8): a cache, bound to its head.
    case log(TresorID, part: UInt64 = 0)
    /// What the verified log of a tresor says, tagged (SPEC §9.10): a cache, bound to its head and this identity.
    case state(TresorID)
    /// This person's own wraps of the newest epochs (SPEC §8.5): for a store that loses them.
    case wraps
    /// This device's half of a slot (SPEC §8.3); apart from the rest.
    case deviceShare
    /// What an interrupted change of the ways in left to be taken away (SPEC §8.4).
    case cleanupJournal
    /// What proves that a store showed two histories; named by its hash, never replaced.
    case evidence(Hash256)
}
