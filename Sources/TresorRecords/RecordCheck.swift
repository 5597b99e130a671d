// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
package import TresorCrypto

/// What is not in order with the records of a tresor (SPEC §9.9, `check`).
package struct RecordFindings: Hashable, Sendable {
    /// The commits whose packs the store lacks, or has otherwise.
    package let lost: [UInt64]
    /// The commits that everybody who can open them finds wrong. They change nothing.
    package let void: [UInt64]
    /// The records with changes that are not sent yet.
    package let unsent: [String]
}

extension Records {
    /// Compares the packs of the store with the log, and opens those that the home has. Changes nothing.
    ///
    /// - Throws: ``TresorError/noAccess`` for somebody who is no member, ``TresorError/waiting`` for somebody who waits;
    ///   ``TresorError/unverified`` while the founder was not compared; the errors of the store and of the home.
    @concurrent package func check() async throws(TresorError) -> RecordFindings {
        let view = try await view()
        let pull = RecordPull(session: session, state: view.state)
        let lost = try await pull.lost(from: view.state.floor > 0 ? view.state.floor + 1 : 0)
        return RecordFindings(lost: lost, void: view.table.void, unsent: try await unsent())
    }
}
