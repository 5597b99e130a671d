// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// The private storage of one person (SPEC §8.5): the identity file, pins, pinned heads, verified logs, the device
/// share. It is trusted.
///
/// Each object is replaced as a whole: after a crash it is entirely old or entirely new. Calls block.
///
/// A home of your own keeps bytes under ``HomeObject/name``. It keeps what ``HomeObject/staysOnDevice`` apart from
/// everything that is copied to another device, and lets nobody else read what ``HomeObject/isSecret``.
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

    /// Takes the right to change the key slots, without waiting; `nil` while another task or process has it.
    ///
    /// It is another lock than that of ``exclusively(_:)``, which stays free while a change waits for the store.
    ///
    /// - Throws: ``TresorError/failed(_:)``.
    func slotLock() throws(TresorError) -> SlotLock?
}
