// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// A request to append, as far as it can be judged alone. What it refuses says nothing about any log.
    struct AppendDraft: Sendable {
        let request: AppendRequest
        let entry: Entry
        let body: EntryBody
        let wraps: [Wrap]
        /// The author, and the people whom the body names.
        let people: Set<UserID>

        /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
        init(_ request: AppendRequest) throws(TresorError) {
            self.request = request
            entry = try Entry(request.entry)
            body = try entry.body
            guard entry.tresor == request.tresor, entry.sequence == request.sequence,
                entry.previous == request.previous
            else { throw .altered }
            wraps = try WrapRules.read(request.wraps, of: request.tresor)
            people = Set(try LogRecord(entry).users + [entry.author])
        }

        /// The bytes that the entry and its wraps take.
        var byteCount: UInt64 { UInt64(request.wraps.reduce(request.entry.count) { $0 + $1.count }) }

        /// Whether the entry takes access away. No limit stops that.
        var endsAccess: Bool {
            switch body {
            case .remove, .leave: true
            default: false
            }
        }
    }

    /// The result of a judgment: the state after the entry, and what changes with it.
    struct Judgment: Sendable {
        let state: LogState
        /// The rows of *access* that change.
        let access: [Access]
    }

    /// The judgment of one append (SPEC §18.7): a function of the request, the caller and the state.
    enum AppendRules {
        /// Judges an entry with its wraps.
        ///
        /// - Parameter before: the state of the log; `nil` for the first entry.
        /// - Throws: the error of the rule that the entry breaks; ``TresorError/noAccess`` for a caller who neither
        ///   wrote the entry nor is a member before or after it; ``TresorError/altered`` for wraps other than those
        ///   that the state after it calls for, and for a list of removed people that leaves one out or names a member.
        static func judge(
            _ draft: AppendDraft, by caller: UserID, on before: LogState?
        ) throws(TresorError) -> Judgment {
            var fold = before.map { Fold(state: $0) } ?? Fold(tresor: draft.request.tresor)
            try fold.apply(draft.entry)
            guard let after = fold.state else { throw .altered }
            let isIn = before?.members[caller] != nil || after.members[caller] != nil
            guard caller == draft.entry.author || isIn else { throw .noAccess }
            try checkWraps(draft, by: caller, in: after)
            let losing = draft.people.filter { before?.members[$0] != nil && after.members[$0] == nil }
            let removing = Set(draft.request.removing)
            guard removing.isSuperset(of: losing),
                removing.allSatisfy({ after.members[$0] == nil && after.chain(of: $0) != nil })
            else { throw .altered }
            let access = draft.people.sorted().compactMap { Access(of: $0, in: after) }
            return Judgment(state: after, access: access)
        }

        /// An entry that begins an epoch brings the wraps of all members, a grant those of its people, any other entry
        /// none. A member who restores the entry of somebody else brings none.
        private static func checkWraps(
            _ draft: AppendDraft, by caller: UserID, in after: LogState
        ) throws(TresorError) {
            guard caller == draft.entry.author else {
                guard draft.wraps.isEmpty else { throw .noAccess }
                return
            }
            var missing: Set<UserID> = []
            if draft.body.nextEpoch != nil {
                missing = Set(after.members.keys)
            } else if case .grant(let grant) = draft.body {
                missing = Set(grant.people.map(\.chain.user))
            }
            for wrap in draft.wraps {
                guard missing.remove(wrap.user) != nil, wrap.epoch == after.epoch,
                    WrapRules.isCalledFor(wrap, in: after)
                else { throw .altered }
            }
            guard missing.isEmpty else { throw .altered }
        }
    }

    /// The rules of wraps that a service can judge. It opens none.
    enum WrapRules {
        /// Reads the wraps of one tresor.
        ///
        /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
        static func read(_ wraps: [[UInt8]], of tresor: TresorID) throws(TresorError) -> [Wrap] {
            var read: [Wrap] = []
            for bytes in wraps {
                let wrap = try Wrap(bytes)
                guard wrap.tresor == tresor else { throw .altered }
                read.append(wrap)
            }
            return read
        }

        /// Whether a state calls for a wrap. A member with full history has that of the current epoch, a member
        /// *from now* those of each epoch since. Each is for the newest card, with the keys that the history allows.
        static func isCalledFor(_ wrap: Wrap, in state: LogState) -> Bool {
            guard wrap.tresor == state.tresor, let member = state.members[wrap.user],
                wrap.generation == state.chain(of: wrap.user)?.newest.generation
            else { return false }
            switch member.history {
            case .all: return wrap.opensHistory && wrap.epoch == state.epoch
            case .from(let first): return !wrap.opensHistory && first <= wrap.epoch && wrap.epoch <= state.epoch
            }
        }
    }
#endif
