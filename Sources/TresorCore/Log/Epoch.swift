// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The statement of an epoch in the log (SPEC §9.5): its number, commitments to its two keys, and the sealed keys of
/// earlier epochs.
package struct Epoch: Hashable, Sendable {
    /// The maximum number of epochs in a back-link: 4096.
    package static let maximumLinkCount = 4096

    /// The number, from 1 upwards without gaps.
    package let number: UInt64
    /// `H("tresor/v1/commit-tk", tresor id ‖ TK)`.
    let contentCommitment: Hash256
    /// `H("tresor/v1/commit-hk", tresor id ‖ HK)`.
    let historyCommitment: Hash256
    /// Links sealed under HK, possibly none; zero bytes only in epoch 1.
    package let backLink: [UInt8]

    package init(number: UInt64, contentCommitment: Hash256, historyCommitment: Hash256, backLink: [UInt8]) {
        self.number = number
        self.contentCommitment = contentCommitment
        self.historyCommitment = historyCommitment
        self.backLink = backLink
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        number = try decoder.integer()
        contentCommitment = try decoder.digest()
        historyCommitment = try decoder.digest()
        backLink = try decoder.vector32(0...TC1.sealedByteCount(Self.maximumLinkCount * Link.byteCount))
        if !backLink.isEmpty {
            guard let opened = TC1.openedByteCount(backLink.count), opened.isMultiple(of: Link.byteCount) else {
                throw .altered
            }
        }
    }

    package func encode(into encoder: inout ByteEncoder) {
        encoder.integer(number)
        encoder.digest(contentCommitment)
        encoder.digest(historyCommitment)
        encoder.vector32(backLink)
    }
}

/// One link of a back-link: the number of an earlier epoch and its two keys (SPEC §9.5).
enum Link {
    static let byteCount = 8 + 2 * 32
}
