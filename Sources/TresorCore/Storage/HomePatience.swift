// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// How long the work at hand waits for the lock of a home.
package enum HomePatience {
    /// Whether it does not wait at all.
    @TaskLocal package static var isNone = false

    /// Runs work that waits for no lock: while somebody else has it, it ends with ``TresorError/busy`` at once.
    package static func none<Value>(_ work: () throws(TresorError) -> Value) throws(TresorError) -> Value {
        let result = $isNone.withValue(true) { () -> Result<Value, TresorError> in
            Result { () throws(TresorError) in try work() }
        }
        return try result.get()
    }
}
