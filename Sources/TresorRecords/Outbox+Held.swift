// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The rows of an outbox for pieces (SPEC §8.5). A content is needed as long as a change names it, and an attachment as long
/// as its content is.
extension Outbox {
    /// Whether each number is held once, each change names a content of its own, and so does each attachment.
    var areHeldInOrder: Bool {
        let named = (pending.joined() + (sent?.items ?? [])).compactMap(\.heldContent)
        var (made, whole): ([UInt16], Set<UInt16>) = ([], [])
        for held in held {
            switch held.kind {
            case .unfinished: break
            case .content: whole.insert(held.number.value)
            case .attachment(let attachment): made.append(attachment.content)
            }
        }
        return zip(held, held.dropFirst()).allSatisfy { $0.number.value < $1.number.value }
            && [named, made].allSatisfy { Set($0).count == $0.count && whole.isSuperset(of: $0) }
    }

    /// The content that an item names by a number; `nil` where no whole content is held under it.
    func content(_ number: UInt16) -> HeldContent? {
        guard let held = held.first(where: { $0.number.value == number }), case .content(let byteCount) = held.kind
        else { return nil }
        return HeldContent(number: held.number, byteCount: byteCount)
    }

    /// The numbers that no change needs at a time, and under which nobody may be writing.
    ///
    /// - Parameter isLeft: whether an attachment stays although no change needs it, and its content with it.
    func unneeded(at time: UInt64, leaving isLeft: (HeldAttachment) -> Bool = { _ in false }) -> [HeldNumber] {
        let left = attachments.map(\.attachment).filter(isLeft).map(\.content)
        let needed = contents.union(left)
        return held.filter { held in
            switch held.kind {
            case .unfinished: !held.isBeingWritten(at: time)
            case .content: !needed.contains(held.number.value)
            case .attachment(let attachment): !needed.contains(attachment.content)
            }
        }.map(\.number)
    }

    /// Takes the least free number for pieces that are written next.
    ///
    /// - Parameters:
    ///   - isContent: whether they are those of a content, of which there is a limit.
    ///   - mark: drawn at random for this.
    /// - Throws: ``TresorError/usage(_:)`` with `tooManyContents` for one content too many; ``TresorError/busy`` while
    ///   others write as many as there may be.
    mutating func reserve(
        isContent: Bool, at time: UInt64, mark: UInt64
    ) throws(TresorError) -> HeldNumber {
        guard !isContent || contentCount < Held.maximumContentCount else { throw .usage(.tooManyContents) }
        var number = Held.numbers.lowerBound
        for held in held where held.number.value == number { number += 1 }
        guard Held.numbers.contains(number) else { throw .busy }
        let taken = HeldNumber(number, mark: mark)
        self[taken] = .unfinished(until: time + Held.patience)
        return taken
    }

    /// Whether a program that has taken a number may still write under it.
    func isReserved(_ number: HeldNumber) -> Bool {
        guard case .unfinished(let until)? = self[number] else { return false }
        return until > 0
    }

    /// Says that a program still writes under numbers that it took, if it said so long ago.
    mutating func renew(_ numbers: [HeldNumber], at time: UInt64) {
        let isRecent = (time + Held.patience / 2)...(time + Held.patience)
        for number in numbers {
            guard case .unfinished(let until)? = self[number], until > 0, !isRecent.contains(until) else { continue }
            self[number] = .unfinished(until: isRecent.upperBound)
        }
    }

    /// The number of whole contents.
    private var contentCount: Int { held.count { if case .content = $0.kind { true } else { false } } }

    /// A content is whole. The change that names it comes in the same writing.
    ///
    /// - Throws: ``TresorError/busy`` where another program took it away; ``TresorError/usage(_:)`` with `tooManyContents`
    ///   for one content too many: others were made whole since it took its number.
    mutating func finish(_ content: HeldContent) throws(TresorError) {
        guard isReserved(content.number) else { throw .busy }
        guard contentCount < Held.maximumContentCount else { throw .usage(.tooManyContents) }
        self[content.number] = .content(byteCount: content.byteCount)
    }

    /// An attachment is whole. It takes the place of an earlier one of its content, unless its content is not pending any
    /// more, or has one that fits by now.
    mutating func finish(
        _ attachment: HeldAttachment, of content: HeldContent, as number: HeldNumber, in state: LogState,
        by author: Identity
    ) {
        guard isReserved(number) else { return }
        let isPending =
            self.content(attachment.content) == content
            && pending.joined().contains { $0.heldContent == attachment.content }
        guard isPending, self.attachment(of: attachment.content, in: state, by: author) == nil else {
            return release([number])
        }
        if let former = self.attachment(of: attachment.content) { release([former.number]) }
        self[number] = .attachment(attachment)
    }

    /// The store deletes the attachments of the sent commit: no other commit names them. Their pieces stay for a while, as
    /// if they were being written.
    ///
    /// - Returns: their rows.
    mutating func withdrawSent(at time: UInt64) -> [Held] {
        let numbers = sentAttachments.compactMap(\.number)
        let rows = held.filter { numbers.contains($0.number) }
        for number in numbers { self[number] = .unfinished(until: time + Held.patience) }
        return rows
    }

    /// The sent commit names withdrawn attachments again. Each takes the place of one that was made of its content since.
    mutating func restore(_ rows: [Held]) {
        for row in rows where isReserved(row.number) {
            guard case .attachment(let made) = row.kind else { continue }
            if let newer = attachment(of: made.content) { release([newer.number]) }
            self[row.number] = row.kind
        }
    }

    /// Nobody needs these any more, and no program writes them further. What a change names stays.
    mutating func release(_ numbers: [HeldNumber]) {
        let named = contents
        for number in numbers where self[number] != nil && !named.contains(number.value) {
            if let made = attachment(of: number.value) { self[made.number] = .unfinished(until: 0) }
            self[number] = .unfinished(until: 0)
        }
    }

    /// The least number whose pieces may be deleted, because no program goes on under it; `nil` for none.
    var givenUp: HeldNumber? { held.first { $0.kind == .unfinished(until: 0) }?.number }

    /// Nothing of it is left.
    mutating func forget(_ number: HeldNumber) {
        release([number])
        self[number] = nil
    }

    /// The attachments among some numbers, without those that the sent commit names: it may still come into the log.
    func attachments(among numbers: [HeldNumber]) -> [HeldAttachment] {
        let named = Set((try? sent?.entry.body)?.blobs ?? [])
        return numbers.compactMap { number in
            guard case .attachment(let made)? = self[number], !named.contains(made.blob) else { return nil }
            return made
        }
    }

    /// All attachments, with their numbers.
    var attachments: [(number: HeldNumber, attachment: HeldAttachment)] {
        held.compactMap { held in
            if case .attachment(let attachment) = held.kind { (held.number, attachment) } else { nil }
        }
    }

    /// Whether the sent commit has a change of a record.
    func hasSent(_ record: Name) -> Bool { sent?.items.contains { $0.record == record } ?? false }

    /// The numbers of the attachments that no commit of an author behind a state may name.
    func unfit(for state: LogState, by author: Identity) -> [HeldNumber] {
        held.compactMap { held in
            if case .attachment(let made) = held.kind, !made.fits(state, by: author) { held.number } else { nil }
        }
    }

    /// The attachment that a commit behind a state may name for a content; `nil` for none.
    func attachment(of content: UInt16, in state: LogState, by author: Identity) -> HeldAttachment? {
        guard let made = attachment(of: content)?.attachment, made.fits(state, by: author) else { return nil }
        return made
    }

    /// The attachment that was made of a content, and its number; `nil` for none.
    func attachment(of content: UInt16) -> (number: HeldNumber, attachment: HeldAttachment)? {
        for held in held {
            if case .attachment(let made) = held.kind, made.content == content { return (held.number, made) }
        }
        return nil
    }

    /// The attachments of the commit that was sent: of which record each is, under which number it is held, if it is, and
    /// its blob.
    var sentAttachments: [(record: Name, number: HeldNumber?, blob: Blob)] {
        guard let sent, case .commit(let commit)? = try? sent.entry.body else { return [] }
        let attached = sent.items.filter(\.content.isAttachment)
        return zip(attached, commit.blobs.dropFirst()).map { item, blob in
            (item.record, item.heldContent.flatMap { attachment(of: $0)?.number }, blob)
        }
    }

    /// The attachments of the commit that was sent of which no row is left: the home had lost a piece.
    var lostAttachments: [Blob] {
        let held = Set(attachments.map(\.attachment.blob))
        return sentAttachments.map(\.blob).filter { !held.contains($0) }
    }

    /// The contents that changes name.
    private var contents: Set<UInt16> {
        Set((pending.joined() + (sent?.items ?? [])).compactMap(\.heldContent))
    }
}

extension Item {
    /// The number of the content, for a change in an outbox whose content is held in pieces.
    var heldContent: UInt16? { if case .attachment(let number, _) = content { number } else { nil } }
}

extension [Item] {
    /// The items of a pack that is made of these changes: the commit names their attachments in their order.
    var packed: [Item] {
        var place: UInt16 = 0
        return map { item in
            guard case .attachment(_, let type) = item.content else { return item }
            place += 1
            return Item(
                record: item.record, replaces: item.replaces, time: item.time,
                content: .attachment(blob: place, type: type))
        }
    }
}
