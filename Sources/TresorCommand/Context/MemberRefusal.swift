// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

extension TresorResolver {
    /// The reason why this person may not read a tresor, or not write to it; `nil` where they may.
    func refusal(
        of summary: TresorSummary, in state: LogState, _ session: Session, writing: Bool
    ) -> CommandFailure? {
        let title = "\(self.title(of: summary)) (owned by \(handle(of: owner(of: state), in: state)))"
        if state.waiting[session.user] != nil {
            return CommandFailure(.waiting, "nobody has approved you in \(title) yet")
        }
        guard let me = state.members[session.user] else {
            return CommandFailure(
                .noAccess, "you are no longer a member of \(title)",
                hints: [askToShare(summary, with: session, as: writing ? .writer : nil)])
        }
        if writing, let end = me.notAfter, client.clock() > end {
            return CommandFailure(
                .noAccess, "your access to \(title) ended on \(Timestamp(seconds: end).date)",
                hints: [askToShare(summary, with: session, as: me.role)])
        }
        guard writing, me.role == .reader else { return nil }
        return CommandFailure(
            .noAccess, "you can read \(title) but not write to it",
            hints: [askToShare(summary, with: session, as: .writer)])
    }
}
