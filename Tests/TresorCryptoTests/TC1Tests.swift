// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct TC1Tests {
    private let context: [UInt8] = [1, 2, 3]
    private let keyBytes = [UInt8](0..<32)
    private let salt = [UInt8](0x40..<0x58)

    @Test(arguments: [0, 1, 15, 16, 65535, 65536, 65537, 131072, 131073, 200_000])
    func opensWhatItSealed(count: Int) throws {
        let key = try SecretKey<TestUse>()
        let plaintext = pattern(count)
        let sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span)
        #expect(sealed.count == TC1.sealedByteCount(count))
        #expect(TC1.openedByteCount(sealed.count) == count)
        let opened = try TC1.open(sealed.span, with: key, label: .fileSeal, context: context.span)
        #expect(opened == plaintext)
        let secret = try TC1.openSecret(sealed.span, with: key, label: .fileSeal, context: context.span)
        let secretBytes = secret.span.publicBytes
        #expect(secretBytes == plaintext)
    }

    /// The expected bytes were computed with Python's hashlib and cryptography from SPEC §6 alone.
    @Test func sealsTheKnownAnswer() throws {
        let key: SecretKey<TestUse> = try key(keyBytes)
        let plaintext = Array("Ein Pflegeplan".utf8)
        let sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span, salt: salt)
        let expected = """
            404142434445464748494a4b4c4d4e4f5051525354555657a3bddcdf6e1915248ac95106705c6fab191649a95cd8437efe526922\
            bee8292f1516b17db91587d7e2805cdcd6ba73bc77f4f6b1a77ca805bfdcb525413d
            """
        #expect(Hex.text(sealed) == expected)
    }

    @Test func sealsTheKnownAnswerForNothing() throws {
        let key: SecretKey<TestUse> = try key(keyBytes)
        let nothing: [UInt8] = []
        let sealed = try TC1.seal(nothing.span, with: key, label: .fileSeal, context: nothing.span, salt: salt)
        let expected = """
            404142434445464748494a4b4c4d4e4f5051525354555657daa6028d953ee4ffcfc85738c6c7e63d8e11b9c3b679bc1930823bd9\
            e68e40a2b456f6359bd261f159df296c14964d14
            """
        #expect(Hex.text(sealed) == expected)
    }

    @Test func sealsTheKnownAnswerOfThreeChunks() throws {
        let key: SecretKey<TestUse> = try key(keyBytes)
        let plaintext = (0..<131_073).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) }
        let sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span, salt: salt)
        #expect(sealed.count == 131_177)
        var hash = try BLAKE2b(outputCount: 32)
        try hash.update(sealed.span)
        let digest = Hex.text(try hash.finalize())
        #expect(digest == "bc20274c7425efc7d858e3fc69d3f06c2015b90bc1198febbdda2bee1b3a1433")
    }

    @Test(arguments: [0, 23, 25])
    func refusesASaltOfAnotherSize(count: Int) throws {
        let key = try SecretKey<TestUse>()
        let salt = [UInt8](repeating: 0, count: count)
        let error = thrown { () throws(TresorError) in
            _ = try TC1.seal(context.span, with: key, label: .fileSeal, context: context.span, salt: salt)
        }
        #expect(error == .usage(.outOfBounds))
    }

    @Test func opensNothingUnderAnotherKey() throws {
        let key = try SecretKey<TestUse>()
        let sealed = try TC1.seal(context.span, with: key, label: .fileSeal, context: context.span)
        for bit in 0..<256 {
            var bytes = key.span.publicBytes
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            let other: SecretKey<TestUse> = try TresorCryptoTests.key(bytes)
            let error = openingError(sealed, with: other, context: context)
            #expect(error == .altered)
        }
    }

    @Test func A1_everyBitOfOneChunk() throws {
        let key = try SecretKey<TestUse>()
        let plaintext = pattern(40)
        var sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span)
        for bit in 0..<(sealed.count * 8) {
            sealed[bit / 8] ^= 1 << UInt8(bit % 8)
            let error = openingError(sealed, with: key, context: context)
            #expect(error == .altered, "bit \(bit)")
            sealed[bit / 8] ^= 1 << UInt8(bit % 8)
        }
        let untouched = openingError(sealed, with: key, context: context)
        #expect(untouched == nil)
    }

    @Test func A1_sampledBitsOfThreeChunks() throws {
        let key = try SecretKey<TestUse>()
        let plaintext = pattern(2 * TC1.chunkByteCount + 100)
        var sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span)
        let whole = TC1.chunkByteCount + 16
        let besideBoundaries = [0, 1, 2].flatMap { chunk in
            (-18...17).map { TC1.prefixByteCount + chunk * whole + $0 }
        }
        let spread = stride(from: 0, to: sealed.count, by: 4099)
        for offset in (besideBoundaries + spread + [sealed.count - 1]) {
            let bit = UInt8(1) << UInt8(offset % 8)
            sealed[offset] ^= bit
            let error = openingError(sealed, with: key, context: context)
            #expect(error == .altered, "byte \(offset)")
            sealed[offset] ^= bit
        }
        let untouched = openingError(sealed, with: key, context: context)
        #expect(untouched == nil)
    }

    @Test func A3_everyOtherLabel() throws {
        let key = try SecretKey<TestUse>()
        for (label, _) in DomainLabel.registry {
            let sealed = try TC1.seal(context.span, with: key, label: label, context: context.span)
            for (other, _) in DomainLabel.registry {
                let error = openingError(sealed, with: key, label: other, context: context)
                #expect(error == (other == label ? nil : .altered), "\(label.text) as \(other.text)")
            }
        }
    }

    @Test func A3_everyOtherContext() throws {
        let key = try SecretKey<TestUse>()
        let context: [UInt8] = [0x61, 0x62, 0x63, 0]
        let sealed = try TresorCryptoTests.sealed(pattern(50), with: key, context: context)
        var others: [[UInt8]] = [
            [], Array(context.dropLast()), Array(context.dropFirst()), context + [0], [0] + context,
        ]
        for bit in 0..<(context.count * 8) {
            var other = context
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            others.append(other)
        }
        others.append(context.reversed())
        for other in others {
            let error = openingError(sealed, with: key, context: other)
            #expect(error == .altered)
        }
    }

    @Test func A3_byteMovedBetweenLabelAndContext() throws {
        let key = try SecretKey<TestUse>()
        let longer = try DomainLabel(application: "app/sealx")
        let shorter = try DomainLabel(application: "app/seal")
        let sealed = try TresorCryptoTests.sealed(pattern(50), with: key, label: longer, context: [0x79])
        let intoContext = openingError(sealed, with: key, label: shorter, context: [0x78, 0x79])
        #expect(intoContext == .altered)
        let resealed = try TresorCryptoTests.sealed(pattern(50), with: key, label: shorter, context: [0x78, 0x79])
        let intoLabel = openingError(resealed, with: key, label: longer, context: [0x79])
        #expect(intoLabel == .altered)
    }

    /// With an empty context, the count before it could pass for the end of a salt, and the other way round.
    @Test func A3_bytesMovedBetweenSaltAndContext() throws {
        let key = try SecretKey<TestUse>()
        let sealed = try TresorCryptoTests.sealed(pattern(50), with: key, label: .fileSeal, context: [0, 0, 0, 0])
        for context in [[], [0], [0, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]] {
            let error = openingError(sealed, with: key, context: context)
            #expect(error == .altered)
        }
    }
}
