// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// What an outbox holds in pieces (SPEC §8.5). A content is needed as long as a change names it, and an attachment as long
/// as its content is.
extension Outbox {
    /// Whether each number is held once, each change names a content of its own, and so does each attachment.
    var areHeldInOrder: Bool {
        let named = (pending.joined() + (sent?.items ?? [])).compactMap(\.heldContent)
        var (made, whole): ([UInt16], Set<UInt16>) = ([], [])
        for held in held {
            switch held.kind {
            case .unfinished: break
            case .content: whole.insert(held.number)
            case .attachment(let attachment): made.append(attachment.content)
            }
        }
        return zip(held, held.dropFirst()).allSatisfy { $0.number < $1.number }
            && [named, made].allSatisfy { Set($0).count == $0.count && whole.isSuperset(of: $0) }
    }

    /// The size of a content; `nil` for a number under which no whole content is held.
    func byteCount(of number: UInt16) -> UInt64? { if case .content(let count)? = self[number] { count } else { nil } }

    /// What no change needs at a time, and nobody may be writing: its pieces are to be deleted.
    func unneeded(at time: UInt64) -> [UInt16] {
        let named = contents
        return held.filter { held in
            switch held.kind {
            case .unfinished: !held.isBeingWritten(at: time)
            case .content: !named.contains(held.number)
            case .attachment(let attachment): !named.contains(attachment.content)
            }
        }.map(\.number)
    }

    /// Takes a number for what will be written next.
    ///
    /// - Parameter isContent: whether it is a content, of which there is a limit.
    /// - Throws: ``TresorError/usage(_:)`` with `contentTooLong` for one content too many; ``TresorError/busy`` while
    ///   others write as many as there may be.
    mutating func reserve(isContent: Bool, at time: UInt64) throws(TresorError) -> UInt16 {
        let contentCount = held.count { if case .content = $0.kind { true } else { false } }
        guard !isContent || contentCount < Held.maximumContentCount else { throw .usage(.contentTooLong) }
        var number = Held.numbers.lowerBound
        for held in held where held.number == number { number += 1 }
        guard Held.numbers.contains(number) else { throw .busy }
        self[number] = .unfinished(until: time + Held.patience)
        return number
    }

    /// Whether a program that has taken a number may still write under it.
    func isReserved(_ number: UInt16) -> Bool {
        guard case .unfinished(let until)? = self[number] else { return false }
        return until > 0
    }

    /// Says that what a program has taken is still being written, if it said so long ago.
    mutating func renew(_ numbers: [UInt16], at time: UInt64) {
        let isRecent = (time + Held.patience / 2)...(time + Held.patience)
        for number in numbers {
            guard case .unfinished(let until)? = self[number], until > 0, !isRecent.contains(until) else { continue }
            self[number] = .unfinished(until: isRecent.upperBound)
        }
    }

    /// A content is whole. The change that names it comes in the same writing.
    ///
    /// - Throws: ``TresorError/busy`` where another program took it away.
    mutating func finish(_ content: HeldContent) throws(TresorError) {
        guard isReserved(content.number) else { throw .busy }
        self[content.number] = .content(byteCount: content.byteCount)
    }

    /// An attachment is whole. It takes the place of an earlier one of its content, unless its content is not pending any
    /// more, or has one that fits by now.
    mutating func finish(_ attachment: HeldAttachment, as number: UInt16, in state: LogState, by author: Identity) {
        guard isReserved(number) else { return }
        let isPending = pending.joined().contains { $0.heldContent == attachment.content }
        guard isPending, self.attachment(of: attachment.content, in: state, by: author) == nil else {
            return release([number])
        }
        if let former = self.attachment(of: attachment.content) { release([former.number]) }
        self[number] = .attachment(attachment)
    }

    /// Nobody needs these any more, and no program writes them further. What a change names stays.
    mutating func release(_ numbers: [UInt16]) {
        let named = contents
        for number in numbers where self[number] != nil && !named.contains(number) {
            if let made = attachment(of: number) { self[made.number] = .unfinished(until: 0) }
            self[number] = .unfinished(until: 0)
        }
    }

    /// Nothing of it is left.
    mutating func forget(_ number: UInt16) {
        release([number])
        self[number] = nil
    }

    /// The numbers of the attachments.
    var attachments: [UInt16] {
        held.compactMap { held in if case .attachment = held.kind { held.number } else { nil } }
    }

    /// The attachment that a commit behind a state may name for a content; `nil` for none.
    func attachment(of content: UInt16, in state: LogState, by author: Identity) -> HeldAttachment? {
        guard let made = attachment(of: content)?.attachment, made.fits(state, by: author) else { return nil }
        return made
    }

    /// The attachment that was made of a content, and its number; `nil` for none.
    func attachment(of content: UInt16) -> (number: UInt16, attachment: HeldAttachment)? {
        for held in held {
            if case .attachment(let made) = held.kind, made.content == content { return (held.number, made) }
        }
        return nil
    }

    /// The attachments of the commit that was sent: under which number each is held, and its blob.
    var sentAttachments: [(number: UInt16?, blob: Blob)] {
        guard let sent, case .commit(let commit)? = try? sent.entry.body else { return [] }
        return zip(sent.items.compactMap(\.heldContent), commit.blobs.dropFirst()).map { content, blob in
            (attachment(of: content)?.number, blob)
        }
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
