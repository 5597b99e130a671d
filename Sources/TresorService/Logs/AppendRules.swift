// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// A request to append, as far as it can be judged alone. What it refuses says nothing about any log.
    struct AppendDraft: Sendable {
        let request: AppendRequest
        let entry: Entry
        let body: EntryBody
        let wraps: [UnverifiedWrap]
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
            for blob in request.blobs {
                guard let bytes = blob.bytes else { continue }
                guard try Blob(of: bytes) == Blob(hash: blob.hash, size: blob.size) else { throw .altered }
            }
            people = Set(try LogRecord(entry).users + [entry.author])
        }

        /// The weight of reading a request: the signatures of its chains, the form of its wraps, the hashes of its blobs.
        static func weight(of request: AppendRequest) -> Int {
            let blobByteCount = request.blobs.reduce(0) { $0 + ($1.bytes?.count ?? 0) }
            return WorkApart.weight(ofBytes: request.entry.count) + request.wraps.count / 64 + blobByteCount / 131_072
        }

        /// The weight of judging the entry on a state, which is copied and looked through, and of writing it: a wrap
        /// takes one statement, a person whose wraps go three, a blob two, and one that comes three more.
        func weight(on before: LogState?) -> Int {
            let statementCount =
                wraps.count + 3 * request.removing.count + 2 * body.blobs.count
                + 3 * request.blobs.count { $0.bytes != nil }
            return 1 + ((before?.chains.count ?? 0) + wraps.count) / 64 + (before?.epochs.count ?? 0) / 1_024
                + WorkApart.weight(ofStatements: statementCount)
        }

        /// The bytes that the entry counts as, with its wraps and the blobs that come with it.
        var byteCount: UInt64 {
            let parts = request.blobs.flatMap { StoredBlob.parts(of: $0.bytes ?? []) }
            let rest = request.wraps.reduce(request.entry.count) { $0 + $1.count }
            return UInt64(parts.reduce(rest) { $0 + Blobs.room(ofPart: $1.count) })
        }

        /// Whether the entry brings content, and changes no person, key or name.
        var isContent: Bool {
            switch body {
            case .commit, .checkpoint, .additive: true
            default: false
            }
        }

        /// How far the entry of an owner may go beyond a quota of bytes.
        var reserve: Demand.Reserve {
            switch body {
            case .checkpoint: .whole
            case .commit: byteCount <= Room.smallByteCount ? .small : .none
            default: .none
            }
        }

        /// Whether the body is additive, and nothing here reads it.
        var isUnread: Bool { if case .additive = body { true } else { false } }

        /// Whether the entry takes access away. No limit stops that.
        var endsAccess: Bool {
            switch body {
            case .remove, .leave, .refuse: true
            default: false
            }
        }
    }

    /// The result of a judgment: the state after the entry, and what changes with it.
    struct Judgment: Sendable {
        let state: LogState
        /// The memory that the state takes, in bytes.
        let cost: Int
        /// The people whose rows of *access* change.
        let people: [UserID]
        /// Those who were in the tresor before the entry, and are not after it.
        let leaving: [UserID]
        /// The blobs that the entry names.
        let named: [Blob]
        /// The wraps that come with the entry: the state after it calls for them.
        let wraps: [Wrap]
    }

    /// The judgment of one append (SPEC §18.7): a function of the request, the caller and the state.
    enum AppendRules {
        /// Judges an entry with its wraps.
        ///
        /// - Parameter before: the state of the log; `nil` for the first entry.
        /// - Throws: the error of the rule that the entry breaks; ``TresorError/noAccess`` for a caller who neither
        ///   wrote the entry nor is a member before or after it; ``TresorError/altered`` for wraps other than those
        ///   that the state after it calls for, for a list of removed people that leaves one out or names a member, and
        ///   for other blobs than those that the entry names.
        static func judge(
            _ draft: AppendDraft, by caller: UserID, on before: LogState?
        ) throws(TresorError) -> Judgment {
            var fold = before.map { Fold(state: $0) } ?? Fold(tresor: draft.request.tresor)
            try fold.apply(draft.entry)
            guard let after = fold.state else { throw .altered }
            let isIn = before?.author(caller) != nil || after.author(caller) != nil
            guard caller == draft.entry.author || isIn else { throw .noAccess }
            let wraps = try checkWraps(draft, by: caller, in: after)
            let named = fold.voidRule == nil ? draft.body.blobs : []
            try checkBlobs(draft, by: caller, named)
            // A refusal names a grant, and its people are those who waited; approvers are dropped unnamed.
            let people = draft.people.union(after.dismissed(at: draft.entry.sequence))
                .union(Set(before?.approvers ?? []).symmetricDifference(after.approvers))
            let losing = people.union(before?.approvers ?? []).filter {
                before?.needsWraps($0) == true && !after.needsWraps($0)
            }
            let removing = Set(draft.request.removing)
            guard removing.isSuperset(of: losing),
                removing.allSatisfy({ !after.needsWraps($0) && after.chain(of: $0) != nil })
            else { throw .altered }
            let moved = people.filter { user in
                before.flatMap { Membership(of: user, in: $0) } != Membership(of: user, in: after)
            }
            let leaving = people.filter { before?.author($0) != nil && after.author($0) == nil }
            return Judgment(
                state: after, cost: HeldMemory.byteCount(of: after), people: moved.sorted(), leaving: leaving.sorted(),
                named: named, wraps: wraps)
        }

        /// The author brings the blobs that the entry names, or none of them. A member who restores the entry of
        /// somebody else brings none.
        private static func checkBlobs(
            _ draft: AppendDraft, by caller: UserID, _ named: [Blob]
        ) throws(TresorError) {
            let blobs = draft.request.blobs.map { Blob(hash: $0.hash, size: $0.size) }
            guard !blobs.isEmpty else { return }
            guard caller == draft.entry.author else { throw .noAccess }
            guard blobs == named else { throw .altered }
        }

        /// An entry that begins an epoch brings the wraps of all members, of people who wait and of their approvers; a
        /// grant those of its people, and of the approvers for whom these wait; new approvers those of all epochs that
        /// people who wait need; any other entry none. A member who restores the entry of somebody else brings none.
        private static func checkWraps(
            _ draft: AppendDraft, by caller: UserID, in after: LogState
        ) throws(TresorError) -> [Wrap] {
            guard caller == draft.entry.author else {
                guard draft.wraps.isEmpty else { throw .noAccess }
                return []
            }
            let approvalEpochs = after.approvalEpochs()
            let approvers = approvalEpochs == nil ? [] : after.approvers
            var users: Set<UserID> = []
            var epochs = after.epoch...after.epoch
            if draft.body.nextEpoch != nil {
                users = Set(after.everybody.filter { after.needsWraps($0) })
            } else if case .grant(let grant) = draft.body {
                users = Set(grant.people.map(\.user)).union(approvers)
            } else if case .approvers = draft.body, let approvalEpochs {
                users = Set(approvers)
                epochs = approvalEpochs
            }
            // Approvers have many places after many epochs. As many as there are wraps are looked at, and no more.
            guard users.count * epochs.count == draft.wraps.count else { throw .altered }
            var missing = Set(users.flatMap { user in epochs.map { WrapPlace(user: user, epoch: $0) } })
            return try draft.wraps.map { (wrap) throws(TresorError) in
                guard missing.remove(WrapPlace(user: wrap.user, epoch: wrap.epoch)) != nil,
                    let needed = wrap.needed(in: after, approving: approvalEpochs)
                else { throw .altered }
                return needed
            }
        }
    }

    /// The place of wraps in a tresor.
    struct WrapPlace: Hashable {
        let user: UserID
        let epoch: UInt64
    }

    /// A wrap that lies in a place.
    struct PresentWrap: Hashable, Sendable {
        /// The person who put it.
        let putter: UserID
        let bytes: [UInt8]
    }

    /// The rules of wraps that a service can judge. It opens none.
    enum WrapRules {
        /// The effect of putting a wrap.
        struct Placement: Hashable, Sendable {
            /// The wraps that go.
            let going: [PresentWrap]
            /// Whether the wrap is added.
            let isAdded: Bool
        }

        /// Judges a wrap beside those in its place.
        ///
        /// One that the log calls for stays: its receiver may still open it. Only a receiver who put it replaces it. So
        /// nobody takes away what a person can open, and a wrap that does not open stands in nobody's way.
        ///
        /// - Throws: ``TresorError/noAccess`` for a wrap of another person where one stays, unless an owner puts it;
        ///   `TresorError.failed(_:)` with `full` for one too many. The receiver always has a place.
        static func change(
            _ present: [PresentWrap], adding wrap: Wrap, by putter: UserID, _ role: Role, in state: LogState
        ) throws(TresorError) -> Placement {
            let isOwn = wrap.user == putter
            let staying = present.filter { other in
                guard let read = try? UnverifiedWrap(other.bytes), read.user == wrap.user, read.epoch == wrap.epoch,
                    read.firstEntry(in: state) != nil
                else { return false }
                return !isOwn || other.putter != putter
            }
            let going = present.filter { !staying.contains($0) }
            if staying.contains(where: { $0.bytes == wrap.bytes }) { return Placement(going: going, isAdded: false) }
            guard isOwn || role == .owner || staying.isEmpty else { throw .noAccess }
            guard !staying.contains(where: { $0.putter == putter }) else {
                return Placement(going: going, isAdded: false)
            }
            guard isOwn || staying.count < Wrap.maximumCount - 1 else { throw .failed(.full) }
            return Placement(going: going, isAdded: true)
        }

        /// Reads the wraps of one tresor.
        ///
        /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
        static func read(_ wraps: [[UInt8]], of tresor: TresorID) throws(TresorError) -> [UnverifiedWrap] {
            var read: [UnverifiedWrap] = []
            for bytes in wraps {
                let wrap = try UnverifiedWrap(bytes)
                guard wrap.tresor == tresor else { throw .altered }
                read.append(wrap)
            }
            return read
        }
    }
#endif
