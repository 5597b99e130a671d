// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// A pack, an attachment or a volume that an entry names. It has the form of a sealed file, and its author is the entry's.
struct NamedObject: Hashable, Sendable {
    let entry: Entry
    let blob: Blob
    /// The epoch that the body of the entry names.
    let epoch: UInt64
    let type: Name
    /// Empty for a pack and a volume.
    var record = Name.empty

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
        try check(file.header)
        let opened = try FileOpener.openFile(file, with: key, label: label, in: state)
        try check(opened.proof)
        return (opened.content, file.header.head.sequence)
    }

    /// Opens likewise what is too large for memory.
    ///
    /// - Parameter sink: hides the content until this returns, and discards it if this throws.
    /// - Returns: the number of bytes of the content.
    func open(
        _ source: some SealedSource, with keys: EpochKeys, in state: LogState, to sink: inout some ByteSink
    ) async throws(TresorError) -> Int {
        let file = try await StoredFile(source)
        try check(file.header)
        let proof = try await FileOpener.openFile(file, with: keys, in: state, to: &sink).proof
        try check(proof)
        return proof.contentByteCount
    }

    private func check(_ header: FileHeader) throws(TresorError) {
        guard header.tresor == entry.tresor, header.epoch == epoch, header.head.sequence < entry.sequence else {
            throw .altered
        }
    }

    private func check(_ proof: FileProof) throws(TresorError) {
        guard proof.type == type, proof.record == record, proof.origin == nil,
            proof.sealer.user == entry.author, proof.sealer.generation == entry.generation
        else { throw .altered }
    }
}
