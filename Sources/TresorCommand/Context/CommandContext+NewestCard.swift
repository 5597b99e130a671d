// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

extension CommandContext {
    /// Refuses to make keys or a kit on an old copy of a home, or when the store shows other keys for this identity. Runs
    /// before anything is changed.
    func refuseOldKeys(_ session: Session) async throws {
        do throws(TresorError) {
            try await session.renewal.check()
        } catch {
            guard error == .forked else { throw error }
            throw CommandFailure(
                of: error,
                "the store has newer keys of yours, or others: this home is an old copy, and nothing was changed; your "
                    + "newest kit restores the newest keys in another home",
                hints: ["tresor recover --home DIR", "tresor check"])
        }
    }

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
