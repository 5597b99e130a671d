// SPDX-License-Identifier: Apache-2.0

/// How an author stands today (SPEC §10.6).
public enum Standing: Hashable, Sendable {
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
    public let standing: Standing

    fileprivate init(_ authorship: Authorship, in state: State) {
        user = authorship.author
        handle = state.chain(of: authorship.author)?.handle ?? .empty
        generation = authorship.generation
        time = authorship.time
        head = authorship.header.head
        standing = state.standing(of: authorship.author, generation: authorship.generation)
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
    public let sealer: FileAuthor
    /// Who wrote it first, when it was sealed again.
    public let origin: FileAuthor?

    /// The first author's signature and where it stood, to be carried along when the content is sealed again.
    let authorship: Authorship

    /// Whose content it is: the first author.
    public var author: FileAuthor { origin ?? sealer }

    init(_ fields: FileFields, contentByteCount: Int, in state: State) {
        self.contentByteCount = contentByteCount
        type = fields.type
        record = fields.record
        tresor = fields.authorship.header.tresor
        epoch = fields.authorship.header.epoch
        sealer = FileAuthor(fields.authorship, in: state)
        authorship = fields.origin ?? fields.authorship
        origin = fields.origin.map { FileAuthor($0, in: state) }
    }
}

/// A sealed file that has passed every check, in memory.
@dynamicMemberLookup public struct OpenedFile: Hashable, Sendable {
    /// What was proved of it.
    public let proof: FileProof
    /// The content, byte for byte.
    public let content: [UInt8]

    /// What was proved of it.
    public subscript<Value>(dynamicMember path: KeyPath<FileProof, Value>) -> Value { proof[keyPath: path] }
}

extension State {
    func standing(of user: UserID, generation: UInt32) -> Standing {
        guard let last = changes[user]?.last else { return .former(.init(cause: .removed, time: headTime)) }
        let records = generations[user] ?? []
        switch last.change {
        case .removed: return .former(.init(cause: .removed, time: last.time))
        case .left: return .former(.init(cause: .left, time: last.time))
        case .admitted(.reader), .roleChanged(.reader): return .former(.init(cause: .roleChanged, time: last.time))
        case .admitted, .roleChanged:
            // A later grant names the newest generation again; its date is that of the entry by which it came.
            guard let newest = records.last?.generation, newest != generation,
                let record = records.first(where: { $0.generation == newest })
            else { return .current }
            return .former(.init(cause: .keyRenewed, time: record.time))
        }
    }
}
