// SPDX-License-Identifier: Apache-2.0

import Clibsodium

extension TC1 {
    /// Consecutive chunks of a message (SPEC §6.2).
    struct Chunks {
        /// The index of the first chunk.
        let first: Int
        /// The size of their plaintext in bytes.
        let byteCount: Int
        /// Whether the message ends with these chunks. Only the last chunk of a message may be short.
        let endsMessage: Bool

        var count: Int { max(1, (byteCount + chunkByteCount - 1) / chunkByteCount) }
        var sealedByteCount: Int { byteCount + count * tagByteCount }

        private func plainCount(_ index: Int) -> Int { min(chunkByteCount, byteCount - index * chunkByteCount) }

        private func nonce(_ index: Int) -> InlineArray<12, UInt8> {
            TC1.nonce(chunk: first + index, isLast: endsMessage && index == count - 1)
        }

        /// Encrypts ``byteCount`` bytes into ``sealedByteCount`` bytes.
        @unsafe func encrypt(
            _ source: UnsafePointer<UInt8>?, into output: UnsafeMutablePointer<UInt8>, under key: UnsafePointer<UInt8>
        ) -> Bool {
            for index in 0..<count {
                let plain = unsafe source.map { unsafe $0 + index * chunkByteCount }
                let target = unsafe output + index * (chunkByteCount + tagByteCount)
                let nonce = nonce(index)
                let status = unsafe nonce.span.withUnsafeBufferPointer { nonce -> Int32 in
                    guard let nonce = nonce.baseAddress else { return -1 }
                    return unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
                        target, nil, plain, UInt64(plainCount(index)), nil, 0, nil, nonce, key)
                }
                guard status == 0 else { return false }
            }
            return true
        }

        /// Decrypts ``sealedByteCount`` bytes into ``byteCount`` bytes. Stops at the first invalid tag.
        @unsafe func decrypt(
            _ source: UnsafePointer<UInt8>, into output: UnsafeMutablePointer<UInt8>?, under key: UnsafePointer<UInt8>
        ) -> Bool {
            for index in 0..<count {
                let target = unsafe output.map { unsafe $0 + index * chunkByteCount }
                let sealed = unsafe source + index * (chunkByteCount + tagByteCount)
                let nonce = nonce(index)
                let status = unsafe nonce.span.withUnsafeBufferPointer { nonce -> Int32 in
                    guard let nonce = nonce.baseAddress else { return -1 }
                    return unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
                        target, nil, nil, sealed, UInt64(plainCount(index) + tagByteCount), nil, 0, nonce, key)
                }
                guard status == 0 else { return false }
            }
            return true
        }
    }

    /// `u88(i) ‖ last(1)`.
    static func nonce(chunk index: Int, isLast: Bool) -> InlineArray<12, UInt8> {
        var nonce = InlineArray<12, UInt8>(repeating: 0)
        for byte in 0..<8 { nonce[3 + byte] = UInt8(truncatingIfNeeded: index >> (56 - 8 * byte)) }
        nonce[11] = isLast ? 1 : 0
        return nonce
    }
}
