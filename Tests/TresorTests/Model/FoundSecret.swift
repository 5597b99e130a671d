// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
@testable import Tresor
@testable import TresorCore

/// 32 bytes that came out of a wrap or a back-link. They are tried as every key of every epoch, whatever they were said
/// to be.
struct FoundSecret {
    let bytes: [UInt8]
    /// The commitments they fulfil.
    private(set) var fulfilled: Set<Hash256> = []
    /// The content of the back-links that they open.
    private(set) var linked: Set<[UInt8]> = []
    private var triedStatementCount = 0
    private var triedFileCount = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Tries what was not tried before.
    ///
    /// - Parameter files: each with the statement of its epoch.
    mutating func `try`(
        on statements: [Epoch], _ files: [(file: SealedFile, statement: Epoch)], of tresor: TresorID
    ) throws {
        for statement in statements[triedStatementCount...] { try `try`(on: statement, of: tresor) }
        for (file, statement) in files[triedFileCount...] where try opens(file) {
            fulfilled.insert(statement.contentCommitment)
        }
        triedStatementCount = statements.count
        triedFileCount = files.count
    }

    private mutating func `try`(on statement: Epoch, of tresor: TresorID) throws {
        let prefix = tresor.digest.bytes
        let context = prefix + bigEndianBytes(statement.number)
        let content = try SecretKey<ContentUse>(SecretBytes(copying: bytes.span))
        let history = try SecretKey<HistoryUse>(SecretBytes(copying: bytes.span))
        for commitment in [
            try content.commitment(.commitTK, prefix: prefix), try history.commitment(.commitHK, prefix: prefix),
        ] where [statement.contentCommitment, statement.historyCommitment].contains(commitment) {
            fulfilled.insert(commitment)
        }
        guard !statement.backLink.isEmpty,
            let link = try? TC1.openSecret(
                statement.backLink.span, with: history, label: .backlinkSeal, context: context.span)
        else { return }
        fulfilled.insert(statement.historyCommitment)
        let plain = link.span.publicBytes
        for start in stride(from: 0, to: plain.count, by: Link.byteCount) {
            linked.insert(Array(plain[(start + 8)..<(start + 40)]))
            linked.insert(Array(plain[(start + 40)..<(start + 72)]))
        }
    }

    private func opens(_ file: SealedFile) throws -> Bool {
        let key = try SecretKey<ContentUse>(SecretBytes(copying: bytes.span))
        let context = file.header.bytes
        let sealed = Array(file.bytes.dropFirst(FileHeader.byteCount))
        return (try? TC1.open(sealed.span, with: key, label: .fileSeal, context: context.span)) != nil
    }
}

extension UnverifiedWrap {
    /// The secrets in it, for anybody who can open it with any key they ever had; none for others.
    func secrets(for thief: Identity, card: Card) throws -> [[UInt8]] {
        let place = tresor.digest.bytes + bigEndianBytes(epoch)
        let info = DomainLabel.epochWrap.message(place + user.digest.bytes + card.hash.bytes)
        for generation in 0...thief.generation {
            guard let opened = try? thief.unwrap(wrapped, generation: generation, info: info) else { continue }
            let plain = opened.span.publicBytes
            return stride(from: 0, to: plain.count, by: 32).map { Array(plain[$0..<($0 + 32)]) }
        }
        return []
    }
}
