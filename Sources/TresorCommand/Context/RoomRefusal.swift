// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

/// The refusals of a service that has no room for what is sent to a tresor.
extension CommandContext {
    /// The failure to send something to a tresor for which the store has no room: whose limit it is, its numbers for the
    /// person whose it is, and how room is made. A full disk is for the operator.
    ///
    /// - Parameter isCompaction: whether a compaction found none, which is no way to make room then.
    func noRoom(
        in summary: TresorSummary, _ session: Session, isCompaction: Bool = false
    ) async -> CommandFailure {
        let error = TresorError.store(.full)
        let (word, title) = (tresors.word(of: summary), tresors.title(of: summary))
        let unsent = (try? await session.records(in: summary.tresor).unsent()) ?? []
        guard let isQuota = Surroundings.current.obstacle.isQuota else {
            return CommandFailure(error, hints: unsent.isEmpty ? [] : ["tresor sync -t \(word)"])
        }
        let known = (try? session.client.archive.verifiedState(of: summary.tresor)) ?? summary.state
        guard isQuota, let state = known else { return CommandFailure(error) }
        let drop = unsent.isEmpty ? [] : ["tresor sync -t \(word) --drop"]
        guard state.founder == session.user else {
            let founder = tresors.handle(of: state.founder, in: state)
            return CommandFailure(
                of: error,
                CommandFailure.noRoom(
                    "the quota of \(founder), who made \(title), has not enough left for this; ask \(founder)"),
                hints: drop)
        }
        guard let account = try? await AskedService(session, self)?.call(AccountRequest()) else {
            return CommandFailure(error, hints: drop)
        }
        let isLast = isCompaction || state.entryCount >= account.maximumEntries
        let way = isLast ? "ask" : "delete records and compact the tresor, or ask"
        return CommandFailure(
            of: error,
            CommandFailure.noRoom(
                "not enough is left for this: you have \(account.bytes) of \(account.maximumBytes) bytes, and \(title) "
                    + "has \(state.entryCount) of \(account.maximumEntries) entries; \(way) its operator for more"),
            hints: (isLast || state.members[session.user]?.role != .owner ? [] : ["tresor compact -t \(word)"]) + drop)
    }
}
