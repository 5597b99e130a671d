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
    /// - Parameter keys: those of the state's current epoch.
    /// - Throws: the errors of the home; ``TresorError/usage(_:)`` once the session is locked; ``TresorError/cancelled``.
    ///   What was sealed by then stays.
    func seal(in state: LogState, with keys: EpochKeys) async throws(TresorError) {
        let box = try await outbox.present()
        guard box.sent == nil else { return }
        for item in box.next() {
            guard case .attachment(let content, let type) = item.content, let byteCount = box.byteCount(of: content),
                box.attachment(of: content, in: state, by: session.identity) == nil
            else { continue }
            let number = try await outbox.reserve(isContent: false)
            do throws(TresorError) {
                let source = HeldSource(outbox, content, byteCount: byteCount)
                var watched = WatchedSource(source, for: session.identity, nil)
                var sink = try HeldSink(outbox, number)
                let stream = try await FileSealer.sealFile(
                    &watched, to: &sink, type: type, record: item.record, keys: keys, state: state,
                    author: session.identity, time: session.client.clock())
                let made = HeldAttachment(
                    content: content, generation: session.identity.generation, blob: try await sink.finish(),
                    header: stream.header)
                let author = session.identity
                try await outbox.change { (outbox) throws(TresorError) in
                    outbox.finish(made, as: number, in: state, by: author)
                }
            } catch {
                await outbox.release([number])
                // Another change may have taken the place of this one.
                guard try await outbox.present().byteCount(of: content) == nil else { throw error }
            }
        }
    }

    /// Puts the attachments of the commit that was sent, as far as the store lacks them.
    ///
    /// - Parameter isAgain: whether to put all of them, because the store took no entry that names them.
    /// - Throws: ``TresorError/failed(_:)`` where the home has lost one; the errors of the home and of the store. What
    ///   was put by then stays.
    func put(of sent: Outbox.Sent, again isAgain: Bool) async throws(TresorError) {
        let box = try await outbox.present()
        guard box.sent == sent else { return }
        let blobs = BlobReader(session.client.store, outbox.tresor)
        for (number, blob) in box.sentAttachments {
            guard let number else { throw .failed(.inputOutput) }
            var parts = HeldParts(outbox, number)
            try await blobs.put(blob, again: isAgain) { (part) async throws(TresorError) in try await parts.part(part) }
        }
    }
}
