// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import TresorCrypto

/// X-Wing and its two parts against published vectors.
@Suite struct XWingPublishedTests {
    private struct XWingCase: Decodable {
        let sk, pk, ct, ss: String
    }

    @Test(.published("xwing/test-vectors.json"))
    func seedsMakeThePublishedKeys() throws {
        let cases: [XWingCase] = try Published.json("xwing/test-vectors.json")
        #expect(cases.count == 3)
        for example in cases {
            let seed: SecretKey<KEMUse> = try key(try bytes(example.sk))
            let publicKey = try XWing.publicKey(seed: seed)
            #expect(Hex.text(publicKey.bytes) == example.pk)
            let library = try XWingMLKEM768X25519.PrivateKey(
                seedRepresentation: try bytes(example.sk), publicKey: nil)
            let shared = try library.decapsulate(Data(try bytes(example.ct)))
            #expect(shared.withUnsafeBytes { Hex.text($0) } == example.ss)
        }
    }

    private struct HPKECase: Decodable {
        struct Encryption: Decodable { let aad, ct, pt, nonce: String }
        let mode, kem_id, kdf_id, aead_id: Int
        let info, skRm, pkRm, enc: String
        let base_nonce: String?
        let encryptions: [Encryption]
    }

    /// The suite's row of the draft. Its associated data is not empty, as ours is: it is opened one layer below, with
    /// the same suite.
    @Test(.published("hpke-pq/test-vectors.json"))
    func opensThePublishedEncryptions() throws {
        let cases: [HPKECase] = try Published.json("hpke-pq/test-vectors.json")
        let ours = cases.filter { $0.mode == 0 && $0.kem_id == 25722 && $0.kdf_id == 1 && $0.aead_id == 3 }
        let example = try #require(ours.first)
        #expect(ours.count == 1)
        #expect(example.encryptions.count == 10)
        #expect(example.encryptions.first?.nonce == example.base_nonce)

        let seed: SecretKey<KEMUse> = try key(try bytes(example.skRm))
        let publicKey = try XWing.publicKey(seed: seed)
        #expect(Hex.text(publicKey.bytes) == example.pkRm)

        let suite = HPKE.Ciphersuite(kem: .XWingMLKEM768X25519, kdf: .HKDF_SHA256, aead: .chaChaPoly)
        var recipient = try HPKE.Recipient(
            privateKey: XWingMLKEM768X25519.PrivateKey(
                seedRepresentation: try bytes(example.skRm), publicKey: nil),
            ciphersuite: suite, info: Data(try bytes(example.info)), encapsulatedKey: Data(try bytes(example.enc)))
        for encryption in example.encryptions {
            let opened = try recipient.open(try bytes(encryption.ct), authenticating: try bytes(encryption.aad))
            #expect(Hex.text(opened) == encryption.pt)
        }
        let first = try #require(example.encryptions.first)
        let withoutItsData = XWing.Wrapped(encapsulated: try bytes(example.enc), ciphertext: try bytes(first.ct))
        let info = try bytes(example.info)
        let error = thrown { () throws(TresorError) in
            _ = try XWing.hpkeUnwrap(withoutItsData, seed: seed, info: info)
        }
        #expect(error == .altered)
    }

    /// The suite of the library opens our wraps, and the other way round.
    @Test func wrapsInTheStandardForm() throws {
        let seed = try SecretKey<KEMUse>()
        let info = pattern(20)
        let library = try XWingMLKEM768X25519.PrivateKey(seedRepresentation: seed.span.publicBytes, publicKey: nil)
        let suite = HPKE.Ciphersuite(kem: .XWingMLKEM768X25519, kdf: .HKDF_SHA256, aead: .chaChaPoly)
        let wrapped = try XWing.hpkeWrap(secret(pattern(64)), for: XWing.publicKey(seed: seed), info: info)
        var recipient = try HPKE.Recipient(
            privateKey: library, ciphersuite: suite, info: Data(info), encapsulatedKey: Data(wrapped.encapsulated))
        #expect(try Array(recipient.open(wrapped.ciphertext)) == pattern(64))

        var sender = try HPKE.Sender(recipientKey: library.publicKey, ciphersuite: suite, info: Data(info))
        let ciphertext = try sender.seal(pattern(32))
        let opened = try XWing.hpkeUnwrap(
            XWing.Wrapped(encapsulated: Array(sender.encapsulatedKey), ciphertext: Array(ciphertext)), seed: seed,
            info: info)
        let plaintext = opened.span.publicBytes
        #expect(plaintext == pattern(32))
    }

    private struct EncapsulationGroup: Decodable {
        struct Row: Decodable {
            let tcId: Int
            let ek, result: String
        }
        let tests: [Row]
    }

    @Test(.published("wycheproof/mlkem_768_encaps_test.json"))
    func A14_refusesEveryModulusOverflow() throws {
        let file: Wycheproof<EncapsulationGroup> = try Published.json("wycheproof/mlkem_768_encaps_test.json")
        let point = Array(try XWing.publicKey(seed: SecretKey<KEMUse>()).bytes[1184...])
        var counts: [String: Int] = [:]
        for row in file.testGroups.flatMap(\.tests) {
            let key = try bytes(row.ek) + point
            let error = thrown { () throws(TresorError) in _ = try XWing.PublicKey(key) }
            #expect(error == (row.result == "valid" ? nil : .altered), "\(row.tcId)")
            counts[row.result, default: 0] += 1
        }
        #expect(counts == ["valid": 133, "invalid": 132])
    }

    private struct SeedGroup: Decodable {
        struct Row: Decodable {
            let tcId: Int
            let seed, ek: String
        }
        let tests: [Row]
    }

    /// X-Wing makes its own ML-KEM seed, so these run on the primitive below it.
    @Test(.published("wycheproof/mlkem_768_keygen_seed_test.json"))
    func makesEveryPublishedMLKEMKey() throws {
        let file: Wycheproof<SeedGroup> = try Published.json("wycheproof/mlkem_768_keygen_seed_test.json")
        let rows = file.testGroups.flatMap(\.tests)
        #expect(rows.count == 100)
        for row in rows {
            let key = try MLKEM768.PrivateKey(seedRepresentation: try bytes(row.seed), publicKey: nil)
            #expect(Hex.text(key.publicKey.rawRepresentation) == row.ek, "\(row.tcId)")
        }
    }

    private struct DecapsulationGroup: Decodable {
        struct Row: Decodable {
            let tcId: Int
            let seed, c, result: String
            let K: String?
        }
        let tests: [Row]
    }

    @Test(.published("wycheproof/mlkem_768_test.json"))
    func decapsulatesEveryWycheproofRow() throws {
        let file: Wycheproof<DecapsulationGroup> = try Published.json("wycheproof/mlkem_768_test.json")
        var counts: [String: Int] = [:]
        for row in file.testGroups.flatMap(\.tests) {
            let (seed, ciphertext) = (try bytes(row.seed), try bytes(row.c))
            let shared = try? MLKEM768.PrivateKey(seedRepresentation: seed, publicKey: nil).decapsulate(
                Data(ciphertext))
            let text = shared?.withUnsafeBytes { Hex.text($0) }
            #expect(text == (row.result == "valid" ? row.K : nil), "\(row.tcId)")
            counts[row.result, default: 0] += 1
        }
        #expect(counts == ["valid": 153, "invalid": 40])
    }

    private struct X25519Group: Decodable {
        struct Row: Decodable {
            let tcId: Int
            let flags: [String]
            let result: String
            let `public`, `private`, shared: String
        }
        let tests: [Row]
    }

    @Test(.published("wycheproof/x25519_test.json"))
    func A14_refusesEveryPointOfLowOrder() throws {
        let file: Wycheproof<X25519Group> = try Published.json("wycheproof/x25519_test.json")
        let rows = file.testGroups.flatMap(\.tests)
        #expect(rows.count == 518)
        let seed = try SecretKey<KEMUse>()
        let good = try XWing.publicKey(seed: seed).bytes
        let wrapped = try XWing.hpkeWrap(secret([1]), for: XWing.publicKey(seed: seed), info: [])
        var refused = 0
        for row in rows {
            let point = try bytes(row.public)
            let isLowOrder = !Set(row.flags).isDisjoint(with: ["ZeroSharedSecret", "LowOrderPublic"])
            let error = thrown { () throws(TresorError) in _ = try XWing.PublicKey(good[..<1184] + point) }
            #expect(error == (isLowOrder ? .altered : nil), "\(row.tcId)")
            guard isLowOrder else {
                let shared = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: try bytes(row.private))
                    .sharedSecretFromKeyAgreement(with: .init(rawRepresentation: point))
                #expect(shared.withUnsafeBytes { Hex.text($0) } == row.shared, "\(row.tcId)")
                continue
            }
            refused += 1
            let encapsulated = wrapped.encapsulated[..<1088] + point
            let opening = thrown { () throws(TresorError) in
                _ = try XWing.hpkeUnwrap(
                    XWing.Wrapped(encapsulated: Array(encapsulated), ciphertext: wrapped.ciphertext), seed: seed,
                    info: [])
            }
            #expect(opening == .altered, "\(row.tcId)")
        }
        #expect(refused == 31)
    }
}
