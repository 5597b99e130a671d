// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import TresorCrypto

@Suite struct XWingTests {
    private let info: [UInt8] = Array("tresor, epoch, member, card".utf8)

    private func unwrapError(
        _ wrapped: XWing.Wrapped, seed: borrowing SecretKey<KEMUse>, info: [UInt8]
    ) -> TresorError? {
        thrown { () throws(TresorError) in _ = try XWing.hpkeUnwrap(wrapped, seed: seed, info: info) }
    }

    @Test(arguments: [0, 1, 14, 15, 32, 64, 1000])
    func opensWhatItWrapped(count: Int) throws {
        let seed = try SecretKey<KEMUse>()
        let plaintext = pattern(count)
        let wrapped = try XWing.hpkeWrap(secret(plaintext), for: XWing.publicKey(seed: seed), info: info)
        #expect(wrapped.encapsulated.count == XWing.encapsulatedByteCount)
        #expect(wrapped.ciphertext.count == count + 16)
        let opened = try XWing.hpkeUnwrap(wrapped, seed: seed, info: info)
        let bytes = opened.span.publicBytes
        #expect(bytes == plaintext)
    }

    @Test func publicKeyIsAFunctionOfTheSeed() throws {
        let seed = try SecretKey<KEMUse>()
        let first = try XWing.publicKey(seed: seed)
        let second = try XWing.publicKey(seed: seed)
        #expect(first == second)
        #expect(first.bytes.count == XWing.publicKeyByteCount)
        #expect(try XWing.PublicKey(first.bytes) == first)
    }

    @Test func wrapsNeverRepeat() throws {
        let seed = try SecretKey<KEMUse>()
        let publicKey = try XWing.publicKey(seed: seed)
        let secret = try SecretKey<TestUse>()
        let wraps = try (0..<20).map { _ in try XWing.hpkeWrap(secret.bytes, for: publicKey, info: info) }
        #expect(Set(wraps.map(\.encapsulated)).count == 20)
        #expect(Set(wraps.map(\.ciphertext)).count == 20)
    }

    @Test func A16_boundToItsInfo() throws {
        let seed = try SecretKey<KEMUse>()
        let wrapped = try XWing.hpkeWrap(secret(pattern(64)), for: XWing.publicKey(seed: seed), info: info)
        var others: [[UInt8]] = [[], Array(info.dropLast()), Array(info.dropFirst()), info + [0], [0] + info]
        for index in info.indices {
            var other = info
            other[index] ^= 1
            others.append(other)
        }
        for other in others {
            let error = unwrapError(wrapped, seed: seed, info: other)
            #expect(error == .altered)
        }
    }

    @Test func A16_onlyTheHolderOfTheSeed() throws {
        let seed = try SecretKey<KEMUse>()
        let wrapped = try XWing.hpkeWrap(secret(pattern(64)), for: XWing.publicKey(seed: seed), info: info)
        for bit in stride(from: 0, to: 256, by: 8) {
            var bytes = seed.span.publicBytes
            bytes[bit / 8] ^= 1
            let other: SecretKey<KEMUse> = try key(bytes)
            let error = unwrapError(wrapped, seed: other, info: info)
            #expect(error == .altered)
        }
    }

    /// The KEM by itself answers a damaged encapsulation with a secret: another one.
    @Test func A15_decapsulationAloneNeverFails() throws {
        let key = try XWingMLKEM768X25519.PrivateKey.generate()
        let made = try key.publicKey.encapsulate()
        #expect(try key.decapsulate(made.encapsulated) == made.sharedSecret)
        for index in stride(from: 0, to: made.encapsulated.count, by: 100) {
            var damaged = made.encapsulated
            damaged[index] ^= 1
            #expect(try key.decapsulate(damaged) != made.sharedSecret)
        }
    }

    @Test func A15_everyByteFlipped() throws {
        let seed = try SecretKey<KEMUse>()
        let wrapped = try XWing.hpkeWrap(secret(pattern(64)), for: XWing.publicKey(seed: seed), info: info)
        for index in wrapped.encapsulated.indices {
            var encapsulated = wrapped.encapsulated
            encapsulated[index] ^= 1 << UInt8(index % 7)
            let error = unwrapError(
                XWing.Wrapped(encapsulated: encapsulated, ciphertext: wrapped.ciphertext), seed: seed, info: info)
            #expect(error == .altered, "encapsulated byte \(index)")
        }
        for index in wrapped.ciphertext.indices {
            var ciphertext = wrapped.ciphertext
            ciphertext[index] ^= 1 << UInt8(index % 8)
            let error = unwrapError(
                XWing.Wrapped(encapsulated: wrapped.encapsulated, ciphertext: ciphertext), seed: seed, info: info)
            #expect(error == .altered, "ciphertext byte \(index)")
        }
        let untouched = unwrapError(wrapped, seed: seed, info: info)
        #expect(untouched == nil)
    }

    /// X25519 ignores the highest bit, but X-Wing hashes the bytes as they came.
    @Test func A15_highestBitOfTheEncapsulatedPoint() throws {
        let seed = try SecretKey<KEMUse>()
        let wrapped = try XWing.hpkeWrap(secret(pattern(64)), for: XWing.publicKey(seed: seed), info: info)
        var encapsulated = wrapped.encapsulated
        encapsulated[XWing.encapsulatedByteCount - 1] ^= 0x80
        let error = unwrapError(
            XWing.Wrapped(encapsulated: encapsulated, ciphertext: wrapped.ciphertext), seed: seed, info: info)
        #expect(error == .altered)
    }

    @Test func A15_halvesOfTwoWrapsSwapped() throws {
        let seed = try SecretKey<KEMUse>()
        let publicKey = try XWing.publicKey(seed: seed)
        let secret = try secret(pattern(64))
        let first = try XWing.hpkeWrap(secret, for: publicKey, info: info)
        let second = try XWing.hpkeWrap(secret, for: publicKey, info: info)
        let mixed = Array(first.encapsulated[..<1088] + second.encapsulated[1088...])
        for (encapsulated, ciphertext) in [
            (mixed, first.ciphertext), (mixed, second.ciphertext), (first.encapsulated, second.ciphertext),
        ] {
            let error = unwrapError(
                XWing.Wrapped(encapsulated: encapsulated, ciphertext: ciphertext), seed: seed, info: info)
            #expect(error == .altered)
        }
    }

    @Test func A15_truncatedOrExtended() throws {
        let seed = try SecretKey<KEMUse>()
        let wrapped = try XWing.hpkeWrap(secret(pattern(32)), for: XWing.publicKey(seed: seed), info: info)
        for count in wrapped.ciphertext.indices {
            let cut = XWing.Wrapped(
                encapsulated: wrapped.encapsulated, ciphertext: Array(wrapped.ciphertext[..<count]))
            let error = unwrapError(cut, seed: seed, info: info)
            #expect(error == .altered, "ciphertext of \(count)")
        }
        for encapsulated in [
            [], Array(wrapped.encapsulated.dropLast()), wrapped.encapsulated + [0],
            Array(wrapped.encapsulated[..<1088]), wrapped.encapsulated + wrapped.encapsulated,
        ] {
            let error = unwrapError(
                XWing.Wrapped(encapsulated: encapsulated, ciphertext: wrapped.ciphertext), seed: seed, info: info)
            #expect(error == .altered, "encapsulated of \(encapsulated.count)")
        }
        let longer = XWing.Wrapped(encapsulated: wrapped.encapsulated, ciphertext: wrapped.ciphertext + [0])
        let error = unwrapError(longer, seed: seed, info: info)
        #expect(error == .altered)
    }

    /// The points of small order, and their encodings above 2^255 − 19.
    private static let lowOrder = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ]

    @Test(arguments: lowOrder)
    func A15_lowOrderPointInAWrap(point: String) throws {
        let seed = try SecretKey<KEMUse>()
        let wrapped = try XWing.hpkeWrap(secret(pattern(32)), for: XWing.publicKey(seed: seed), info: info)
        let encapsulated = try Array(wrapped.encapsulated[..<1088]) + bytes(point)
        let error = unwrapError(
            XWing.Wrapped(encapsulated: encapsulated, ciphertext: wrapped.ciphertext), seed: seed, info: info)
        #expect(error == .altered)
    }

    @Test(arguments: lowOrder)
    func A14_lowOrderPointInAKey(point: String) throws {
        let good = try XWing.publicKey(seed: SecretKey<KEMUse>()).bytes
        let key = try Array(good[..<1184]) + bytes(point)
        #expect(throws: TresorError.altered) { try XWing.PublicKey(key) }
    }

    /// Every one of the 768 coefficients at q and at 4095: twelve bits each, two in three bytes.
    @Test func A14_coefficientAtOrAboveTheModulus() throws {
        let good = try XWing.publicKey(seed: SecretKey<KEMUse>()).bytes
        for coefficient in 0..<768 {
            for value in [3329, 4095] {
                var key = good
                let at = coefficient / 2 * 3
                if coefficient.isMultiple(of: 2) {
                    key[at] = UInt8(value & 255)
                    key[at + 1] = key[at + 1] & 0xf0 | UInt8(value >> 8)
                } else {
                    key[at + 1] = key[at + 1] & 0x0f | UInt8(value & 15) << 4
                    key[at + 2] = UInt8(value >> 4)
                }
                let error = thrown { () throws(TresorError) in _ = try XWing.PublicKey(key) }
                #expect(error == .altered, "coefficient \(coefficient) at \(value)")
            }
        }
    }

    @Test(arguments: [0, 1, 32, 1184, 1215, 1217, 2432])
    func A14_keyOfAnotherSize(count: Int) throws {
        let good = try XWing.publicKey(seed: SecretKey<KEMUse>()).bytes
        let key = (0..<count).map { good[$0 % good.count] }
        #expect(throws: TresorError.altered) { try XWing.PublicKey(key) }
    }
}
