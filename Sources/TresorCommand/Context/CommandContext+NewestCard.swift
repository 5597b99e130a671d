// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

extension CommandContext {
    /// Adds this person's newest card to a tresor whose log could not be verified when the identity was renewed.
    func addNewestCard(of session: Session, to state: LogState) async throws {
        guard let known = state.chain(of: session.identity.user), known != session.identity.chain,
            session.identity.chain.extends(known)
        else { return }
        try await verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        let renewal = try await Interrupts.atomically { try await session.renewal.renew(in: state.tresor) }
        let id = state.tresor.description.prefix(10)
        output.say("\(id) now has your newest keys")
        if !renewal.isRotated { output.say("\(id): its owner must change the key: tresor rotate -t \(id)") }
    }
}
