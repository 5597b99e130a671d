// SPDX-License-Identifier: Apache-2.0

import Clibsodium
import Testing

@testable import TresorCrypto

/// The primitive below TC1, which sets nonce and associated data as TC1 never does.
@Suite struct ChaCha20Poly1305Tests {
    private struct Group: Decodable {
        struct Row: Decodable {
            let tcId: Int
            let key, iv, aad, msg, ct, tag, result: String
        }
        let ivSize: Int
        let tests: [Row]
    }

    private func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], additional: [UInt8]) -> [UInt8]? {
        guard nonce.count == 12, key.count == 32, sealed.count >= 16 else { return nil }
        var plaintext = [UInt8](repeating: 0, count: sealed.count - 16)
        let status = crypto_aead_chacha20poly1305_ietf_decrypt(
            &plaintext, nil, nil, sealed, UInt64(sealed.count), additional, UInt64(additional.count), nonce, key)
        return status == 0 ? plaintext : nil
    }

    private func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], additional: [UInt8]) -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: plaintext.count + 16)
        crypto_aead_chacha20poly1305_ietf_encrypt(
            &sealed, nil, plaintext, UInt64(plaintext.count), additional, UInt64(additional.count), nil, nonce, key)
        return sealed
    }

    @Test(.published("wycheproof/chacha20_poly1305_test.json"))
    func judgesEveryWycheproofRow() throws {
        let file: Wycheproof<Group> = try Published.json("wycheproof/chacha20_poly1305_test.json")
        var counts: [String: Int] = [:]
        for group in file.testGroups {
            for row in group.tests {
                let (key, nonce, additional) = (try bytes(row.key), try bytes(row.iv), try bytes(row.aad))
                let sealed = try bytes(row.ct) + bytes(row.tag)
                let opened = open(sealed, key: key, nonce: nonce, additional: additional)
                let expected = row.result == "valid" ? try bytes(row.msg) : nil
                #expect(opened == expected, "\(row.tcId)")
                if let expected {
                    #expect(seal(expected, key: key, nonce: nonce, additional: additional) == sealed, "\(row.tcId)")
                }
                counts[row.result, default: 0] += 1
            }
        }
        #expect(counts == ["valid": 256, "invalid": 69])
    }

    /// RFC 8439, section 2.8.2.
    @Test func sealsTheExampleOfTheRFC() {
        let plaintext = Array(
            """
            Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.
            """.utf8)
        let key = [UInt8](0x80...0x9f)
        let nonce: [UInt8] = [7, 0, 0, 0] + Array(0x40...0x47)
        let additional: [UInt8] = [0x50, 0x51, 0x52, 0x53] + Array(0xc0...0xc7)
        let expected = """
            d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b\
            1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
            3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691
            """
        let sealed = seal(plaintext, key: key, nonce: nonce, additional: additional)
        #expect(Hex.text(sealed) == expected)
        #expect(open(sealed, key: key, nonce: nonce, additional: additional) == plaintext)
    }
}
