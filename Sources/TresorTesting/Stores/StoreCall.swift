// SPDX-License-Identifier: Apache-2.0

package import TresorStore

/// A call of a store.
public struct StoreCall: Hashable, Sendable {
    package let function: StoreFunction

    package init(_ function: StoreFunction) { self.function = function }

    /// The name of the function of `Store`, such as `append`; `wrapsOfMany` for the one that reads the wraps of many
    /// members.
    public var name: String { function.rawValue }

    /// Whether the call changes the store.
    public var isWrite: Bool { function.isWrite }
}
