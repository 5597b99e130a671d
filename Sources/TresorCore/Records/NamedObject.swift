// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// A pack or a volume that an entry names. It has the form of a sealed file, and its author is the entry's.
struct NamedObject {
    let entry: Entry
    let blob: Blob
    /// The epoch that the body of the entry names.
    let epoch: UInt64
    let type: Name

    /// Checks that these are the bytes that the entry names.
    ///
    /// - Throws: ``TresorError/store(_:)`` for no bytes; ``TresorError/altered`` for others.
    func named(_ bytes: [UInt8]?) throws(TresorError) -> [UInt8] {
        guard let bytes else { throw .store(.withheld) }
        guard try Blob(of: bytes) == blob else { throw .altered }
        return bytes
    }

    /// Opens the bytes that the entry names (SPEC §19.2 steps 4 to 6).
    ///
    /// - Throws: the errors of ``FileOpener``; ``TresorError/altered`` for an object that is not what the entry calls
    ///   for.
    func open<Use: SealingUse>(
        _ bytes: [UInt8], with key: borrowing SecretKey<Use>, label: DomainLabel, in state: LogState
    ) throws(TresorError) -> (content: [UInt8], head: UInt64) {
        let file = try SealedFile(binary: bytes)
        let header = file.header
        guard header.tresor == entry.tresor, header.epoch == epoch, header.head.sequence < entry.sequence else {
            throw .altered
        }
        let opened = try FileOpener.openFile(file, with: key, label: label, in: state)
        guard opened.type == type, opened.record.isEmpty, opened.origin == nil,
            opened.sealer.user == entry.author, opened.sealer.generation == entry.generation
        else { throw .altered }
        return (opened.content, header.head.sequence)
    }
}
