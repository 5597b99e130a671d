// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// A store that replaces what lies under a locator in one step, if it is still what somebody has read. Two machines of
/// one person write into one mailbox (SPEC §8.6).
package protocol ReplacingStore: EscrowStore {
    /// Replaces the bytes under a locator, if they are still `present`.
    ///
    /// - Returns: `false` for other bytes and for none; then nothing is changed.
    func replaceKitCopy(
        _ present: [UInt8], with copy: [UInt8], locator: Hash256
    ) async throws(TresorError) -> Bool
}
