// SPDX-License-Identifier: Apache-2.0

import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Vectors that others have published, where they are present. Each set has an expected count; another count is a failure.
struct PublishedVectors {
    let directory: String

    /// A set, and how many of its cases hold. `nil` where a case that must hold does not.
    private struct Outcome {
        let passed: Int
        let failed: Int
    }

    func run(_ line: (String) throws -> Void) throws -> Selftest.Report {
        var report = Selftest.Report()
        let sets: [(String, (VectorValue) throws -> Outcome)] = [
            ("crypto/wycheproof/ed25519_test.json", wycheproofSignatures),
            ("crypto/wycheproof/mlkem_768_encaps_test.json", modulus),
            ("crypto/ed25519/cctv-ed25519vectors.json", edgeCases), ("crypto/ed25519/speccheck-cases.json", specCheck),
            ("crypto/xwing/test-vectors.json", publicKeys), ("crypto/bip39/vectors.json", kits),
        ]
        for (path, body) in sets {
            let full = directory + "/" + path
            guard access(full, R_OK) == 0 else {
                try line("skipped: \(path), not present")
                continue
            }
            let bytes = try InputFile(full, standardInput: StandardInput()).readAll(
                limit: 1 << 28, tooLarge: CommandFailure(.usage, "a vector file is too large"))
            let outcome: Outcome
            do {
                outcome = try body(try JSONReader.read(bytes))
            } catch {
                outcome = Outcome(passed: 0, failed: 1)
            }
            report.passed += outcome.passed
            report.failed += outcome.failed
            try line("external \(path) \(outcome.passed) passed, \(outcome.failed) failed")
        }
        return report
    }

    private func count(_ results: [Bool], expecting total: Int) -> Outcome {
        let failed = results.count { !$0 } + (results.count == total ? 0 : 1)
        return Outcome(passed: results.count { $0 }, failed: failed)
    }

    private func accepts(key: String?, signature: String?, message: [UInt8]) -> Bool {
        guard let key = key.flatMap(Hex.bytes).flatMap({ Digest($0) }), let signature = signature.flatMap(Hex.bytes)
        else {
            return false
        }
        return (try? Ed25519.verify(signature, of: message, by: key)) != nil
    }

    private func wycheproofSignatures(_ root: VectorValue) -> Outcome {
        let results = (root["testGroups"]?.list ?? []).flatMap { group in
            (group["tests"]?.list ?? []).map { test in
                let message = test["msg"]?.text.flatMap(Hex.bytes) ?? []
                let isAccepted = accepts(
                    key: group["publicKey"]?["pk"]?.text, signature: test["sig"]?.text, message: message)
                return isAccepted == (test["result"]?.text == "valid")
            }
        }
        return count(results, expecting: 151)
    }

    /// Exactly 43 of 914 are accepted; that count is the rule of SPEC §5.2.
    private func edgeCases(_ root: VectorValue) -> Outcome {
        let cases = root.list ?? []
        let accepted = cases.count { test in
            accepts(
                key: test["key"]?.text, signature: test["sig"]?.text, message: Array((test["msg"]?.text ?? "").utf8))
        }
        return cases.count == 914 && accepted == 43 ? Outcome(passed: 914, failed: 0) : Outcome(passed: 0, failed: 914)
    }

    /// Of the twelve, number 3 alone.
    private func specCheck(_ root: VectorValue) -> Outcome {
        let results = (root.list ?? []).enumerated().map { index, test in
            let message = test["message"]?.text.flatMap(Hex.bytes) ?? []
            return accepts(key: test["pub_key"]?.text, signature: test["signature"]?.text, message: message)
                == (index == 3)
        }
        return count(results, expecting: 12)
    }

    /// A public key whose ML-KEM half fails the modulus check is refused when it is read, and every other is not.
    private func modulus(_ root: VectorValue) -> Outcome {
        let basePoint: [UInt8] = [9] + Array(repeating: 0, count: 31)
        let results = (root["testGroups"]?.list ?? []).flatMap { $0["tests"]?.list ?? [] }.map { test in
            let key = test["ek"]?.text.flatMap(Hex.bytes) ?? []
            return ((try? XWing.PublicKey(key + basePoint)) != nil) == (test["result"]?.text == "valid")
        }
        return count(results, expecting: 265)
    }

    private func publicKeys(_ root: VectorValue) throws -> Outcome {
        let results = try (root.list ?? []).map { test in
            let seed = test["sk"]?.text.flatMap(Hex.bytes) ?? []
            let key = try XWing.publicKey(seed: SecretKey(SecretBytes(copying: seed.span)))
            return key.bytes == test["pk"]?.text.flatMap(Hex.bytes)
        }
        return count(results, expecting: 3)
    }

    /// The rows with 32 bytes are kits; the shorter ones must be refused as kits.
    private func kits(_ root: VectorValue) throws -> Outcome {
        let rows = root["english"]?.list ?? []
        let results = try rows.map { row in
            let entropy = row.list?.first?.text.flatMap(Hex.bytes) ?? []
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
        return count(results, expecting: rows.isEmpty ? 1 : rows.count)
    }
}
