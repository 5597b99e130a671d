// SPDX-License-Identifier: Apache-2.0

import Tresor
public import TresorCore
public import TresorCrypto

/// The contents of records as streams: of any size, in bounded memory. One of more than 64 KiB lies beside its commit, as
/// an *attachment* (SPEC §19.1).
///
/// A change holds a piece of 1 MiB at a time, and reading a few parts of 256 KiB. Sources and sinks are used apart from
/// the caller, one call after the other. A task that is cancelled gets ``TresorError/cancelled``.
public struct Attachments: Sendable {
    /// The size up to which ``Records/get(_:acceptingIncomplete:)`` fetches a content into memory in bytes: 64 MiB.
    static let maximumFetchedByteCount = 64 << 20

    let records: Records

    private var outbox: OutboxFile { records.outbox }
    private var session: Session { records.session }
}

/// Contents as streams.
extension Attachments {
    /// Gives a record a content while it is read. It lies in the home when this returns; ``Records/sync()`` sends it.
    ///
    /// A person who may not write, and a name or type that is refused, end the call before anything is read. After an
    /// error, nothing of the content is left in the home.
    ///
    /// - Parameters:
    ///   - name: the name of the record.
    ///   - content: the source; its length may be unknown.
    ///   - type: the content type; may be empty.
    ///   - progress: takes the number of bytes that were read.
    /// - Throws: the errors of ``Records/change(_:ifShown:)`` and of the source; ``TresorError/usage(_:)``
    ///   for more than 2^39 bytes, and with `tooManyContents` while 1023 contents of more than 64 KiB are
    ///   not sent; ``TresorError/busy`` where another program of this home took the content away.
    @concurrent public func put(
        _ name: String, _ content: inout some ContentSource, type: String = "",
        progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) {
        try await check([.put(name, [], type: type)])
        let start = try await content.nextBytes(Item.maximumContentByteCount + 1)
        guard start.count > Item.maximumContentByteCount else {
            progress?(WorkDone(UInt64(start.count)))
            return try await records.put(name, start, type: type)
        }
        let held = try await hold(&content, startingWith: start, progress: progress)
        try await records.change([.put(name, held, type: type)])
    }

    /// Writes what is shown of a record, of any size. The home keeps nothing of an attachment.
    ///
    /// - Parameters:
    ///   - name: the name of the record.
    ///   - sink: takes the content. If this throws, discard it: nothing in it is proved.
    ///   - acceptingIncomplete: whether to continue although packs are missing, so that nothing is proved to be the
    ///     newest.
    ///   - progress: takes the number of bytes that were written, of the most that there can be.
    /// - Returns: the version that was written; without its content, where that is an attachment.
    /// - Throws: the errors of ``Records/get(_:acceptingIncomplete:)`` and of the sink; ``TresorError/busy`` for an unsent
    ///   change that was replaced or sent while it was read.
    @concurrent public func get(
        _ name: String, to sink: inout some DraftSink, acceptingIncomplete: Bool = false,
        progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) -> Record {
        let record = try await records.find(name, acceptingIncomplete: acceptingIncomplete)
        try await get(record, to: &sink, progress: progress)
        return record
    }

    /// Writes the content of a version that ``Records/versions(of:)`` or ``Records/get(_:acceptingIncomplete:)`` gave.
    ///
    /// - Parameters:
    ///   - version: a version of a record of this tresor.
    ///   - sink: takes the content. If this throws, discard it: nothing in it is proved.
    ///   - progress: takes the number of bytes that were written, of the most that there can be.
    /// - Throws: the errors of ``get(_:to:acceptingIncomplete:progress:)``.
    @concurrent public func get(
        _ version: Record, to sink: inout some DraftSink, progress: (@Sendable (WorkDone) -> Void)? = nil
    ) async throws(TresorError) {
        guard let content = version.content else {
            try await read(version, to: &sink, progress: progress)
            return
        }
        try await sink.write(content.span)
        progress?(WorkDone(UInt64(content.count), of: UInt64(content.count)))
    }
}

/// Changes, before and while their contents are read.
extension Attachments {
    /// Refuses contents that no set of changes may have.
    ///
    /// - Parameter sizes: their sizes in bytes.
    /// - Throws: ``TresorError/usage(_:)`` with `tooManyContents` for more than 1023, and with `contentTooLong` for more
    ///   than 2^39 bytes together.
    package static func checkHeld(_ sizes: [UInt64]) throws(TresorError) {
        var sum: UInt64 = 0
        for size in sizes {
            guard size <= Held.maximumByteCount - sum else { throw .usage(.contentTooLong) }
            sum += size
        }
        guard sizes.count <= Held.maximumContentCount else { throw .usage(.tooManyContents) }
    }

    /// Refuses changes that are refused whatever their contents are, before these are read.
    ///
    /// - Parameters:
    ///   - changes: the changes; what is read later may be left out of their contents.
    ///   - shown: as for ``Records/change(_:ifShown:)``.
    /// - Throws: the errors of ``Records/change(_:ifShown:)`` that need no content: for a name, a type, the rights of this
    ///   person, and another revision than `shown`.
    package func check(
        _ changes: [RecordChange], ifShown shown: [String: UInt64?] = [:]
    ) async throws(TresorError) {
        let expected = try Records.expectation(shown)
        try changes.check(at: session.client.clock(), takesReserved: false)
        let view = try await records.viewToChange()
        try await outbox.present().check(expected, over: view.table)
    }

    /// The content of a change as its item has it in an outbox. A large one is taken into the home, besides others.
    func content(
        of change: RecordChange, _ held: inout [HeldContent]
    ) async throws(TresorError) -> Item.Content {
        var content = change.held
        if change.isToBeHeld, case .bytes(let bytes, _) = change.content {
            var source = MemorySource(bytes)
            let new = try await hold(&source, besides: held)
            held.append(new)
            content = new
        }
        return try change.itemContent(content?.number.value ?? 0)
    }

    /// Takes a content into the home while it is read, for a change that is made next. The home deletes it if there is
    /// none within ten minutes.
    ///
    /// The source stays where the caller runs. After an error, nothing of the content is left.
    ///
    /// - Parameters:
    ///   - content: the source; its length may be unknown.
    ///   - start: what was read of it before, at most 1 MiB.
    ///   - others: what was taken for the same change before; it waits as long as this takes.
    ///   - progress: takes the number of bytes that were read.
    /// - Throws: ``TresorError/noAccess`` for somebody who may not change records; the errors of the source and of the
    ///   home; ``TresorError/usage(_:)`` over the limits of ``checkHeld(_:)``, and with `tooManyContents` while 1023
    ///   contents are not sent; ``TresorError/busy`` where another program took it away; ``TresorError/cancelled``.
    package func hold(
        _ content: inout some ContentSource, startingWith start: [UInt8] = [], besides others: [HeldContent] = [],
        progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> HeldContent {
        try Self.checkHeld(others.map(\.byteCount) + [0])
        _ = try await records.viewToChange()
        let number = try await outbox.reserve(isContent: true)
        do throws(TresorError) {
            var (byteCount, piece, start): (UInt64, UInt64, [UInt8]) = (0, 0, start)
            while true {
                let bytes = start + (try await content.nextBytes(OutboxFile.pieceByteCount - start.count))
                start = []
                byteCount += UInt64(bytes.count)
                try Self.checkHeld(others.map(\.byteCount) + [byteCount])
                if !bytes.isEmpty {
                    try await outbox.keepSealed(bytes, asPiece: piece, of: number, besides: others.map(\.number))
                }
                progress?(WorkDone(byteCount))
                guard bytes.count == OutboxFile.pieceByteCount else { break }
                piece += 1
            }
            return HeldContent(number: number, byteCount: byteCount)
        } catch {
            await outbox.release([number])
            throw error
        }
    }

    /// Gives back contents for which there will be no change.
    package func release(_ contents: [HeldContent]) async { await outbox.release(contents.map(\.number)) }
}

/// Reading contents.
extension Attachments {
    /// The size of the content of a version, as far as the log and the table tell.
    static func size(of head: RecordTable.Head, named record: Name, in entry: Entry) -> ContentSize {
        guard let blob = blob(of: head, in: entry) else { return .exactly(head.byteCount ?? 0) }
        return .atMost(Attachment.mostByteCount(ofSize: blob.size, type: head.type, record: record))
    }

    /// The attachment of a version as its commit names it; `nil` for none.
    static func blob(of head: RecordTable.Head, in entry: Entry) -> Blob? {
        guard let place = head.attachment, case .commit(let commit)? = try? entry.body,
            commit.blobs.indices.contains(Int(place))
        else { return nil }
        return commit.blobs[Int(place)]
    }

    /// Writes the content of a version that lies in an attachment, and keeps nothing of it in the home. Without a network,
    /// only what is not sent yet can be read.
    ///
    /// - Parameters:
    ///   - sink: hides the content until this returns, and discards it if this throws.
    ///   - progress: takes the number of bytes that were written, of the most that there can be.
    /// - Returns: the number of bytes.
    /// - Throws: ``TresorError/store(_:)`` where the store does not have the attachment; ``TresorError/altered`` for one
    ///   that is not what the log names, or not what its author committed to; ``TresorError/noAccess`` for somebody who
    ///   is no member; ``TresorError/busy`` for an unsent change that another one has replaced, or that was sent, while it
    ///   was read; the errors of the sink; ``TresorError/usage(_:)`` for a version whose content is no attachment.
    @discardableResult
    package func read(
        _ record: Record, to sink: inout some ByteSink, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> Int {
        switch record.place {
        case nil: throw .usage(.outOfBounds)
        case .held(let item, let content)?:
            return try await read(item, content, to: &sink, progress)
        case .attachment(let attachment)?:
            return try await fetch(attachment, to: &sink, progress)
        }
    }

    private func read(
        _ item: Item, _ content: HeldContent, to sink: inout some ByteSink, _ progress: WorkDone.Report?
    ) async throws(TresorError) -> Int {
        let byteCount = Int(clamping: content.byteCount)
        var source = HeldSource(outbox, content)
        var watched = WatchedSink(sink, for: session.identity, of: byteCount, progress)
        defer { sink = watched.base }
        var failure: TresorError?
        do throws(TresorError) {
            var count = OutboxFile.pieceByteCount
            while count == OutboxFile.pieceByteCount {
                let bytes = try await source.nextBytes(count)
                try await watched.write(bytes.span)
                count = bytes.count
            }
        } catch {
            failure = error
        }
        // Another program may have deleted the pieces by then, and written others under their number.
        let present = try await outbox.present()
        guard present.item(of: item.record)?.content == item.content, present.content(content.number.value) == content
        else { throw .busy }
        if let failure { throw failure }
        return byteCount
    }

    private func fetch(
        _ attachment: Attachment, to sink: inout some ByteSink, _ progress: WorkDone.Report?
    ) async throws(TresorError) -> Int {
        let state = try await records.view().state
        let keys = try await session.keyRing.keys(of: attachment.epoch, in: state)
        let source = try BlobSource(attachment.blob, in: session.client.store, of: records.tresor)
        var watched = WatchedSink(sink, for: session.identity, of: attachment.mostByteCount, progress)
        defer { sink = watched.base }
        do throws(TresorError) {
            let byteCount = try await attachment.openAttachment(source, with: keys, in: state, to: &watched)
            try await source.checkWhole()
            return byteCount
        } catch {
            // A failure of the store is no fault of the author.
            let failure = await source.failure
            throw failure ?? error
        }
    }
}
