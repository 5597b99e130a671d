// SPDX-License-Identifier: Apache-2.0

public import TresorCore

/// The place where a store keeps its objects, as ``StoreClaim`` needs it: fresh for each claim.
public struct StorePlace: Sendable {
    /// Opens the store at this place. A second call gives a store that has what the first one stored.
    package let open: @Sendable () async throws -> any Store
    /// Reads all bytes at this place, for example one array for each file; `nil` if nobody can.
    package let bytes: (@Sendable () throws -> [[UInt8]])?

    /// Names a place.
    ///
    /// - Parameters:
    ///   - bytes: reads all bytes at the place. Server shares and wraps must lie there as they are, not as Base64 or hex:
    ///     the check looks for them. Without it, the promise that deleted secrets leave no bytes cannot be checked, and
    ///     is a finding.
    ///   - open: opens the store; returns the same store where it lasts as long as the process.
    public init(
        bytes: (@Sendable () throws -> [[UInt8]])? = nil, open: @escaping @Sendable () async throws -> any Store
    ) {
        self.bytes = bytes
        self.open = open
    }
}

/// A promise of `Store` that an implementation does not keep, or that could not be checked.
public struct StoreFinding: Error, Hashable, Sendable, CustomStringConvertible {
    /// The promise.
    package let claim: StoreClaim
    /// The fault of the store, or why nobody can tell, as one sentence.
    package let sentence: String

    /// The promise and the sentence.
    public var description: String { "\(claim.name): \(sentence)" }
}

/// A fault that a check notices, before it is known to which claim it belongs.
struct BrokenPromise: Error {
    let sentence: String
}

/// Notices a broken promise.
///
/// - Parameter sentence: what the store did if the promise does not hold.
func expect(_ holds: Bool, or sentence: @autoclosure () -> String) throws(BrokenPromise) {
    guard holds else { throw BrokenPromise(sentence: sentence()) }
}
