// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The use of TK: sealing content and names.
package enum ContentUse: SealingUse {}
/// The use of HK: sealing the back-link.
package enum HistoryUse: SealingUse {}

/// The use of VK: sealing volumes.
package enum VolumeUse: SealingUse {}

/// The keys of one epoch as a member holds them (SPEC §9.5). Shared by reference; the last release wipes them.
package final class EpochKeys: Sendable {
    package let epoch: UInt64
    package let content: SecretKey<ContentUse>
    private let history: HistoryKey?

    private final class HistoryKey: Sendable {
        package let key: SecretKey<HistoryUse>

        package init(_ key: consuming SecretKey<HistoryUse>) { self.key = key }
    }

    /// Whether HK is present. *From now* members lack it, so they cannot read earlier epochs.
    package var opensHistory: Bool { history != nil }

    /// Draws new keys.
    package init(epoch: UInt64) throws(TresorError) {
        self.epoch = epoch
        content = try SecretKey()
        history = HistoryKey(try SecretKey())
    }

    /// Takes keys from a wrap or a back-link.
    ///
    /// - Throws: ``TresorError/altered`` unless the bytes are TK, or TK and HK.
    package init(epoch: UInt64, unwrapped: Span<UInt8>) throws(TresorError) {
        guard unwrapped.count == 32 || unwrapped.count == 64 else { throw .altered }
        self.epoch = epoch
        content = try SecretKey(SecretBytes(copying: unwrapped.extracting(first: 32)))
        history =
            unwrapped.count == 64
            ? HistoryKey(try SecretKey(SecretBytes(copying: unwrapped.extracting(last: 32)))) : nil
    }

    /// VK: `derive(HK, "tresor/v1/volume-key", tresor id ‖ u64 epoch)` (SPEC §19.5).
    ///
    /// - Throws: ``TresorError/noAccess`` without HK.
    package func volumeKey(of tresor: TresorID) throws(TresorError) -> SecretKey<VolumeUse> {
        try derived(.volumeKey, of: tresor)
    }

    /// `derive(HK, label, tresor id ‖ u64 epoch)`.
    ///
    /// - Throws: ``TresorError/noAccess`` without HK.
    func derived<Use: KeyUse>(_ label: DomainLabel, of tresor: TresorID) throws(TresorError) -> SecretKey<Use> {
        guard let history else { throw .noAccess }
        let context = tresor.digest.bytes + bigEndianBytes(epoch)
        return try history.key.derive(label, context: context.span)
    }

    /// TK, or TK ‖ HK if present, to wrap for any number of members.
    package func secret() throws(TresorError) -> SecretBytes {
        var secret = try SecretBytes(count: opensHistory ? 64 : 32)
        var output = secret.mutableSpan
        copy(into: &output, at: 0, withHistory: opensHistory)
        return secret
    }

    private func copy(into output: inout MutableSpan<UInt8>, at offset: Int, withHistory: Bool) {
        content.copy(into: &output, at: offset)
        if withHistory { history?.key.copy(into: &output, at: offset + 32) }
    }

    /// Checks that the log committed to these keys.
    ///
    /// - Throws: ``TresorError/altered`` otherwise.
    package func checkKeys(against epoch: Epoch, of tresor: TresorID) throws(TresorError) {
        guard try fulfil(epoch, of: tresor) else { throw .altered }
    }

    private func fulfil(_ epoch: Epoch, of tresor: TresorID) throws(TresorError) -> Bool {
        let prefix = tresor.digest.bytes
        guard epoch.number == self.epoch,
            try content.commitment(.commitTK, prefix: prefix) == epoch.contentCommitment
        else { return false }
        guard let history else { return true }
        return try history.key.commitment(.commitHK, prefix: prefix) == epoch.historyCommitment
    }

    /// Makes the statement of the epoch for the log.
    ///
    /// - Parameter earlier: the keys for the back-link, by falling epoch, at most ``Epoch/maximumLinkCount``, all with
    ///   their history keys.
    package func statement(of tresor: TresorID, linking earlier: [EpochKeys]) throws(TresorError) -> Epoch {
        guard let history else { throw .noAccess }
        let prefix = tresor.digest.bytes
        var backLink: [UInt8] = []
        if epoch > 1 {
            let links = try Self.links(earlier)
            let context = prefix + bigEndianBytes(epoch)
            backLink = try TC1.seal(links.span, with: history.key, label: .backlinkSeal, context: context.span)
        }
        return Epoch(
            number: epoch,
            contentCommitment: try content.commitment(.commitTK, prefix: prefix),
            historyCommitment: try history.key.commitment(.commitHK, prefix: prefix),
            backLink: backLink)
    }

    private static func links(_ earlier: [EpochKeys]) throws(TresorError) -> SecretBytes {
        try SecretBytes(count: earlier.count * Link.byteCount) { (output) throws(TresorError) in
            for (index, keys) in earlier.enumerated() {
                let start = index * Link.byteCount
                for (offset, byte) in bigEndianBytes(keys.epoch).enumerated() { output[start + offset] = byte }
                guard keys.opensHistory else { throw .noAccess }
                keys.copy(into: &output, at: start + 8, withHistory: true)
            }
        }
    }

    /// Opens the back-link of `statement`, the statement of this epoch. The keys are not yet checked.
    ///
    /// - Throws: ``TresorError/altered`` if it does not open or its epochs do not fall from this one.
    package func openBackLink(_ statement: Epoch, of tresor: TresorID) throws(TresorError) -> [EpochKeys] {
        guard let history else { throw .noAccess }
        let context = tresor.digest.bytes + bigEndianBytes(epoch)
        let links = try TC1.openSecret(
            statement.backLink.span, with: history.key, label: .backlinkSeal, context: context.span)
        let span = links.span
        guard span.count.isMultiple(of: Link.byteCount) else { throw .altered }
        var earlier: [EpochKeys] = []
        var above = epoch
        for start in stride(from: 0, to: span.count, by: Link.byteCount) {
            var number: UInt64 = 0
            for offset in 0..<8 { number = number << 8 | UInt64(span[start + offset]) }
            guard number < above, number > 0 else { throw .altered }
            above = number
            earlier.append(
                try EpochKeys(
                    epoch: number, unwrapped: span.extracting((start + 8)..<(start + Link.byteCount))))
        }
        return earlier
    }
}
