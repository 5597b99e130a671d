// SPDX-License-Identifier: Apache-2.0

import Csodium
import TresorCrypto

/// One ciphertext of two blocks, and a tag that Poly1305 accepts under two keys. With x and y the blocks, each with its
/// bit 2^128, L the block of lengths and T − s the wanted sums: x·r³ + y·r² + L·r = T − s under either key.
enum Collision {
    private static let nonce = Sealing.nonce(0, isLast: true)

    static func chunk(_ first: Bytes, _ second: Bytes) throws -> Bytes {
        let keys = [first, second].map { oneTimeKey($0) }
        let lengths = Field1305([0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0]) + .blockBit
        for attempt in UInt64(0)..<2000 {
            let tag: Bytes =
                bigEndianBytes(attempt &* 0x9e37_79b9_7f4a_7c15) + bigEndianBytes(attempt &* 0xd134_2543_de82_ef95)
            let sums = keys.map { key in
                let inverse = key.r.inverse
                return (Field1305(subtract(tag, key.s)) - lengths * key.r) * inverse * inverse
            }
            let x = (sums[0] - sums[1]) * (keys[0].r - keys[1].r).inverse
            let y = sums[0] - x * keys[0].r
            if let left = (x - .blockBit).block, let right = (y - .blockBit).block { return left + right + tag }
        }
        throw TresorError.failed(.other)
    }

    /// Opens a chunk without checking a commitment.
    static func open(_ chunk: Bytes, _ key: Bytes) -> Bytes {
        var plaintext = zeros(chunk.count - 16)
        precondition(
            crypto_aead_chacha20poly1305_ietf_decrypt(
                &plaintext, nil, nil, chunk, UInt64(chunk.count), nil, 0, nonce, key) == 0)
        return plaintext
    }

    private static func oneTimeKey(_ key: Bytes) -> (r: Field1305, s: Bytes) {
        var block = zeros(32)
        crypto_stream_chacha20_ietf(&block, 32, nonce, key)
        for index in [3, 7, 11, 15] { block[index] &= 15 }
        for index in [4, 8, 12] { block[index] &= 252 }
        return (Field1305(block[..<16]), Bytes(block[16...]))
    }

    /// `left − right` modulo 2^128, least significant byte first.
    private static func subtract(_ left: Bytes, _ right: Bytes) -> Bytes {
        var borrow = 0
        return zip(left, right).map { left, right in
            let difference = Int(left) - Int(right) - borrow
            borrow = difference < 0 ? 1 : 0
            return UInt8(truncatingIfNeeded: difference)
        }
    }
}
