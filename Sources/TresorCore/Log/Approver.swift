// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// A person who approves waiting people, introduced by their whole card chain (SPEC §9.2).
///
/// Its type is not that of other people, so that a release without approval says `unsupported` and does not pass over it.
package struct Approver: Hashable, Sendable {
    /// The maximum number of approvers of a tresor: 16.
    package static let maximumCount = 16

    package let chain: CardChain

    package init(_ chain: CardChain) { self.chain = chain }

    /// - Throws: ``TresorError/unsupported`` for another principal type; ``TresorError/altered``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.principal(.approver)
        chain = try CardChain(try decoder.vector32(1...CardChain.maximumByteCount))
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.principal(.approver)
        encoder.vector32(chain.bytes)
    }
}
