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
            let isFormer = state.wasEverIn(session.user)
            return CommandFailure(
                .noAccess, "you are \(isFormer ? "no longer" : "not") a member of \(title)",
                hints: waysBack(to: state, session, word: word(of: summary), as: writing ? .writer : nil))
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

    /// How somebody who is no member becomes one. Where they left in a store that exports reach, the owner's store has to
    /// learn that first: to it they still are one.
    func waysBack(to state: LogState, _ session: Session, word: String, as role: Role? = nil) -> [String] {
        let options = role.map { " --role \($0.description)" } ?? ""
        let owner = handle(of: owner(of: state), in: state)
        let person = Shell.word(session.identity.handle, or: session.user)
        guard state.departure(of: session.user)?.change == .left, client.archive.isCopied(state.tresor) else {
            return ["ask \(owner) to run: tresor share -t \(word)\(options) \(person)"]
        }
        return [
            "tresor export -t \(word) -o FILE",
            "ask \(owner) to run: tresor import FILE && tresor share -t \(word)\(options) \(person)",
        ]
    }

    /// Why this person may not seal in a store to which an export brought a tresor: a key that is pending, or their new card,
    /// needs an entry, and two people who write one in two stores make two histories. `nil` where that is not the reason.
    func copyRefusal(of tresor: TresorID, _ session: Session) -> CommandFailure? {
        guard let state = try? client.archive.verifiedState(of: tresor), client.archive.isCopied(tresor),
            let me = state.members[session.user], me.role != .owner
        else { return nil }
        if let known = state.chain(of: session.user), session.identity.chain.isNewer(than: known) {
            return newKeysRefusal(in: state, session)
        }
        guard state.isRekeyPending, me.role == .writer else { return nil }
        let (title, word, owner) = names(in: state, session)
        return CommandFailure(
            .noAccess,
            "a member left \(title) or has new keys, and \(owner) must change its key first: it came to this store by an "
                + "export, and a change of the key here could begin another history; send \(owner) an export, and import "
                + "the one that comes back; if \(owner) uses this store too, ask \(owner) to run tresor rotate -t \(word) "
                + "here",
            hints: [
                "tresor export -t \(word) -o FILE",
                "ask \(owner) to run: tresor import FILE && tresor rotate -t \(word) && tresor export -t \(word) -o FILE",
                "tresor import FILE",
            ])
    }

    /// How this person's new keys come into a tresor that exports carry and somebody else owns: into its owner's store
    /// first.
    func newKeysRefusal(in state: LogState, _ session: Session) -> CommandFailure {
        let (title, word, owner) = names(in: state, session)
        let person = Shell.word(session.identity.handle, or: session.user)
        let rest =
            state.approvers.contains(session.user)
            ? "; until then you cannot approve"
            : state.members[session.user] == nil ? "" : "; until then you can read, and not write"
        return CommandFailure(
            .noAccess,
            "\(title) came to this store by an export, so \(owner) adds your new keys: send \(owner) your new card, and import "
                + "the export that comes back; if \(owner) uses this store too, no export is needed\(rest)",
            hints: [
                "tresor card -o CARD",
                "ask \(owner) to run: tresor verify \(person) --card CARD && tresor rotate -t \(word) && "
                    + "tresor export -t \(word) -o FILE",
                "tresor import FILE",
            ])
    }

    /// Tells it after the keys were made.
    func tellWayOfNewKeys(into state: LogState, _ session: Session) {
        let failure = newKeysRefusal(in: state, session)
        invocation.output.say(failure.message)
        failure.hints.forEach(invocation.output.hint)
    }

    /// A tresor's name to be shown, and for a command, and its owner; the beginning of its id where the name is not known.
    private func names(in state: LogState, _ session: Session) -> (title: String, word: String, owner: String) {
        let (name, id) = (session.tresors.knownNameBlocking(of: state.tresor), ShortID.text(of: state.tresor))
        return (
            name.map { DisplayText.name($0.bytes) } ?? id, name.map { Shell.word($0, or: state.tresor) } ?? id,
            handle(of: owner(of: state), in: state)
        )
    }
}
