// SPDX-License-Identifier: Apache-2.0

/// Proofs and repairs that need an unlocked identity.
public struct DeepAudit: Sendable {
    let session: Session

    private var client: Client { session.client }
    private var identity: Identity { session.identity }

    /// Proves what needs the identity: that it opens, that what the home keeps of each tresor's state is what its log says from the beginning on, that keys and
    /// name are what the log committed to. Heads that do not read are named by ``Audit/check(_:)`` alone.
    @concurrent public func check(_ tresors: [TresorID]? = nil) async throws(TresorError) -> [Finding] {
        var findings: [Finding] = []
        for tresor in tresors ?? (try? client.logs.known()) ?? [] {
            let subject = Finding.Subject.member(identity.user, of: tresor)
            do throws(TresorError) {
                let state = try await client.logs.state(of: tresor)
                try await client.archive.proveSnapshot(of: tresor)
                guard state.members[identity.user] != nil else { continue }
                _ = try await session.tresors.name(in: state)
                if case .all = state.members[identity.user]?.history {
                    _ = try await session.keyRing.keys(of: 1, in: state)
                }
                findings.append(Finding(subject: subject, remark: .fine))
            } catch {
                findings.append(Finding(subject: subject, remark: .failed(error)))
            }
        }
        return findings
    }

    /// Restores all wraps that the log calls for: those of the current epoch for everybody who is in, and every one
    /// since they came for who reads *from now*. Makes no entry. Where the store has lost this person's own, the one
    /// that the home keeps serves.
    ///
    /// - Throws: ``TresorError/noAccess`` for who cannot read everything themselves; ``TresorError/store(_:)`` when the
    ///   store did not keep what it took.
    @concurrent public func restoreWraps(of tresor: TresorID) async throws(TresorError) {
        let state = try await client.logs.state(of: tresor)
        guard try await session.keyRing.keys(of: state.epoch, in: state).opensHistory else { throw .noAccess }
        let firsts = state.members.values.compactMap { member in
            if case .from(let epoch) = member.history { epoch } else { nil }
        }
        for epoch in (firsts.min() ?? state.epoch)...state.epoch {
            let members = state.members.filter { _, member in
                switch member.history {
                case .all: epoch == state.epoch
                case .from(let first): first <= epoch
                }
            }
            let keys = try await session.keyRing.keys(of: epoch, in: state)
            guard keys.opensHistory else { throw .noAccess }
            try await restore(try EntryDrafting(session: session).wraps(keys, for: members, in: state), in: state)
        }
    }

    /// Another device may put its own meanwhile, and a later act may take some away: then they are put again, or not
    /// needed.
    private func restore(_ wraps: [StoredWrap], in state: LogState) async throws(TresorError) {
        for _ in 0..<3 {
            try await client.store.putWraps(wraps, in: state.tresor)
            if try await LogWriter(session: session).areKept(wraps, in: state.tresor, orOthers: false) { return }
        }
        guard try await client.logs.state(of: state.tresor).head.sequence > state.head.sequence else {
            throw .store(.notStored)
        }
    }
}
