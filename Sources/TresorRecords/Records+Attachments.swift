// SPDX-License-Identifier: Apache-2.0

import Tresor
package import TresorCore
package import TresorCrypto

/// Contents that are too large for a pack (SPEC §19.7).
extension Records {
    /// The size up to which ``get(_:acceptingIncomplete:)`` fetches a content into memory in bytes: 64 MiB.
    static let maximumFetchedByteCount = 64 << 20

    /// Refuses contents that no set of changes may have.
    ///
    /// - Parameter sizes: their sizes in bytes.
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` for more than 1023, and for more than 2^39 bytes
    ///   together.
    package static func checkHeld(_ sizes: [UInt64]) throws(TresorError) {
        var sum: UInt64 = 0
        for size in sizes {
            guard size <= Held.maximumByteCount - sum else { throw .usage(.contentTooLong) }
            sum += size
        }
        guard sizes.count <= Held.maximumContentCount else { throw .usage(.contentTooLong) }
    }

    /// Refuses a set of changes over its limits, before anything of it is written.
    static func check(
        _ changes: [RecordChange], at time: UInt64, takesReserved: Bool
    ) throws(TresorError) {
        var items: [Item] = []
        for change in changes {
            let content = try change.itemContent(1)
            items.append(Item(record: try Name(text: change.name), replaces: [], time: time, content: content))
        }
        _ = try Pack(of: items, takesReserved: takesReserved)
        try checkHeld(changes.compactMap(\.heldByteCount))
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
    ///   - others: what was taken for the same change before; it waits as long as this takes.
    ///   - progress: takes the number of bytes that were read.
    /// - Throws: ``TresorError/noAccess`` for somebody who may not change records; the errors of the source and of the
    ///   home; ``TresorError/usage(_:)`` with `contentTooLong` over the limits of ``checkHeld(_:)``, and while 1023
    ///   contents are not sent; ``TresorError/busy`` where another program took it away; ``TresorError/cancelled``.
    package func hold(
        _ content: inout some ContentSource, besides others: [HeldContent] = [], progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> HeldContent {
        try Self.checkHeld(others.map(\.byteCount) + [0])
        _ = try await viewToChange()
        let number = try await outbox.reserve(isContent: true)
        do throws(TresorError) {
            var (byteCount, piece): (UInt64, UInt64) = (0, 0)
            while true {
                let bytes = try await content.nextBytes(OutboxFile.pieceByteCount)
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

    /// The row of a list for a change that is not sent yet.
    func summary(of item: Item, in outbox: Outbox) -> RecordSummary {
        let (type, byteCount): (Name, Int)
        switch item.content {
        case .deleted: (type, byteCount) = (.empty, 0)
        case .bytes(let bytes, let said): (type, byteCount) = (said, bytes.count)
        case .attachment(let number, let said):
            (type, byteCount) = (said, Int(clamping: outbox.content(number)?.byteCount ?? 0))
        }
        return RecordSummary(
            name: item.record.text, revision: nil, author: session.user, status: .current, isVerified: true,
            time: item.time, state: .unsent, vouchedBy: nil, type: type.text, size: .exactly(byteCount))
    }

    /// The size of the content of a version, as far as the log and the table tell.
    static func size(of head: RecordTable.Head, named record: Name, in entry: Entry) -> ContentSize {
        guard let blob = attachment(of: head, in: entry) else { return .exactly(head.byteCount ?? 0) }
        return .atMost(Attachment.mostByteCount(ofSize: blob.size, type: head.type, record: record))
    }

    /// The attachment of a version as its commit names it; `nil` for none.
    static func attachment(of head: RecordTable.Head, in entry: Entry) -> Blob? {
        guard let place = head.attachment, case .commit(let commit)? = try? entry.body,
            commit.blobs.indices.contains(Int(place))
        else { return nil }
        return commit.blobs[Int(place)]
    }

    /// Gives back contents for which there will be no change.
    package func release(_ contents: [HeldContent]) async { await outbox.release(contents.map(\.number)) }

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
        let state = try await view().state
        let keys = try await session.keyRing.keys(of: attachment.epoch, in: state)
        let source = try BlobSource(attachment.blob, in: session.client.store, of: tresor)
        var watched = WatchedSink(sink, for: session.identity, of: attachment.mostByteCount, progress)
        defer { sink = watched.base }
        do throws(TresorError) {
            let byteCount = try await attachment.openAttachment(source, with: keys, in: state, to: &watched)
            try await source.checkWhole()
            return byteCount
        } catch {
            // What the store failed at is no fault of the author.
            let failure = await source.failure
            throw failure ?? error
        }
    }
}
