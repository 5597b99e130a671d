// SPDX-License-Identifier: Apache-2.0

/// The right to change the key slots of a home (SPEC §8.4). One task or process has it at a time, from the first reading
/// of a change to its last write, the store's calls included.
///
/// It lasts as long as its value, and ends with the process.
public struct SlotLock: ~Copyable, Sendable {
    private let end: @Sendable () -> Void

    /// Makes the right of a home of your own.
    ///
    /// - Parameter end: gives it back; called once, when the value ends.
    public init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
