// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Makes the attachments of a commit that is sent next, and puts them into the store (SPEC §19.7 steps 5 and 6).
struct AttachmentSealing: Sendable {
    let outbox: OutboxFile

    private var session: Session { outbox.session }

    /// Seals the contents of the next commit that have no attachment which fits a state.
    ///
    /// - Parameters:
    ///   - last: the outbox, as it was read last.
    ///   - most: the most sets of the commit, as for ``Outbox/next(smallest:again:)``; so is `isAgain`.
    ///   - keys: those of the state's current epoch.
    ///   - failing: becomes the record whose content the home has lost or altered.
    /// - Throws: the errors of the home; ``TresorError/usage(_:)`` once the session is locked; ``TresorError/cancelled``.
    ///   What was sealed by then stays.
    func seal(
        _ last: Outbox, smallest most: Int? = nil, again isAgain: Bool = false, in state: LogState,
        with keys: EpochKeys, failing: inout Name?
    ) async throws(TresorError) {
        // Most commits have none.
        guard !last.held.isEmpty else { return }
        try await giveUpUnfit(for: state)
        let box = try await outbox.present()
        guard box.sent == nil else { return }
        for item in box.next(smallest: most, again: isAgain) {
            guard case .attachment(let place, let type) = item.content, let content = box.content(place),
                box.attachment(of: place, in: state, by: session.identity) == nil
            else { continue }
            let number = try await outbox.reserve(isContent: false)
            do throws(TresorError) {
                let source = HeldSource(outbox, content)
                var watched = WatchedSource(source, for: session.identity, nil)
                var sink = try HeldSink(outbox, number)
                let stream = try await FileSealer.sealFile(
                    &watched, to: &sink, type: type, record: item.record, keys: keys, state: state,
                    author: session.identity, time: session.client.clock())
                let made = HeldAttachment(
                    content: place, generation: session.identity.generation, blob: try await sink.finish(),
                    header: stream.header)
                let author = session.identity
                try await outbox.change { (outbox) throws(TresorError) in
                    outbox.finish(made, of: content, as: number, in: state, by: author)
                }
            } catch {
                await outbox.release([number])
                // Another change may have taken the place of this one.
                guard try await outbox.present().content(place) != content else {
                    if Self.isOfPieces(error) { failing = item.record }
                    throw error
                }
            }
        }
    }

    /// Gives up the attachments that no commit behind a state may name: they may hold the numbers that others need. The
    /// store is asked first, so that after an interruption their rows still name them.
    private func giveUpUnfit(for state: LogState) async throws(TresorError) {
        let (session, tresor) = (session, outbox.tresor)
        // A program that has seen more of the log made its attachments for that.
        let unfit = { @Sendable (outbox: Outbox) throws(TresorError) -> [HeldNumber] in
            guard outbox.sent == nil, try session.client.archive.pinnedHead(of: tresor) == state.head else { return [] }
            return outbox.unfit(for: state, by: session.identity)
        }
        let (numbers, givenUp) = try await outbox.change { (outbox) throws(TresorError) in
            let numbers = try unfit(outbox)
            return (numbers, outbox.attachments(among: numbers))
        }
        guard !numbers.isEmpty, await outbox.forgetParts(of: givenUp) else { return }
        try await outbox.change { (outbox) throws(TresorError) in
            outbox.release(try unfit(outbox).filter { numbers.contains($0) })
        }
        await outbox.clean()
    }

    /// Puts the attachments of the commit that was sent, as far as the store lacks them.
    ///
    /// One of which the home has lost or altered a piece is given up: once the place of the commit is taken, another one
    /// is made of its content.
    ///
    /// - Parameters:
    ///   - isAgain: whether to put all of them, because the store took no entry that names them.
    ///   - failing: becomes the record of one that the home has lost or altered.
    /// - Throws: ``TresorError/failed(_:)`` where the home has lost or altered one that the store does not have; the errors
    ///   of the home and of the store. What was put by then stays.
    func put(of sent: Outbox.Sent, again isAgain: Bool, failing: inout Name?) async throws(TresorError) {
        guard sent.items.contains(where: { $0.heldContent != nil }) else { return }
        let box = try await outbox.present()
        guard box.sent == sent else { return }
        let blobs = BlobReader(session.client.store, outbox.tresor)
        for (record, number, blob) in box.sentAttachments {
            guard let number else {
                if try await blobs.has(blob) { continue }
                failing = record
                throw .failed(.inputOutput)
            }
            var parts = HeldParts(outbox, number)
            do throws(TresorError) {
                try await blobs.put(blob, again: isAgain) { (part) async throws(TresorError) in
                    try await parts.part(part)
                }
            } catch {
                guard Self.isOfPieces(error), try await !outbox.isWhole(blob, at: number) else { throw error }
                let isLost = try await outbox.change { (outbox) throws(TresorError) in
                    // Another program may have found it in the log, and the pieces are gone for that.
                    guard outbox.sent == sent else { return false }
                    outbox.release([number])
                    return true
                }
                guard isLost else { return }
                if try await blobs.has(blob) { continue }
                failing = record
                throw error
            }
        }
    }

    /// Whether an error may be that of a piece that the home has lost or altered.
    private static func isOfPieces(_ error: TresorError) -> Bool {
        error == .altered || error == .failed(.inputOutput)
    }
}
