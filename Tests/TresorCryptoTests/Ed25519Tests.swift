// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorCrypto

@Suite struct Ed25519Tests {
    private func accepts(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
        guard let key = Hash256(key) else { return false }
        return thrown { () throws(TresorError) in try Ed25519.verify(signature, of: message, by: key) } == nil
    }

    /// RFC 8032, section 7.1: tests 1, 2, 3 and SHA(abc).
    @Test(arguments: [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            """
            e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155\
            5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b
            """
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            """
            92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
            085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00
            """
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            """
            6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
            18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a
            """
        ),
        (
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            """
            ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
            2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f
            """,
            """
            dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589\
            09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704
            """
        ),
    ])
    func A12_publicHalfAndSignatureComeFromTheSeed(
        seed: String, publicKey: String, message: String, signature: String
    ) throws {
        let seed: SecretKey<SigningUse> = try key(try bytes(seed))
        let signing = try SigningKey(seed: seed)
        #expect(Hex.text(signing.publicKey.bytes) == publicKey)
        let made = try signing.sign(try bytes(message))
        #expect(Hex.text(made) == signature)
        try Ed25519.verify(made, of: try bytes(message), by: signing.publicKey)
    }

    /// There is no way to hand over a public half, or the 64 bytes in which libsodium keeps both.
    @Test func A12_noForeignPublicHalf() throws {
        let declarations = try SourceCode.sharedDeclarations(of: "Sources/TresorCrypto/Primitives")
        let initializers = declarations.filter { $0.contains("init") && $0.contains("SigningUse") }
        #expect(initializers == ["package init(seed: borrowing SecretKey<SigningUse>) throws(TresorError)"])
    }

    @Test func everyBitOfASignatureCounts() throws {
        let signing = try SigningKey(seed: SecretKey<SigningUse>())
        let message = pattern(100)
        let signature = try signing.sign(message)
        let publicKey = signing.publicKey.bytes
        #expect(accepts(signature, of: message, by: publicKey))
        for bit in 0..<512 {
            var other = signature
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!accepts(other, of: message, by: publicKey), "signature bit \(bit)")
        }
        for bit in 0..<256 {
            var other = publicKey
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!accepts(signature, of: message, by: other), "key bit \(bit)")
        }
        for other in [[], Array(message.dropLast()), message + [0], [0] + message] {
            #expect(!accepts(signature, of: other, by: publicKey))
        }
    }

    @Test func signaturesOfAnotherSizeAreAltered() throws {
        let signing = try SigningKey(seed: SecretKey<SigningUse>())
        let signature = try signing.sign([1])
        for other in [[], Array(signature[..<63]), signature + [0], signature + signature] {
            #expect(throws: TresorError.altered) { try Ed25519.verify(other, of: [1], by: signing.publicKey) }
        }
    }

    private struct EdgeCase: Decodable {
        let number: Int
        let key, sig, msg: String
    }

    @Test(.published("ed25519/cctv-ed25519vectors.json"))
    func A10_acceptsExactlyFortyThreeOfTheEdgeCases() throws {
        let cases: [EdgeCase] = try Published.json("ed25519/cctv-ed25519vectors.json")
        #expect(cases.count == 914)
        let accepted = try cases.filter {
            accepts(try bytes($0.sig), of: Array($0.msg.utf8), by: try bytes($0.key))
        }
        #expect(accepted.count == 43)
    }

    private struct SpeccheckCase: Decodable {
        let message, signature: String
        let publicKey: String

        enum CodingKeys: String, CodingKey {
            case message, signature
            case publicKey = "pub_key"
        }
    }

    @Test(.published("ed25519/speccheck-cases.json"))
    func A10_acceptsNumberThreeAlone() throws {
        let cases: [SpeccheckCase] = try Published.json("ed25519/speccheck-cases.json")
        #expect(cases.count == 12)
        let accepted = try cases.indices.filter {
            accepts(
                try bytes(cases[$0].signature), of: try bytes(cases[$0].message), by: try bytes(cases[$0].publicKey))
        }
        #expect(accepted == [3])
    }

    private struct Group: Decodable {
        struct Key: Decodable { let pk: String }
        struct Row: Decodable {
            let tcId: Int
            let msg, sig, result: String
        }
        let publicKey: Key
        let tests: [Row]
    }

    @Test(.published("wycheproof/ed25519_test.json"))
    func judgesEveryWycheproofRow() throws {
        let file: Wycheproof<Group> = try Published.json("wycheproof/ed25519_test.json")
        var counts: [String: Int] = [:]
        for group in file.testGroups {
            let key = try bytes(group.publicKey.pk)
            for row in group.tests {
                let isAccepted = accepts(try bytes(row.sig), of: try bytes(row.msg), by: key)
                #expect(isAccepted == (row.result == "valid"), "\(row.tcId)")
                counts[row.result, default: 0] += 1
            }
        }
        #expect(counts == ["valid": 88, "invalid": 63])
    }

    /// One implementation verifies signatures, never two side by side.
    @Test func A10_noSecondImplementation() throws {
        for (path, text) in try SourceCode.files(of: "Sources") {
            #expect(!text.contains("Curve25519.Signing"), "\(path)")
            #expect(!text.contains("crypto_sign_open"), "\(path)")
            let verifies = text.contains("crypto_sign_verify")
            #expect(!verifies || path.hasSuffix("Ed25519.swift") || path.hasSuffix("Sodium.swift"), "\(path)")
        }
    }
}
