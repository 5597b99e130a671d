// SPDX-License-Identifier: Apache-2.0

import Clibsodium

@testable import TresorCrypto

/// One ciphertext of bare ChaCha20-Poly1305 that two keys open, made for TC1's only chunk.
enum Collision {
    private static let nonce: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]

    /// `okm` of SPEC §6, computed here from the hash alone.
    static func messageKey<Use: SealingUse>(
        _ key: borrowing SecretKey<Use>, label: String, salt: [UInt8], context: [UInt8]
    ) throws -> (key: [UInt8], commitment: [UInt8]) {
        var hash = try BLAKE2b(outputCount: 64, key: key.span)
        let input =
            lengthPrefixed(Array("tresor/v1/seal".utf8)) + lengthPrefixed(Array(label.utf8)) + salt
            + lengthPrefixed(context)
        try hash.update(input.span)
        let okm = try hash.finalize()
        return (Array(okm[..<32]), Array(okm[32...]))
    }

    /// Two ciphertext blocks and a tag that Poly1305 accepts under both keys. With x and y the blocks, each with its
    /// bit 2^128, L the block of lengths, and T − s the wanted sums: x·r³ + y·r² + L·r = T − s under either key.
    static func chunk(_ first: [UInt8], _ second: [UInt8]) -> [UInt8]? {
        let keys = [first, second].map { oneTimeKey($0) }
        let lengths = Field1305([0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0]) + .blockBit
        for attempt in UInt64(0)..<2000 {
            let tag = little(attempt &* 0x9e37_79b9_7f4a_7c15) + little(attempt &* 0xd134_2543_de82_ef95)
            let sums = keys.map { key in
                let inverse = key.r.inverse
                return (Field1305(subtract(tag, key.s)) - lengths * key.r) * inverse * inverse
            }
            let x = (sums[0] - sums[1]) * (keys[0].r - keys[1].r).inverse
            let y = sums[0] - x * keys[0].r
            if let left = (x - .blockBit).block, let right = (y - .blockBit).block { return left + right + tag }
        }
        return nil
    }

    /// The plaintext of a chunk by the bare cipher; `nil` for an invalid tag.
    static func open(_ chunk: [UInt8], key: [UInt8]) -> [UInt8]? {
        var plaintext = [UInt8](repeating: 0, count: chunk.count - 16)
        let status = crypto_aead_chacha20poly1305_ietf_decrypt(
            &plaintext, nil, nil, chunk, UInt64(chunk.count), nil, 0, nonce, key)
        return status == 0 ? plaintext : nil
    }

    private static func oneTimeKey(_ key: [UInt8]) -> (r: Field1305, s: [UInt8]) {
        var block = [UInt8](repeating: 0, count: 32)
        crypto_stream_chacha20_ietf(&block, 32, nonce, key)
        for index in [3, 7, 11, 15] { block[index] &= 15 }
        for index in [4, 8, 12] { block[index] &= 252 }
        return (Field1305(block[..<16]), Array(block[16...]))
    }

    private static func little(_ value: UInt64) -> [UInt8] {
        bigEndianBytes(value).reversed()
    }

    /// `left − right` modulo 2^128.
    private static func subtract(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var borrow = 0
        return zip(left, right).map { left, right in
            let difference = Int(left) - Int(right) - borrow
            borrow = difference < 0 ? 1 : 0
            return UInt8(truncatingIfNeeded: difference)
        }
    }
}
