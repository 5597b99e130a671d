// SPDX-License-Identifier: Apache-2.0

/// The rules of each body (SPEC §9.3).
extension EntryValidator {
    /// R17 to R48.
    package func check(_ body: EntryBody, in state: LogState) throws(Violation) {
        switch body {
        case .genesis: try refuse(.r6)
        case .grant(let grant): try check(grant, in: state)
        case .remove(let principals, let epoch): try checkRemoval(of: principals.map(\.userID), epoch, in: state)
        case .leave:
            try require(
                .r26, state.members[entry.author]?.role != .owner || state.lastingOwners(without: [entry.author]) > 0)
        case .renew(let card):
            try require(.r27, (try? state.chains[UserID(card.statedUser)]?.appending(card)) != nil)
        case .epoch(let epoch):
            try checkNext(epoch, in: state)
            try checkFresh(epoch, in: state)
        case .role(let principal, let role, let notAfter):
            try checkRole(of: principal.userID, role, notAfter, in: state)
        case .rename, .additive: break
        }
    }

    /// R17 to R23, R48.
    private func check(_ grant: Grant, in state: LogState) throws(Violation) {
        let chains = grant.people.map(\.chain)
        try require(.r17, Self.isRising(chains.map(\.user)))
        for chain in chains { try require(.r18, state.members[chain.user] == nil) }
        for chain in chains {
            try require(.r19, state.chains[chain.user].map { chain.extends($0) } ?? true)
        }
        try require(.r20, grant.role != .owner || grant.fromNow == nil)
        try require(
            .r21,
            (grant.role == .owner && grant.notAfter == nil) || !chains.contains { $0.user == state.founder })
        try require(.r22, state.members.count + grant.people.count <= LogState.maximumMemberCount)
        if let fromNow = grant.fromNow {
            try checkNext(fromNow.epoch, in: state)
            try checkFresh(fromNow.epoch, in: state)
        }
    }

    /// R23.
    private func checkNext(_ epoch: Epoch, in state: LogState) throws(Violation) {
        try require(.r23, epoch.number == state.epoch + 1 && !epoch.backLink.isEmpty)
    }

    /// R48: an epoch whose keys the log already had changes nothing.
    private func checkFresh(_ epoch: Epoch, in state: LogState) throws(Violation) {
        let isFresh = state.commitments.isDisjoint(with: [epoch.contentCommitment, epoch.historyCommitment])
        try require(.r48, isFresh)
    }

    /// R17, R23 to R25, R33, R48.
    private func checkRemoval(of users: [UserID], _ epoch: Epoch, in state: LogState) throws(Violation) {
        try require(.r17, Self.isRising(users))
        try checkNext(epoch, in: state)
        for user in users { try require(.r24, state.members[user] != nil) }
        for user in users { try require(.r25, user != state.founder && user != entry.author) }
        try require(.r33, state.lastingOwners(without: users) > 0)
        try checkFresh(epoch, in: state)
    }

    /// R28 to R32.
    private func checkRole(
        of user: UserID, _ role: Role, _ notAfter: UInt64?, in state: LogState
    ) throws(Violation) {
        guard let member = state.members[user] else { return try refuse(.r28) }
        try require(.r29, user != state.founder)
        try require(.r30, member.role != role || member.notAfter != notAfter)
        try require(.r31, role != .owner || member.history == .all)
        let lasts = role == .owner && notAfter == nil
        try require(.r32, lasts || state.lastingOwners(without: [user]) > 0)
    }

    private static func isRising(_ users: [UserID]) -> Bool {
        !users.isEmpty && zip(users, users.dropFirst()).allSatisfy { $0 < $1 }
    }
}

/// The effect of each body on the state after all rules hold (SPEC §9.4).
extension EntryValidator {
    package func apply(_ body: EntryBody, to state: inout LogState?) {
        let author = state?.members[entry.author]
        if author?.role == .owner, author?.notAfter == nil { state?.ownerTime = entry.time }
        if entry.author == state?.founder { state?.founderGeneration = entry.generation }
        state?.head = Head(sequence: entry.sequence, hash: hash)
        state?.headTime = entry.time
        state?.hashes.append(hash)
        let lastTime = state?.lastTimes[entry.author] ?? 0
        state?.lastTimes[entry.author] = max(entry.time, lastTime)
        switch body {
        case .genesis, .epoch, .additive: break
        case .grant(let grant): admit(grant, to: &state)
        case .remove(let principals, _):
            for principal in principals { dismiss(principal.userID, .removed, from: &state) }
        case .leave: dismiss(entry.author, .left, from: &state)
        case .renew(let card):
            if let longer = try? state?.chains[UserID(card.statedUser)]?.appending(card) { know(longer, in: &state) }
        case .role(let principal, let role, let notAfter):
            let user = principal.userID
            state?.members[user]?.role = role
            state?.members[user]?.notAfter = notAfter
            state?.changes[user, default: []].append(record(.roleChanged(role), notAfter: notAfter))
        case .rename(let sealedName): name(sealedName, in: &state)
        }
        if let epoch = body.nextEpoch {
            state?.epochs.append(LogState.EpochRecord(epoch: epoch, sequence: entry.sequence))
            state?.commitments.formUnion([epoch.contentCommitment, epoch.historyCommitment])
        }
        if case .grant(let grant) = body, let fromNow = grant.fromNow { name(fromNow.sealedName, in: &state) }
        markRekeyPending(body, &state)
    }

    private func admit(_ grant: Grant, to state: inout LogState?) {
        let history = grant.fromNow.map { History.from(epoch: $0.epoch.number) } ?? .all
        for chain in grant.people.map(\.chain) {
            state?.members[chain.user] = Member(
                role: grant.role, history: history, notAfter: grant.notAfter, since: entry.sequence,
                sinceTime: entry.time, admittedBy: entry.author)
            state?.changes[chain.user, default: []].append(record(.admitted(grant.role), notAfter: grant.notAfter))
            know(chain, in: &state)
        }
    }

    private func dismiss(_ user: UserID, _ change: MembershipChange, from state: inout LogState?) {
        state?.members[user] = nil
        state?.changes[user, default: []].append(record(change))
    }

    private func know(_ chain: CardChain, in state: inout LogState?) {
        state?.chains[chain.user] = chain
        state?.generations[chain.user, default: []].append(
            LogState.GenerationRecord(sequence: entry.sequence, time: entry.time, generation: chain.newest.generation))
    }

    private func name(_ sealedName: SealedName, in state: inout LogState?) {
        guard let epoch = state?.epoch else { return }
        state?.name = LogState.NameRecord(sealed: sealedName, epoch: epoch, sequence: entry.sequence)
    }

    /// Sets the mark for `leave` and for the `renew` of a member, and clears it for an entry with an epoch.
    private func markRekeyPending(_ body: EntryBody, _ state: inout LogState?) {
        let before = state?.isRekeyPending ?? false
        let after: Bool
        switch body {
        case .leave: after = true
        case .renew(let card): after = before || state?.members[UserID(card.statedUser)] != nil
        default: after = before && body.nextEpoch == nil
        }
        guard before != after else { return }
        state?.isRekeyPending = after
        state?.rekeyMarks.append(LogState.RekeyMark(sequence: entry.sequence, isSet: after))
    }
}
