// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

/// The attack that TC1's commitment answers, done for real: one ciphertext that two keys open.
@Suite struct TC1CommitmentTests {
    private let salt = [UInt8](0x40..<0x58)
    private let context: [UInt8] = [1, 2, 3]

    @Test func A2_oneCiphertextForTwoKeys() throws {
        let firstKey: SecretKey<TestUse> = try key([UInt8](repeating: 1, count: 32))
        let secondKey: SecretKey<TestUse> = try key([UInt8](repeating: 2, count: 32))
        let first = try messageKey(firstKey, context)
        let second = try messageKey(secondKey, context)
        let chunk = try #require(Collision.chunk(first.key, second.key))
        let underFirst = try #require(Collision.open(chunk, key: first.key))
        let underSecond = try #require(Collision.open(chunk, key: second.key))
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
        // Without the comparison one file would be two, each to one of the keys.
        try withoutKeyCommitment {
            let other = try TC1.open(sealed.span, with: secondKey, label: .fileSeal, context: context.span)
            #expect(other == underSecond)
        }
    }

    /// The same between two contexts of one key: without the commitment, one object would have two meanings.
    @Test func A2_oneCiphertextForTwoContexts() throws {
        let key: SecretKey<TestUse> = try key([UInt8](repeating: 3, count: 32))
        let first = try messageKey(key, context)
        let second = try messageKey(key, [9])
        let chunk = try #require(Collision.chunk(first.key, second.key))
        #expect(Collision.open(chunk, key: first.key) != nil)
        #expect(Collision.open(chunk, key: second.key) != nil)
        let sealed = salt + first.commitment + chunk
        let errors = [
            openingError(sealed, with: key, context: context), openingError(sealed, with: key, context: [9]),
        ]
        #expect(errors == [nil, .altered])
    }

    private func messageKey(
        _ key: borrowing SecretKey<TestUse>, _ context: [UInt8]
    ) throws -> (key: [UInt8], commitment: [UInt8]) {
        try Collision.messageKey(key, label: "tresor/v1/file-seal", salt: salt, context: context)
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
}
