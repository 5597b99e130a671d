// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The right to change the key slots of a home (SPEC §8.4). It lasts as long as its value, and ends with the process.
package protocol Turn: AnyObject, Sendable {}

/// A home whose key slots only one task or process changes at a time, also while it waits for the store.
package protocol TurnHome: Home {
    /// Takes the turn without waiting; `nil` while another task or process has it.
    ///
    /// - Throws: ``TresorError/failed(_:)``.
    func takeTurn() throws(TresorError) -> (any Turn)?
}

extension Home {
    /// Takes the turn without waiting; `nil` while another task or process has it. A home without turns always gives it.
    ///
    /// - Throws: ``TresorError/failed(_:)``.
    package func turn() throws(TresorError) -> (any Turn)? {
        guard let home = self as? any TurnHome else { return FreeTurn() }
        return try home.takeTurn()
    }
}

private final class FreeTurn: Turn {}
