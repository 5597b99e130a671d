// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The attachment of a version: a sealed file that the commit of the version names beside its pack (SPEC §19.1).
package struct Attachment: Hashable, Sendable {
    private let object: NamedObject

    /// The epoch whose key seals it.
    package var epoch: UInt64 { object.epoch }
    /// The hash and the size of the sealed file.
    package var blob: Blob { object.blob }

    /// Takes what an item and the entry of its commit say. `nil` for an item whose content is no attachment, and for an
    /// entry that does not name it.
    package init?(of item: Item, in entry: Entry) {
        guard case .attachment(let place, let type) = item.content, case .commit(let commit)? = try? entry.body,
            place >= 1, commit.blobs.indices.contains(Int(place))
        else { return nil }
        object = NamedObject(
            entry: entry, blob: commit.blobs[Int(place)], epoch: commit.epoch, type: type, record: item.record)
    }

    /// The most bytes that the content can have: padding hides up to 6.25 percent (SPEC §10.3).
    package var mostByteCount: Int {
        Self.mostByteCount(ofSize: blob.size, type: object.type, record: object.record)
    }

    /// The most bytes of a content whose sealed file has this size; 0 for a size that no file has.
    package static func mostByteCount(ofSize size: UInt64, type: Name, record: Name) -> Int {
        let payload = TC1.openedByteCount(Int(clamping: size) - FileHeader.byteCount) ?? 0
        let others = FileFields.leastByteCount + type.bytes.count + record.bytes.count + FileTail.byteCount
        return max(0, payload - others)
    }

    /// Opens what the store has as the attachment (SPEC §19.2, steps 2 and 3), in one pass.
    ///
    /// Whether these are the bytes that the entry names, the caller finds out, and releases nothing before.
    ///
    /// - Parameters:
    ///   - source: as many bytes as ``blob`` says.
    ///   - keys: those of ``epoch``, checked against the log.
    ///   - sink: hides the content until this returns, and discards it if this throws.
    /// - Returns: the number of bytes of the content.
    /// - Throws: ``TresorError/altered`` for a file that is not what the entry calls for; ``TresorError/unsupported`` for
    ///   one of a later release; the errors of the source and of the sink.
    package func openAttachment(
        _ source: some SealedSource, with keys: EpochKeys, in state: LogState, to sink: inout some ByteSink
    ) async throws(TresorError) -> Int {
        do throws(TresorError) {
            return try await object.open(source, with: keys, in: state, to: &sink)
        } catch {
            switch error {
            case .noAccess, .forked: throw .altered
            default: throw error
            }
        }
    }
}
