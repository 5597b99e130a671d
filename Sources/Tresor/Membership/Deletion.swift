// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// Deletes a tresor for everybody, or forgets one that the store no longer has (SPEC §9.7, `delete`).
package struct Deletion: Sendable {
    /// The plan of a deletion: the tresor, and whether the store has it.
    package struct Plan: Sendable {
        /// The state of the log, as the store or the home has it.
        package let state: LogState
        /// Whether the store has anything of the tresor. If not, the home alone forgets it.
        package let isThere: Bool
    }

    private let session: Session

    private var client: Client { session.client }

    package init(session: Session) { self.session = session }

    /// Looks at what a deletion takes away. Changes nothing.
    ///
    /// - Throws: ``TresorError/noAccess`` unless this person made the tresor, or is an owner of one that its founder is
    ///   no longer in; ``TresorError/notFound`` for a tresor that neither this store nor the home has, or that the home
    ///   first saw in another store; the errors of ``LogReader/state(of:remembering:progress:)``.
    @concurrent package func plan(_ tresor: TresorID) async throws(TresorError) -> Plan {
        guard try await !isSilent(tresor) else {
            guard client.archive.otherStore(of: tresor) == nil,
                let state = try client.archive.verifiedState(of: tresor)
            else { throw .notFound }
            return Plan(state: state, isThere: false)
        }
        let state = try await client.logs.state(of: tresor)
        let user = session.identity.user
        guard state.members[user]?.role == .owner, user == state.founder || !state.isIn(state.founder) else {
            throw .noAccess
        }
        return Plan(state: state, isThere: true)
    }

    /// Deletes the tresor from the store, and all that the home has of it. Repeating an interrupted deletion ends it.
    ///
    /// - Throws: the errors of the home, before anything is deleted; those of the store; ``TresorError/store(_:)`` with
    ///   `notStored` for a store that goes on showing the tresor; ``TresorError/cancelled`` for a task that was cancelled
    ///   before anything was sent.
    @concurrent package func perform(_ plan: Plan) async throws(TresorError) {
        try client.operation.step()
        try await client.uninterrupted { () async throws(TresorError) in
            let tresor = plan.state.tresor
            client.operation.logs?.forget(tresor)
            if plan.isThere {
                try await Cores.apart { () throws(TresorError) in
                    try client.archive.proveWritable([
                        .state(tresor), .wraps, .records(tresor, part: 0), .recordIndex(tresor), .outbox(tresor),
                        .notedStores, .heads, .log(tresor), .names,
                    ])
                }
                try await client.store.deleteTresor(tresor)
                guard try await isSilent(tresor) else { throw .store(.notStored) }
            }
            try await Cores.apart { () throws(TresorError) in
                try client.archive.forget(plan.state)
                try forgetName(of: tresor)
            }
        }
    }

    private func isSilent(_ tresor: TresorID) async throws(TresorError) -> Bool {
        try await client.store.entries(of: tresor, from: 0, limit: 1).isEmpty
    }

    /// The name goes last: a repetition finds the tresor by it.
    private func forgetName(of tresor: TresorID) throws(TresorError) {
        try client.home.exclusively { () throws(TresorError) in
            var names = session.tresors.knownNames()
            guard names[tresor] != nil else { return }
            names[tresor] = nil
            try client.home.replace(.names, with: try names.sealed(for: session.identity))
        }
    }
}

extension LogArchive {
    /// Forgets a tresor that was deleted, whatever the home has of it.
    ///
    /// The pinned head goes behind the packs, which a repetition finds by it, and before the log: without it, parts of the
    /// log count for nothing.
    func forget(_ state: LogState) throws(TresorError) {
        // Another program may have read more. The pack of the next entry is kept before it is sent.
        let last = max(state.head.sequence, try pinnedHead(of: state.tresor)?.sequence ?? 0) + 1
        var volumes = VolumePlaces(of: state.tresor, in: self)
        _ = try forgetPacks(upTo: last, volumes: &volumes)
        var isDone = false
        while !isDone {
            try forgetUnsent(of: state.tresor)
            isDone = try forgetRest(of: state, upTo: last, volumes: &volumes)
        }
    }

    /// Forgets what is left, under one lock.
    ///
    /// - Returns: whether it was done; not where somebody has begun another outbox.
    private func forgetRest(
        of state: LogState, upTo last: UInt64, volumes: inout VolumePlaces
    ) throws(TresorError) -> Bool {
        try client.home.exclusively { () throws(TresorError) in
            guard try hasForgottenUnsent(of: state.tresor) else { return false }
            // Until the head goes, packs may have come again.
            for part in 0...(last / Self.packPartCount) { try forgetPacks(inPart: part, volumes: &volumes) }
            try forgetAccess(to: state.tresor)
            try client.home.delete(.outbox(state.tresor))
            var noted = notedStores()
            if !noted[state.tresor].isEmpty {
                noted.forget(state.tresor)
                try client.home.replace(.notedStores, with: noted.bytes)
            }
            var heads = try client.heads()
            heads.forget(state.tresor)
            try client.home.replace(.heads, with: heads.bytes)
            for part in 0...(state.head.sequence / LogCopy.partCount) {
                try client.home.delete(.log(state.tresor, part: part))
            }
            return true
        }
    }
}
