// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The sets; each says for every case whether it gives the published result.
extension PublishedVectors {
    /// Nonces of another size are refused by their size.
    func chaChaPoly(_ root: VectorValue) -> [Bool] {
        tests(root).map { test in
            let opened = try? KnownAnswers.openChaChaPoly(
                bytes(test["ct"]), tag: bytes(test["tag"]), key: bytes(test["key"]), nonce: bytes(test["iv"]),
                associated: bytes(test["aad"]))
            return test["result"]?.text == "valid" ? opened == bytes(test["msg"]) : opened == nil
        }
    }

    func signatures(_ root: VectorValue) -> [Bool] {
        (root["testGroups"]?.list ?? []).flatMap { group in
            (group["tests"]?.list ?? []).map { test in
                accepts(
                    key: group["publicKey"]?["pk"]?.text, signature: test["sig"]?.text, message: bytes(test["msg"]))
                    == (test["result"]?.text == "valid")
            }
        }
    }

    /// Points of low order are refused; all others give the published secret.
    func agreements(_ root: VectorValue) -> [Bool] {
        tests(root).map { test in
            let secret = try? PublishedPrimitives.x25519(scalar: bytes(test["private"]), point: bytes(test["public"]))
            let flags = test["flags"]?.list?.compactMap(\.text) ?? []
            let isLowOrder = flags.contains("ZeroSharedSecret") || flags.contains("LowOrderPublic")
            return isLowOrder ? secret == nil : secret == bytes(test["shared"])
        }
    }

    func decapsulations(_ root: VectorValue) -> [Bool] {
        tests(root).map { test in
            let seed = bytes(test["seed"])
            let key = try? PublishedPrimitives.mlkemDecapsulate(seed: seed, ciphertext: bytes(test["c"]))
            guard test["result"]?.text == "valid" else { return key == nil }
            return key == bytes(test["K"]) && (try? PublishedPrimitives.mlkemPublicKey(seed: seed)) == bytes(test["ek"])
        }
    }

    /// Reading refuses a public key if and only if its ML-KEM part fails the modulus check.
    func modulus(_ root: VectorValue) -> [Bool] {
        let basePoint: [UInt8] = [9] + Array(repeating: 0, count: 31)
        return tests(root).map { test in
            ((try? XWing.PublicKey(bytes(test["ek"]) + basePoint)) != nil) == (test["result"]?.text == "valid")
        }
    }

    func seeds(_ root: VectorValue) -> [Bool] {
        tests(root).map { (try? PublishedPrimitives.mlkemPublicKey(seed: bytes($0["seed"]))) == bytes($0["ek"]) }
    }

    /// Rows of message, key, size and hash, between tabs.
    func hashes(_ text: [UInt8]) -> [Bool] {
        String(decoding: text, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }.map { row in
            let cells = row.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard cells.count == 4, let message = Hex.bytes(cells[0]), let key = Hex.bytes(cells[1]),
                let size = Int(cells[2])
            else { return false }
            return (try? hash(message, key: key, size: size)) == Hex.bytes(cells[3])
        }
    }

    private func hash(_ message: [UInt8], key: [UInt8], size: Int) throws -> [UInt8] {
        guard !key.isEmpty else {
            var plain = try BLAKE2b(outputCount: size)
            try plain.update(message.span)
            return try plain.finalize()
        }
        var keyed = try BLAKE2b(outputCount: size, key: key.span)
        try keyed.update(message.span)
        return try keyed.finalize()
    }

    /// Nine match and one is refused. They lie below the floor, so the function without a floor computes them.
    func passwordHashes(_ root: VectorValue) throws -> [Bool] {
        try (root["tests"]?.list ?? []).map { test in
            let password = try SecretBytes(copying: bytes(test["passwd"]).span)
            let expected = test["result"]?.text == "valid" ? bytes(test["hash"]) : nil
            do throws(TresorError) {
                let found = try Argon2id.hash(
                    password: password.span, salt: bytes(test["salt"]), outputCount: test["outlen"]?.number ?? 0,
                    passes: UInt64(test["opslimit"]?.number ?? 0), memoryByteCount: test["memlimit"]?.number ?? 0)
                return found.span.publicBytes == expected
            } catch {
                return expected == nil
            }
        }
    }

    /// Exactly 43 of 914 are accepted; that count is the rule of SPEC §5.2.
    func edgeCases(_ root: VectorValue) -> [Bool] {
        let accepted = (root.list ?? []).map { test in
            accepts(
                key: test["key"]?.text, signature: test["sig"]?.text, message: Array((test["msg"]?.text ?? "").utf8))
        }
        return accepted.map { _ in accepted.count { $0 } == 43 }
    }

    /// Of the twelve, only number 3.
    func specCheck(_ root: VectorValue) -> [Bool] {
        (root.list ?? []).enumerated().map { index, test in
            accepts(
                key: test["pub_key"]?.text, signature: test["signature"]?.text, message: bytes(test["message"]))
                == (index == 3)
        }
    }

    /// The row of our suite: KEM 0x647a, KDF 1, AEAD 3.
    func encryptions(_ root: VectorValue) throws -> [Bool] {
        let rows = (root.list ?? []).filter {
            $0["kem_id"]?.number == 25722 && $0["kdf_id"]?.number == 1 && $0["aead_id"]?.number == 3
        }
        return try rows.flatMap { row in
            let messages = row["encryptions"]?.list ?? []
            let opened = try KnownAnswers.openHPKE(
                seed: bytes(row["skRm"]), info: bytes(row["info"]), encapsulated: bytes(row["enc"]),
                messages: messages.map { (bytes($0["aad"]), bytes($0["ct"])) })
            return zip(opened, messages).map { $0 == bytes($1["pt"]) }
        }
    }

    func encapsulations(_ root: VectorValue) throws -> [Bool] {
        try (root.list ?? []).map { test in
            let seed = bytes(test["sk"])
            let key = try XWing.publicKey(seed: SecretKey(SecretBytes(copying: seed.span)))
            let secret = try PublishedPrimitives.xwingDecapsulate(seed: seed, encapsulated: bytes(test["ct"]))
            return key.bytes == bytes(test["pk"]) && secret == bytes(test["ss"])
        }
    }

    /// The rows with 32 bytes are kits; the shorter ones must be refused as kits.
    func kits(_ root: VectorValue) throws -> [Bool] {
        try (root["english"]?.list ?? []).map { row in
            let entropy = bytes(row.list?.first)
            let words = Array((row.list?.dropFirst().first?.text ?? "").utf8)
            let typed = try SecretBytes(copying: words.span)
            guard entropy.count == 32 else {
                do throws(TresorError) {
                    _ = try RecoveryKit(typed: typed)
                    return false
                } catch {
                    return error == .wrongPassword
                }
            }
            let kit = try RecoveryKit(typed: typed)
            let written = try kit.words()
            return kit.key.span.publicBytes == entropy && written.span.publicBytes == words
        }
    }
}
