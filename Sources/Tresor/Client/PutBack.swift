// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// Gives a store back the entries it lost, where its log is a true beginning of the log verified here (cli: `check --put-back`). Wraps of those whom these
    /// entries put out are deleted again.
    ///
    /// - Returns: how many entries were given back.
    /// - Throws: ``TresorError/forked`` when the store's log is anything else; ``TresorError/notFound`` for a tresor that this home does not know;
    ///   ``TresorError/busy`` when somebody else is writing.
    public func putBack(_ tresor: TresorID) async throws(TresorError) -> Int {
        guard let known = try verifiedLog(of: tresor) else { throw .notFound }
        let start = try await countEntries(of: tresor, beginning: known.entries)
        for index in start..<known.entries.count {
            let entry = try Entry(known.entries[index])
            let outcome = try await store.append(
                LogChange(
                    tresor: tresor, sequence: UInt64(index), previous: index == 0 ? nil : known.entries[index - 1],
                    entry: known.entries[index], removingWrapsOf: Self.dismissed(by: entry)))
            guard outcome == .done else { throw .busy }
        }
        return known.entries.count - start
    }

    /// How many entries the store has of a log.
    ///
    /// - Throws: ``TresorError/forked`` when they are not how this log begins.
    private func countEntries(of tresor: TresorID, beginning entries: [[UInt8]]) async throws(TresorError) -> Int {
        var count = 0
        while true {
            let page = try await store.entries(of: tresor, from: UInt64(count), limit: 256)
            guard count + page.count <= entries.count,
                entries[count..<(count + page.count)].elementsEqual(page)
            else { throw .forked }
            count += page.count
            if page.isEmpty { return count }
        }
    }

    private static func dismissed(by entry: Entry) -> [UserID] {
        switch entry.body {
        case .remove(let users, _): users
        case .leave: [entry.author]
        default: []
        }
    }
}

extension Session {
    /// Puts back the wraps of everybody who is in: of the current epoch, and for those who were let in *from now* of each epoch since.
    ///
    /// - Throws: ``TresorError/noAccess`` for somebody who is not in.
    public func putBackWraps(_ tresor: TresorID) async throws(TresorError) {
        let state = try await client.state(of: tresor)
        let keys = try await keys(of: state.epoch, in: state)
        guard state.members[identity.user]?.history == .all else { return }
        try await client.store.putWraps(try wraps(keys, for: state.members, in: state), in: tresor)
        for (user, member) in state.members.sorted(by: { $0.key < $1.key }) {
            guard case .from(let first) = member.history, first < state.epoch else { continue }
            for epoch in first..<state.epoch {
                let keys = try await self.keys(of: epoch, in: state)
                try await client.store.putWraps(try wraps(keys, for: [user: member], in: state), in: tresor)
            }
        }
    }
}
