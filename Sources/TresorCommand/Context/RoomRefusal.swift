// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

/// The refusals of a service that has no room for what is sent to a tresor.
extension CommandContext {
    /// The failure to send something to a tresor for which the store has no room: whose quota is used up, its numbers for
    /// the person whose it is, and how room is made. A full disk is for the operator.
    func noRoom(in summary: TresorSummary, _ session: Session) async -> CommandFailure {
        let error = TresorError.store(.full)
        let unsent = try? await session.records(in: summary.tresor).unsent()
        let drop = unsent?.isEmpty == false ? ["tresor sync -t \(tresors.word(of: summary)) --drop"] : []
        guard Surroundings.current.obstacle.isQuota == true, let state = summary.state else {
            return CommandFailure(error, hints: drop)
        }
        let isOwner = state.members[session.user]?.role == .owner
        let compact = isOwner ? ["tresor compact -t \(tresors.word(of: summary))"] : []
        guard state.founder == session.user else {
            let founder = tresors.handle(of: state.founder, in: state)
            return CommandFailure(
                of: error,
                CommandFailure.noRoom("the quota of \(founder), who made \(tresors.title(of: summary)), is used up"),
                hints: compact + drop)
        }
        var reason = "your quota is used up"
        if let account = try? await AskedService(session, self)?.call(AccountRequest()) {
            reason =
                "your quota is used up: you have \(account.bytes) of \(account.maximumBytes) bytes, and "
                + "\(account.tresors) of \(account.maximumTresors) tresors, each with at most "
                + "\(account.maximumEntries) entries"
        }
        return CommandFailure(
            of: error,
            CommandFailure.noRoom(reason + "; delete records and compact the tresor, or ask its operator for more"),
            hints: compact + drop)
    }
}
