// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// The effect of one valid entry on the state before it (SPEC §9.4), and the parts that bodies share.
struct EntryEffect {
    let entry: Entry
    let hash: Hash256

    /// Applies an entry other than the first.
    ///
    /// - Parameter body: `nil` for a void one.
    func apply(_ body: EntryBody?, to state: inout LogState) {
        let author = state.members[entry.author]
        if author?.role == .owner, author?.notAfter == nil { state.ownerTime = entry.time }
        if entry.author == state.founder { state.founderGeneration = entry.generation }
        state.head = Head(sequence: entry.sequence, hash: hash)
        state.headTime = entry.time
        state.hashes.append(hash)
        state.lastTimes[entry.author] = max(entry.time, state.lastTimes[entry.author] ?? 0)
        body?.apply(self, to: &state)
    }

    /// Begins an epoch, which clears *rekey pending*.
    func begin(_ epoch: Epoch, in state: inout LogState) {
        state.epochs.append(LogState.EpochRecord(epoch: epoch, sequence: entry.sequence))
        state.commitments.formUnion([epoch.contentCommitment, epoch.historyCommitment])
        mark(rekeyPending: false, in: &state)
    }

    /// Sets or clears *rekey pending*.
    func mark(rekeyPending isSet: Bool, in state: inout LogState) {
        guard state.isRekeyPending != isSet else { return }
        state.isRekeyPending = isSet
        state.rekeyMarks.append(LogState.RekeyMark(sequence: entry.sequence, isSet: isSet))
    }

    /// Replaces the name, under the epoch that is current now.
    func name(_ sealedName: SealedName, in state: inout LogState) {
        state.name = LogState.NameRecord(sealed: sealedName, epoch: state.epoch, sequence: entry.sequence)
    }

    /// Names the people who approve from now on.
    func name(_ approvers: [Approver], in state: inout LogState) {
        state.approvers = approvers.map(\.chain.user)
        state.approversSince = entry.sequence
        for approver in approvers { know(approver.chain, in: &state) }
    }

    /// Ends a membership, or the waiting for one.
    func dismiss(_ user: UserID, _ change: MembershipChange, from state: inout LogState) {
        state.members[user] = nil
        state.waiting[user] = nil
        state.changes[user, default: []].append(record(change))
    }

    /// Replaces the card chain of a user.
    func know(_ chain: CardChain, in state: inout LogState) {
        state.chains[chain.user] = chain
        state.generations[chain.user, default: []].append(record(of: chain))
    }

    func record(_ change: MembershipChange, notAfter: UInt64? = nil) -> LogState.ChangeRecord {
        LogState.ChangeRecord(
            sequence: entry.sequence, time: entry.time, author: entry.author, change: change, notAfter: notAfter)
    }

    func record(of chain: CardChain) -> LogState.GenerationRecord {
        LogState.GenerationRecord(sequence: entry.sequence, time: entry.time, generation: chain.newest.generation)
    }
}
