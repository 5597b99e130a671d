// SPDX-License-Identifier: Apache-2.0

/// How an author stands today (SPEC §10.6).
public enum AuthorStatus: Hashable, Sendable {
    /// Owner or writer, with the same generation.
    case current
    /// No longer so.
    case former(Former)

    /// How and when somebody ceased to be what they were.
    public struct Former: Hashable, Sendable {
        /// What happened.
        public enum Cause: String, Hashable, Sendable {
            /// Put out by an owner.
            case removed
            /// Went by themselves.
            case left
            /// Made a reader.
            case roleChanged = "role_changed"
            /// Has new keys.
            case keyRenewed = "key_renewed"
        }

        /// What happened.
        public let cause: Cause
        /// When, as its author dated it, in seconds since 1970.
        public let time: UInt64
    }
}

/// An author and how they stand.
public struct FileAuthor: Hashable, Sendable {
    /// Who.
    public let user: UserID
    /// Their handle, from the log.
    public let handle: Name
    /// With which generation they signed.
    public let generation: UInt32
    /// When they say they did, in seconds since 1970.
    public let time: UInt64
    /// Where they stood in the log.
    public let head: Head
    /// How they stand today.
    public fileprivate(set) var status: AuthorStatus

    fileprivate init(_ authorship: Authorship, in state: LogState) {
        user = authorship.author
        handle = state.chain(of: authorship.author)?.handle ?? .empty
        generation = authorship.generation
        time = authorship.time
        head = authorship.header.head
        status = state.authorStatus(
            of: authorship.author, generation: authorship.generation, since: authorship.header.head.sequence)
    }

    /// The same author for a home that has compared newer keys of theirs than they signed with: those keys count no longer, whether the log knows it or not.
    fileprivate func compared(with chain: CardChain?) -> FileAuthor {
        var author = self
        author.status = status.compared(with: chain, generation: generation)
        return author
    }
}

extension AuthorStatus {
    /// The same for a home that has compared a person's keys (SPEC §10.6, the last row but one).
    ///
    /// - Parameters:
    ///   - chain: what the home has compared of the person; `nil` for nothing.
    ///   - generation: with which they signed.
    package func compared(with chain: CardChain?, generation: UInt32) -> AuthorStatus {
        guard self == .current, let chain, generation < chain.newest.generation,
            let next = chain.card(generation: generation + 1)
        else { return self }
        return .former(.init(cause: .keyRenewed, time: next.time))
    }
}

/// What was proved of a sealed file when it passed every check (SPEC §10.5).
public struct FileProof: Hashable, Sendable {
    /// How many bytes the content has.
    public let contentByteCount: Int
    /// The content type its author gave.
    public let type: Name
    /// The record name its author gave; empty if none.
    public let record: Name
    /// Which tresor.
    public let tresor: TresorID
    /// Under which epoch's key it was sealed.
    public let epoch: UInt64
    /// Who sealed it.
    public private(set) var sealer: FileAuthor
    /// Who wrote it first, when it was sealed again.
    public private(set) var origin: FileAuthor?

    /// The first author's signature and where it stood, to be carried along when the content is sealed again.
    package let authorship: Authorship

    /// Whose content it is: the first author.
    public var author: FileAuthor { origin ?? sealer }

    init(_ fields: FileFields, contentByteCount: Int, in state: LogState) {
        self.contentByteCount = contentByteCount
        type = fields.type
        record = fields.record
        tresor = fields.authorship.header.tresor
        epoch = fields.authorship.header.epoch
        sealer = FileAuthor(fields.authorship, in: state)
        authorship = fields.origin ?? fields.authorship
        origin = fields.origin.map { FileAuthor($0, in: state) }
    }

    /// The same with what a home knows of the authors.
    ///
    /// - Parameter chain: the chain that the home has compared of a person, its own included; `nil` for none.
    package func compared(
        with chain: (UserID) throws(TresorError) -> CardChain?
    ) throws(TresorError) -> FileProof {
        var proof = self
        proof.sealer = sealer.compared(with: try chain(sealer.user))
        if let origin { proof.origin = origin.compared(with: try chain(origin.user)) }
        return proof
    }
}

/// A sealed file that has passed every check, in memory.
@dynamicMemberLookup public struct OpenedFile: Hashable, Sendable {
    /// What was proved of it.
    public package(set) var proof: FileProof
    /// The content, byte for byte.
    public let content: [UInt8]

    /// What was proved of it.
    public subscript<Value>(dynamicMember path: KeyPath<FileProof, Value>) -> Value { proof[keyPath: path] }
}

extension LogState {
    /// How an author stands in this state (SPEC §10.6).
    ///
    /// - Parameter head: the sequence number of the head at which they signed. A later return does not make current what was signed before they went.
    package func authorStatus(of user: UserID, generation: UInt32, since head: UInt64) -> AuthorStatus {
        let changes = changes[user] ?? []
        guard let last = changes.last else { return .former(.init(cause: .removed, time: headTime)) }
        if let ended = last.endOfWriting { return .former(ended) }
        if let end = changes.lastIndex(where: { $0.endOfWriting != nil }),
            changes[end + 1].sequence > head,
            let ended = changes[end].endOfWriting
        {
            return .former(ended)
        }
        // A later grant names the newest generation again; its date is that of the entry by which it came.
        guard let newest = generations[user]?.last?.generation, newest != generation,
            let record = generations[user]?.first(where: { $0.generation == newest })
        else { return .current }
        return .former(.init(cause: .keyRenewed, time: record.time))
    }
}

extension LogState.ChangeRecord {
    /// Why and when somebody can write no longer; `nil` where they can from then on.
    fileprivate var endOfWriting: AuthorStatus.Former? {
        switch change {
        case .removed: .init(cause: .removed, time: time)
        case .left: .init(cause: .left, time: time)
        case .admitted(.reader), .roleChanged(.reader): .init(cause: .roleChanged, time: time)
        case .admitted, .roleChanged: nil
        }
    }
}
