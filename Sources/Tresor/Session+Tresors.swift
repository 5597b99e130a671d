// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// Finding and making the tresors that a person works in.
extension Session {
    /// Finds a tresor by its name, by `OWNER/NAME`, or by an id of at least 6 characters (SPEC §9.12).
    ///
    /// - Throws: ``TresorError/notFound`` when this person has no such tresor; ``TresorError/usage(_:)`` with
    ///   `ambiguous` when several are meant; the error of its log when that could not be verified.
    @concurrent public func tresor(_ text: String) async throws(TresorError) -> TresorHandle {
        let found = try await tresors.named(text)
        guard let summary = found.first else { throw .notFound }
        guard found.count == 1 else { throw .usage(.ambiguous) }
        if let error = summary.error, summary.state == nil { throw error }
        return tresor(summary.tresor)
    }

    /// Returns the handle of a tresor whose id is known. Reads nothing.
    public func tresor(_ id: TresorID) -> TresorHandle { TresorHandle(id: id, session: self) }

    /// Makes a tresor with its first epoch (SPEC §9.7).
    ///
    /// - Parameters:
    ///   - name: the name, which members can read and the store cannot.
    ///   - kind: the kind, as a program uses it; empty for none.
    /// - Throws: ``TresorError/usage(_:)`` with `tresorExists` when this person has a tresor of that name, and for
    ///   a name that nobody can give; ``TresorError/store(_:)`` when the store did not keep the log;
    ///   ``TresorError/cancelled`` for a task that was cancelled before anything was sent.
    @concurrent public func create(_ name: String, kind: String = "") async throws(TresorError) -> TresorHandle {
        tresor(try await tresors.create(Name(typed: name), kind: Name(text: kind)).tresor)
    }

    /// Lists the tresors of this person, and those that others shared with them.
    ///
    /// - Parameters:
    ///   - readingStrangers: whether to read the logs of tresors that strangers offer, too. Each call reads them again,
    ///     however long they are.
    ///   - progress: takes the number of tresors whose logs are verified, of all.
    /// - Returns: one entry for each tresor, with its error where its log does not verify.
    /// - Throws: ``TresorError/store(_:)`` when the store cannot be read.
    @concurrent public func allTresors(
        readingStrangers: Bool = false, progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) -> [TresorSummary] {
        try await tresors.all(readingStrangers: readingStrangers, progress: progress).filter { !$0.isOwn }
    }

    /// Opens a sealed file of whichever tresor it is, with any record name, from any author.
    ///
    /// Somebody who shares a tresor with this person, or the store, can put a file of it in the place of another. Read
    /// what the proof says before you use the content. ``TresorHandle/open(_:record:author:)`` demands the tresor.
    ///
    /// - Throws: ``TresorError/noAccess`` for a file of a tresor that this person is not in;
    ///   ``TresorError/unverified`` when its founder's or author's safety number was never compared;
    ///   ``TresorError/altered``; ``TresorError/forked``.
    @concurrent public func openFromAnyTresor(_ file: SealedFile) async throws(TresorError) -> OpenedFile {
        try await files.open(file, expecting: .anyTresor)
    }
}
