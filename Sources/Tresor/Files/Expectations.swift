// SPDX-License-Identifier: Apache-2.0

/// The expectations of a caller about a file. If one of them fails, the error is ``TresorError/altered``: it is another
/// file than the one asked for.
///
/// A store can hand out any genuine file in the place of another. Name the tresor, and the record where there is one.
public struct Expectations: Hashable, Sendable {
    /// The tresor of the file; `nil` for any tresor whose founder was verified.
    public var tresor: TresorID?
    /// The record name of the file; `nil` for any.
    public var record: Name?
    /// The first author of the content; `nil` for any.
    public var author: UserID?
    /// Whether the author must still be an owner or a writer of the same generation; otherwise
    /// ``TresorError/noAccess``.
    public var currentAuthor = false
    /// Whether to use only the log that this home has verified, whatever the store shows; ``TresorError/forked`` where
    /// there is none. Nothing is then remembered.
    public var acceptingForked = false
    /// Whether to read although the founder's safety number was never compared. Nothing is then remembered.
    public var acceptingUnverified = false

    private init() {}

    /// Makes the expectations that a file of this tresor meets.
    ///
    /// - Parameters:
    ///   - tresor: the tresor of the file.
    ///   - record: the record name; `nil` for any.
    ///   - author: the first author of the content; `nil` for any.
    ///   - currentAuthor: whether the author must still be allowed to write.
    ///   - acceptingForked: whether to use only the log that this home has verified.
    ///   - acceptingUnverified: whether to read although the founder's safety number was never compared.
    public init(
        tresor: TresorID, record: Name? = nil, author: UserID? = nil, currentAuthor: Bool = false,
        acceptingForked: Bool = false, acceptingUnverified: Bool = false
    ) {
        self.tresor = tresor
        self.record = record
        self.author = author
        self.currentAuthor = currentAuthor
        self.acceptingForked = acceptingForked
        self.acceptingUnverified = acceptingUnverified
    }

    /// The expectations that a file of any tresor meets, with any record name, from any author.
    ///
    /// Somebody who shares a tresor with this person, or the store, can put a file of it in the place of another. Read
    /// what the proof says before you use the content.
    public static let anyTresor = Expectations()

    func areMet(by proof: FileProof) -> Bool {
        (tresor == nil || tresor == proof.tresor) && (record == nil || record == proof.record)
            && (author == nil || author == proof.author.user)
    }
}

/// A sealed file with the expectations that it has to meet.
public struct ExpectedFile: Hashable, Sendable {
    /// The sealed file.
    public let file: SealedFile
    /// The expectations of the caller.
    public let expectations: Expectations

    /// Makes a file to open with others.
    public init(_ file: SealedFile, expecting expectations: Expectations) {
        self.file = file
        self.expectations = expectations
    }
}
