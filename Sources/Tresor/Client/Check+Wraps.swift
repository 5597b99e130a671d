// SPDX-License-Identifier: Apache-2.0

/// The wraps that a store shows, against those that the log calls for. What is inside a wrap is judged by whoever it is for.
extension Client {
    /// The most cards of a store that are looked through for people who have a wrap without being in.
    private static let strangerCount = 1024

    func checkWraps(in state: State) async throws(TresorError) -> [Finding] {
        var people = Set(state.everybody)
        // Pins that do not read are named by themselves.
        if let pinned = try? pinnedPeople() { people.formUnion(pinned.map(\.chain.user)) }
        people.formUnion(try await store.users(prefix: [], limit: Self.strangerCount))
        // So is an identity file that does not read.
        if let mine = (try? ownChain())?.user { people.insert(mine) }
        var findings: [Finding] = []
        var reached = 0
        for user in people.sorted() {
            let stored = try await store.wraps(of: user, in: state.tresor, epoch: nil)
            if state.members[user] != nil, stored.contains(where: { Self.fits($0, user, state.epoch, in: state) }) {
                reached += 1
            }
            findings += Self.remarks(on: stored, of: user, in: state).map {
                Finding(subject: .member(user, of: state.tresor), remark: $0)
            }
        }
        if reached < state.members.count, let author = try await author(of: state.epoch, in: state) {
            let remark = Finding.Remark.withheldEpoch(
                state.epoch, by: author, reaching: reached, of: state.members.count)
            findings.append(Finding(subject: .tresor(state.tresor), remark: remark))
        }
        return findings
    }

    /// Who began an epoch, if it was somebody else.
    private func author(of epoch: UInt64, in state: State) async throws(TresorError) -> UserID? {
        guard epoch >= 1, epoch <= state.epoch else { return nil }
        let sequence = state.epochs[Int(epoch - 1)].sequence
        guard let entry = try await entries(sequence..<(sequence + 1), of: state).first else { return nil }
        let author = try Entry(entry).author
        return author == (try? identityFile().chain.user) ? nil : author
    }

    /// Bodies that this release does not know: they are valid, and what they do is not seen here.
    func checkBodies(in state: State) async throws(TresorError) -> [Finding] {
        var findings: [Finding] = []
        for first in stride(from: 0, to: state.entryCount, by: Self.pageCount) {
            let range = first..<min(first + UInt64(Self.pageCount), state.entryCount)
            for bytes in try await entries(range, of: state) {
                let entry = try Entry(bytes)
                guard case .additive(let type, _) = try entry.body else { continue }
                let remark = Finding.Remark.unknownBody(sequence: entry.sequence, type: type)
                findings.append(Finding(subject: .tresor(state.tresor), remark: remark))
            }
        }
        return findings
    }

    /// Whether these bytes are a wrap as the log calls for it.
    private static func fits(_ bytes: [UInt8], _ user: UserID, _ epoch: UInt64, in state: State) -> Bool {
        guard let wrap = try? Wrap(bytes), let history = state.members[user]?.history else { return false }
        return wrap.tresor == state.tresor && wrap.user == user && wrap.epoch == epoch
            && wrap.opensHistory == (history == .all)
            && state.chain(of: user)?.card(generation: wrap.generation) != nil
    }

    private static func remarks(on stored: [[UInt8]], of user: UserID, in state: State) -> [Finding.Remark] {
        guard let member = state.members[user], let chain = state.chain(of: user) else {
            return stored.isEmpty ? [] : [.surplusWrap]
        }
        let (first, needed) =
            switch member.history {
            case .all: (UInt64(1), state.epoch...state.epoch)
            case .from(let epoch): (epoch, epoch...state.epoch)
            }
        let wraps = stored.compactMap { try? Wrap($0) }.filter { wrap in
            wrap.tresor == state.tresor && wrap.user == user && chain.card(generation: wrap.generation) != nil
                && wrap.opensHistory == (member.history == .all)
        }
        let epochs = Set(wraps.map(\.epoch))
        var remarks: [Finding.Remark] = []
        if wraps.count < stored.count { remarks.append(.failed(.altered)) }
        if !Defence.neededWraps.holds(needed.allSatisfy(epochs.contains)) { remarks.append(.missingWrap) }
        if epochs.count < wraps.count || epochs.contains(where: { !(first...state.epoch).contains($0) }) {
            remarks.append(.surplusWrap)
        }
        return remarks
    }
}

extension Client {
    /// Gives a store back the entries it lost, where its log is a true beginning of the log verified here (cli: `check --put-back`). The wraps of
    /// whoever those entries put out are deleted again; missing ones are put back by ``Session/putBackWraps(_:)``.
    ///
    /// - Returns: how many entries were given back; 0 where the store's log goes on from the one verified here.
    /// - Throws: ``TresorError/forked`` when the store's log is anything else; ``TresorError/notFound`` for a tresor that this home does not know; the
    ///   error of the rule when what goes on is not valid.
    public func putBack(_ tresor: TresorID) async throws(TresorError) -> Int {
        guard let known = try verifiedState(of: tresor) else { throw .notFound }
        var count: UInt64 = 0
        var previous: [UInt8]?
        while true {
            let page = try await store.entries(of: tresor, from: count, limit: Self.pageCount)
            let common = Array(page.prefix(Int(clamping: known.entryCount - count)))
            guard try known.hasEntries(common, from: count) else { throw .forked }
            guard common.count == page.count else {
                // Nothing is lost where the log goes on; what follows is judged as always.
                _ = try await state(of: tresor)
                return 0
            }
            count += UInt64(page.count)
            previous = page.last ?? previous
            if page.isEmpty { break }
        }
        let missing = known.entryCount - count
        while count < known.entryCount {
            for entry in try keptEntries(of: known, from: count) {
                let outcome = try await store.append(
                    LogChange(
                        tresor: tresor, sequence: count, previous: previous, entry: entry,
                        removingWrapsOf: try Entry(entry).dismissed))
                guard outcome == .done else { throw .busy }
                previous = entry
                count += 1
            }
        }
        return Int(missing)
    }
}

extension Entry {
    /// Who is no longer in after this entry.
    fileprivate var dismissed: [UserID] {
        switch try? body {
        case .remove(let users, _): users
        case .leave: [author]
        case .genesis, .grant, .renew, .epoch, .role, .rename, .additive, nil: []
        }
    }
}

extension Session {
    /// Puts back all wraps that the log calls for: those of the current epoch for everybody who is in, and every one since they came for who reads
    /// *from now*. Makes no entry. Where the store has lost this person's own, the one that the home keeps serves.
    ///
    /// - Throws: ``TresorError/noAccess`` for who cannot read everything themselves; ``TresorError/store(_:)`` when the store did not keep what it took.
    public func putBackWraps(_ tresor: TresorID) async throws(TresorError) {
        let state = try await client.state(of: tresor)
        guard try await keys(of: state.epoch, in: state).opensHistory else { throw .noAccess }
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
            let keys = try await keys(of: epoch, in: state)
            guard keys.opensHistory else { throw .noAccess }
            try await putBack(try wraps(keys, for: members, in: state), in: state)
        }
    }

    /// Another device may put its own meanwhile, and a later act may take some away: then they are put again, or not needed.
    private func putBack(_ wraps: [StoredWrap], in state: State) async throws(TresorError) {
        for _ in 0..<3 {
            try await client.store.putWraps(wraps, in: state.tresor)
            if try await areKept(wraps, in: state.tresor, orOthers: false) { return }
        }
        guard try await client.state(of: state.tresor).head.sequence > state.head.sequence else {
            throw .store(.notStored)
        }
    }
}
