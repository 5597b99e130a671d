// SPDX-License-Identifier: Apache-2.0

public import TresorCore

/// The expectations of a caller about a file. If one of them fails, the error is ``TresorError/altered``: it is another
/// file than the one asked for.
///
/// A store can hand out any genuine file in the place of another. Name the tresor, and the record where there is one.
package struct Expectations: Hashable, Sendable {
    /// The tresor of the file; `nil` for any tresor whose founder was verified.
    package var tresor: TresorID?
    /// The record name of the file; `nil` for any.
    package var record: Name?
    /// The first author of the content; `nil` for any.
    package var author: UserID?
    /// Whether the author must still be an owner or a writer of the same generation; otherwise
    /// ``TresorError/noAccess``.
    package var currentAuthor = false
    /// Whether to use only the log that this home has verified, whatever the store shows; ``TresorError/forked`` where
    /// there is none. Nothing is then remembered.
    package var acceptingForked = false
    /// Whether to read although the founder's safety number was never compared. Nothing is then remembered.
    package var acceptingUnverified = false

    /// Whether no file can meet them, because no file can have the record name.
    var isImpossible = false

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
    package init(
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
    package static let anyTresor = Expectations()

    func areMet(by proof: FileProof) -> Bool {
        !isImpossible && (tresor == nil || tresor == proof.tresor) && (record == nil || record == proof.record)
            && (author == nil || author == proof.author.user)
    }
}

/// A sealed file with the expectations that it has to meet.
public struct ExpectedFile: Hashable, Sendable {
    /// The sealed file.
    package let file: SealedFile
    /// The expectations of the caller.
    package let expectations: Expectations

    /// Makes a file to open with others.
    ///
    /// - Parameters:
    ///   - file: the sealed file.
    ///   - record: the record name under which it was sealed; `nil` for any. No file has a name that is too long or has
    ///     control characters: such a file is refused as another one.
    ///   - author: the person who wrote the content; `nil` for any member who may write.
    public init(_ file: SealedFile, record: String? = nil, author: UserID? = nil) {
        var expectations = Expectations.anyTresor
        (expectations.author, expectations.isImpossible) = (author, false)
        if let record {
            expectations.record = try? Name(text: record)
            expectations.isImpossible = expectations.record == nil
        }
        self.init(file, expecting: expectations)
    }

    /// Makes a file to open with others.
    package init(_ file: SealedFile, expecting expectations: Expectations) {
        self.file = file
        self.expectations = expectations
    }
}
