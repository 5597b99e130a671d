// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// An author and their status.
public struct FileAuthor: Hashable, Sendable {
    /// The user id.
    public let user: UserID
    /// The handle in the log.
    public let handle: Name
    /// The generation that signed.
    package let generation: UInt32
    /// The time of signing by their own account, in seconds since 1970.
    package let time: UInt64
    /// The head of the log that they knew.
    package let head: Head
    /// The status today.
    public fileprivate(set) var status: AuthorStatus

    fileprivate init(_ authorship: Authorship, in state: LogState) {
        user = authorship.author
        handle = state.chain(of: authorship.author)?.handle ?? .empty
        generation = authorship.generation
        time = authorship.time
        head = authorship.header.head
        status = AuthorStatus(
            of: authorship.author, generation: authorship.generation, since: authorship.header.head.sequence, in: state)
    }

    /// The same author for a home that has compared newer keys of theirs. The older keys no longer count, whether or
    /// not the log knows the newer ones.
    fileprivate func compared(with chain: CardChain?) -> FileAuthor {
        var author = self
        author.status = status.compared(with: chain, generation: generation)
        return author
    }
}

/// The proved facts about a sealed file that passed every check (SPEC §10.5).
public struct FileProof: Hashable, Sendable {
    /// The size of the content in bytes.
    public let contentByteCount: Int
    /// The content type given by the author.
    public let type: Name
    /// The record name given by the author; empty if none.
    public let record: Name
    /// The id of the tresor.
    public let tresor: TresorID
    /// The epoch whose key seals the file.
    package let epoch: UInt64
    /// The sealer.
    package private(set) var sealer: FileAuthor
    /// The first author, if the content was resealed.
    package private(set) var origin: FileAuthor?

    /// The signature and the place of the first author, kept when the content is resealed.
    package let authorship: Authorship

    /// The author of the content: the first author.
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

    /// The same file with the statuses that a home knows.
    ///
    /// - Parameter chain: gives the chain that the home has compared of a person, its own included; `nil` for none.
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
    /// The proved facts.
    public package(set) var proof: FileProof
    /// The content, byte for byte.
    package let content: [UInt8]

    /// The proved facts.
    public subscript<Value>(dynamicMember path: KeyPath<FileProof, Value>) -> Value { proof[keyPath: path] }
}
