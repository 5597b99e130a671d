// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCrypto

/// Holds the last decoded value of a home object. The same bytes are not decoded and checked twice.
final class Recall<Value: Sendable>: Sendable {
    private struct Reading: Sendable {
        let bytes: [UInt8]
        let value: Value
    }

    private let last = Mutex<Reading?>(nil)

    /// Returns the value of these bytes, decoded at most once in a row.
    ///
    /// - Throws: the errors of `decode`; nothing is kept then.
    func value(
        of bytes: [UInt8], decode: ([UInt8]) throws(TresorError) -> Value
    ) throws(TresorError) -> Value {
        if let last = last.withLock({ $0 }), last.bytes == bytes { return last.value }
        let value = try decode(bytes)
        last.withLock { $0 = Reading(bytes: bytes, value: value) }
        return value
    }
}
