// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// A store that lists its kit copies, for somebody who takes it whole. A ``Store`` gives one to whom knows its locator.
package protocol KitCopyList: EscrowStore {
    /// Returns the locators that come after one, in byte order, at most `limit`.
    ///
    /// - Parameter locator: the last locator of the page before; `nil` for the first page.
    func kitCopyLocators(after locator: Hash256?, limit: Int) async throws(TresorError) -> [Hash256]
}
