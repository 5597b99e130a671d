// SPDX-License-Identifier: Apache-2.0

@testable import TresorCrypto

/// The registry of SPEC §16.1, and each label used.
struct LabelVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "labels", section: "16.1", purpose: "the registry of labels; each used for what it is for")
        let vectors = Self(file: file)
        vectors.addRegistry()
        vectors.addHashes()
        vectors.addDerivedKeys()
        vectors.addSealings()
        vectors.addSignatures()
        vectors.addCofactors()
        return file
    }

    private func labels(_ use: DomainLabel.Use) -> [String] {
        DomainLabel.registry.filter { $0.use == use }.map(\.label.text)
    }

    private func addRegistry() {
        group("label")
        for (label, use) in DomainLabel.registry {
            let base = valid(
                label.text, in: ["label": ascii(label.text), "use": ascii(use.rawValue)],
                out: ["label": ascii(label.text)])
            let other = use == .hash ? "seal" : "hash"
            invalid("\(label.text) for another use", "WrongLabel", "usage", base: base, in: ["use": ascii(other)])
        }
        for name in [
            "", "tresor/v1/", "tresor/v2/seal", "tresor/v1/seal ", "Tresor/v1/seal", "tresor/v1/sea",
            "tresor/v1/opaque",
        ] {
            invalid("\"\(name)\"", "WrongLabel", "usage", base: 1, in: ["label": ascii(name)])
        }
    }

    private func addHashes() {
        group("hash")
        for label in labels(.hash) {
            let x = draw()("x", 97)
            valid(
                label, in: ["label": ascii(label), "x": x], mid: ["input": prefixed(ascii(label)) + x],
                out: ["hash": blake2b(label == "tresor/v1/content-hash" ? 64 : 32, prefixed(ascii(label)) + x)])
        }
    }

    private func addDerivedKeys() {
        group("derive")
        for label in labels(.derive) where !["tresor/v1/seal", "tresor/v1/derive"].contains(label) {
            let draw = draw()
            let (key, context) = (draw("K", 32), draw("context", 32))
            valid(
                label, in: ["K": key, "label": ascii(label), "context": context],
                out: ["key": derive(key, label, context)])
        }
    }

    private func addSealings() {
        group("open")
        for label in labels(.seal) {
            let draw = draw()
            let (key, context, plaintext) = (draw("K", 32), draw("context", 40), draw("plaintext", 32))
            let sealing = Sealing(key, label, context, plaintext, salt: draw("salt", 24))
            let base = valid(
                label, in: ["K": key, "label": ascii(label), "context": context, "sealed": sealing.bytes],
                mid: ["okm": sealing.okm], out: ["plaintext": plaintext])
            for other in labels(.seal) where other != label {
                invalid("\(label) opened as \(other)", "WrongLabel", "altered", base: base, in: ["label": ascii(other)])
            }
        }
    }

    /// Signatures for which the equation holds only after multiplication by eight (SPEC §5.2), and a key outside the
    /// main subgroup for which it holds directly.
    private func addCofactors() {
        let label = "tresor/v1/entry-signature"
        let draw = draw()
        let (a, r) = (draw("a", 32), draw("r", 32))
        func made(_ x: Bytes, key: Bool, nonce: Bool) -> (key: Bytes, signature: Bytes, isNeutral: Bool) {
            EdgeSignature.displaced(key: a, key, nonce: r, nonce, prefixed(ascii(label)) + x)
        }
        // Two displacements may cancel each other.
        func cancels(_ x: Bytes) -> Bool {
            let both = made(x, key: true, nonce: true)
            let key = must(try required(Hash256(both.key)))
            return (try? Ed25519.verify(both.signature, of: prefixed(ascii(label)) + x, by: key)) != nil
        }
        var number = 0
        var x = draw("x 0", 100)
        while !made(x, key: true, nonce: false).isNeutral || cancels(x) {
            number += 1
            x = draw("x \(number)", 100)
        }
        let mixed = made(x, key: true, nonce: false)
        let base = valid(
            "a key outside the main subgroup, h a multiple of eight", ["EdgeCase"],
            in: ["A": mixed.key, "label": ascii(label), "x": x, "sig": mixed.signature], out: ["A": mixed.key])
        let displaced = made(x, key: true, nonce: true)
        invalid(
            "R displaced by a point of order eight", "CofactoredOnly", "altered", base: base,
            in: ["sig": displaced.signature])
        let plain = made(x, key: false, nonce: true)
        let plainBase = valid(
            "the same key in the main subgroup",
            in: [
                "A": plain.key, "label": ascii(label), "x": x,
                "sig": made(x, key: false, nonce: false).signature,
            ], out: ["A": plain.key])
        invalid(
            "R displaced, under a key of the main subgroup", "CofactoredOnly", "altered", base: plainBase,
            in: ["sig": plain.signature])
    }

    private func addSignatures() {
        group("verifyLabel")
        for label in labels(.sign) {
            let draw = draw()
            let (pair, x) = (SigningPair(seed: draw("seed", 32)), draw("x", 100))
            let signature = pair.sign(label, x)
            let base = valid(
                label, in: ["A": pair.publicKey, "label": ascii(label), "x": x, "sig": signature],
                mid: ["input": prefixed(ascii(label)) + x], out: ["A": pair.publicKey])
            for other in labels(.sign) where other != label {
                invalid(
                    "\(label) taken for \(other)", "CrossTypeSignature", "altered", base: base,
                    in: ["label": ascii(other)])
            }
            invalid("S + L", "NonCanonicalS", "altered", base: base, in: ["sig": EdgeSignature.addingOrder(signature)])
            invalid("63 bytes", "Truncated", "altered", base: base, in: ["sig": Bytes(signature.dropLast())])
            invalid("65 bytes", "TrailingData", "altered", base: base, in: ["sig": signature + [0]])
            invalid("another key", "WrongSigner", "altered", base: base, in: ["A": Cast.anna.newest.signing.publicKey])
        }
    }
}
