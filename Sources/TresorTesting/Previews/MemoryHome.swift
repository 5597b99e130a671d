// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
public import TresorCrypto

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
public import TresorCore

/// A home that lasts as long as its value. It keeps secrets in ordinary memory: for tests and previews only.
public final class MemoryHome: Home {
    private let objects = Mutex<[String: [UInt8]]>([:])
    /// How many more writes succeed; `nil` for all.
    private let room = Mutex<Int?>(nil)
    private let isHeld = Atomic(false)
    private let slots = SlotMutex()

    /// Makes an empty home.
    public init() {}

    /// Everything in the home, by name.
    package var contents: [String: [UInt8]] { objects.withLock { $0 } }

    /// Lets `writes` more writes succeed; the later ones throw `TresorError.failed` with `full`. `nil` makes room again.
    public func fill(after writes: Int?) { room.withLock { $0 = writes } }

    /// Returns the bytes of an object; `nil` if there is none.
    public func read(_ object: HomeObject) -> [UInt8]? { objects.withLock { $0[object.name] } }

    /// Replaces an object.
    public func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        let isFull = room.withLock { room in
            guard let left = room else { return false }
            room = max(0, left - 1)
            return left == 0
        }
        guard !isFull else { throw .failed(.full) }
        objects.withLock { $0[object.name] = bytes }
    }

    /// Returns a copy of an object in secret memory; `nil` if there is none.
    public func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        guard let bytes = read(object) else { return nil }
        return try SecretBytes(copying: bytes.span)
    }

    /// Replaces an object by a copy of secret bytes.
    public func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        try replace(object, with: (0..<bytes.count).map { bytes.span[$0] })
    }

    /// Deletes an object.
    public func delete(_ object: HomeObject) { objects.withLock { $0[object.name] = nil } }

    /// Runs `body` while no other task is inside this call.
    ///
    /// - Throws: `TresorError.busy` after 5 seconds without the lock; otherwise the errors of `body`.
    public func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        let end = ContinuousClock.now + .seconds(5)
        while isHeld.exchange(true, ordering: .acquiring) {
            guard !HomePatience.isNone, ContinuousClock.now < end else { throw .busy }
            usleep(100)
        }
        defer { isHeld.store(false, ordering: .releasing) }
        return try body()
    }

    /// Takes the right to change the key slots, without waiting; `nil` while another task has it.
    public func slotLock() -> SlotLock? { slots.lock() }
}
