// SPDX-License-Identifier: Apache-2.0

import Clibsodium
import Testing

@testable import TresorCrypto

/// The attack that TC1's commitment answers, done for real: one ciphertext that two keys open.
@Suite struct TC1CommitmentTests {
    private let salt = [UInt8](0x40..<0x58)
    private let context: [UInt8] = [1, 2, 3]
    private let nonce: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]

    @Test func A2_oneCiphertextForTwoKeys() throws {
        let firstKey: SecretKey<TestUse> = try key([UInt8](repeating: 1, count: 32))
        let secondKey: SecretKey<TestUse> = try key([UInt8](repeating: 2, count: 32))
        let first = try messageKey(firstKey)
        let second = try messageKey(secondKey)
        let chunk = try #require(collision(first.key, second.key))
        let underFirst = try #require(bareOpen(chunk, key: first.key))
        let underSecond = try #require(bareOpen(chunk, key: second.key))
        #expect(underFirst != underSecond)

        for (commitment, opens) in [(first.commitment, [true, false]), (second.commitment, [false, true])] {
            let sealed = salt + commitment + chunk
            let errors = [
                openingError(sealed, with: firstKey, context: context),
                openingError(sealed, with: secondKey, context: context),
            ]
            #expect(errors == opens.map { $0 ? nil : .altered })
        }
        let sealed = salt + first.commitment + chunk
        let opened = try TC1.open(sealed.span, with: firstKey, label: .fileSeal, context: context.span)
        #expect(opened == underFirst)
        #if TRESOR_TESTING
            // Without the comparison one file would be two, each to one of the keys.
            try Experiment.$current.withValue(Experiment(leavingOut: [.keyCommitment])) {
                let other = try TC1.open(sealed.span, with: secondKey, label: .fileSeal, context: context.span)
                #expect(other == underSecond)
            }
        #endif
    }

    /// The same between two contexts of one key: without the commitment, one object would have two meanings.
    @Test func A2_oneCiphertextForTwoContexts() throws {
        let key: SecretKey<TestUse> = try key([UInt8](repeating: 3, count: 32))
        let first = try messageKey(key, context: context)
        let second = try messageKey(key, context: [9])
        let chunk = try #require(collision(first.key, second.key))
        #expect(bareOpen(chunk, key: first.key) != nil)
        #expect(bareOpen(chunk, key: second.key) != nil)
        let sealed = salt + first.commitment + chunk
        let errors = [
            openingError(sealed, with: key, context: context), openingError(sealed, with: key, context: [9]),
        ]
        #expect(errors == [nil, .altered])
    }

    /// `okm` of SPEC §6, computed here from the hash alone.
    private func messageKey(
        _ key: borrowing SecretKey<TestUse>, context: [UInt8] = [1, 2, 3]
    ) throws -> (key: [UInt8], commitment: [UInt8]) {
        var hash = try BLAKE2b(outputCount: 64, key: key.span)
        let input =
            lengthPrefixed(Array("tresor/v1/seal".utf8)) + lengthPrefixed(Array("tresor/v1/file-seal".utf8)) + salt
            + lengthPrefixed(context)
        try hash.update(input.span)
        let okm = try hash.finalize()
        return (Array(okm[..<32]), Array(okm[32...]))
    }

    /// Two ciphertext blocks and a tag that Poly1305 accepts under both keys. With x and y the blocks, each with its bit 2^128,
    /// L the block of lengths, and T − s the wanted sums: x·r³ + y·r² + L·r = T − s under either key.
    private func collision(_ first: [UInt8], _ second: [UInt8]) -> [UInt8]? {
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

    private func oneTimeKey(_ key: [UInt8]) -> (r: Field1305, s: [UInt8]) {
        var block = [UInt8](repeating: 0, count: 32)
        crypto_stream_chacha20_ietf(&block, 32, nonce, key)
        for index in [3, 7, 11, 15] { block[index] &= 15 }
        for index in [4, 8, 12] { block[index] &= 252 }
        return (Field1305(block[..<16]), Array(block[16...]))
    }

    @Test func A3_theCommitmentIsTheSameHashHoweverLongTheContext() throws {
        let key: SecretKey<TestUse> = try key([UInt8](repeating: 1, count: 32))
        let plaintext: [UInt8] = [1, 2, 3]
        for count in Array(0...8) + Array(400...520) + [70_000] {
            let context = [UInt8](repeating: 0x5a, count: count)
            let sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span)
            let salt = Array(sealed[..<24])
            var hash = try BLAKE2b(outputCount: 64, key: key.span)
            try hash.updatePrefixed(.seal)
            try hash.updatePrefixed(.fileSeal)
            try hash.update(salt.span)
            try hash.updatePrefixed(context.span)
            #expect(try Array(sealed[24..<56]) == Array(hash.finalize()[32...]))
            #expect(try TC1.open(sealed.span, with: key, label: .fileSeal, context: context.span) == plaintext)
        }
    }

    private func bareOpen(_ chunk: [UInt8], key: [UInt8]) -> [UInt8]? {
        var plaintext = [UInt8](repeating: 0, count: chunk.count - 16)
        let status = crypto_aead_chacha20poly1305_ietf_decrypt(
            &plaintext, nil, nil, chunk, UInt64(chunk.count), nil, 0, nonce, key)
        return status == 0 ? plaintext : nil
    }

    private func little(_ value: UInt64) -> [UInt8] {
        bigEndianBytes(value).reversed()
    }

    /// `left − right` modulo 2^128.
    private func subtract(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var borrow = 0
        return zip(left, right).map { left, right in
            let difference = Int(left) - Int(right) - borrow
            borrow = difference < 0 ? 1 : 0
            return UInt8(truncatingIfNeeded: difference)
        }
    }
}
