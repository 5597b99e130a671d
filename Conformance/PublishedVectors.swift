// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Published vectors of other projects, where they are present. Each set has an expected count of cases; another count
/// is a failure.
struct PublishedVectors {
    let directory: String

    func run(_ line: (String) throws -> Void) throws -> Selftest.Report {
        var report = Selftest.Report()
        let sets: [(path: String, count: Int, body: ([UInt8]) throws -> [Bool])] = [
            ("crypto/wycheproof/chacha20_poly1305_test.json", 325, json(chaChaPoly)),
            ("crypto/wycheproof/ed25519_test.json", 151, json(signatures)),
            ("crypto/wycheproof/x25519_test.json", 518, json(agreements)),
            ("crypto/wycheproof/mlkem_768_test.json", 193, json(decapsulations)),
            ("crypto/wycheproof/mlkem_768_encaps_test.json", 265, json(modulus)),
            ("crypto/wycheproof/mlkem_768_keygen_seed_test.json", 100, json(seeds)),
            ("crypto/blake2b/crypto-test-vectors-blake2-nosalt-nopersonalization.txt", 40, hashes),
            ("crypto/argon2/libsodium-argon2id.json", 10, json(passwordHashes)),
            ("crypto/ed25519/cctv-ed25519vectors.json", 914, json(edgeCases)),
            ("crypto/ed25519/speccheck-cases.json", 12, json(specCheck)),
            ("crypto/hpke-pq/test-vectors.json", 10, json(encryptions)),
            ("crypto/xwing/test-vectors.json", 3, json(encapsulations)),
            ("crypto/bip39/vectors.json", 24, json(kits)),
        ]
        for (path, count, body) in sets {
            let full = directory + "/" + path
            guard VectorDirectory.has(full) else {
                try line("skipped: \(path), not present")
                continue
            }
            let bytes = try VectorDirectory.read(full)
            let results = (try? body(bytes)) ?? []
            let missing = results.count == count ? 0 : 1
            report.passed += results.count { $0 }
            report.failed += results.count { !$0 } + missing
            try line(
                "external \(path) \(results.count { $0 }) passed, \(results.count { !$0 } + missing) failed")
        }
        return report
    }

    private func json(_ body: @escaping (VectorValue) throws -> [Bool]) -> ([UInt8]) throws -> [Bool] {
        { try body(JSONReader.read($0)) }
    }

    func tests(_ root: VectorValue) -> [VectorValue] {
        (root["testGroups"]?.list ?? []).flatMap { $0["tests"]?.list ?? [] }
    }

    func bytes(_ value: VectorValue?) -> [UInt8] { value?.text.flatMap(Hex.bytes) ?? [] }

    func accepts(key: String?, signature: String?, message: [UInt8]) -> Bool {
        guard let key = key.flatMap(Hex.bytes).flatMap({ Hash256($0) }), let signature = signature.flatMap(Hex.bytes)
        else {
            return false
        }
        return (try? Ed25519.verify(signature, of: message, by: key)) != nil
    }
}
