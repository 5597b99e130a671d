// SPDX-License-Identifier: Apache-2.0

import Csodium
import Crypto
import Foundation

/// The generator runs only on its own inputs, so a failure here is a mistake in the generator.
func must<Value: ~Copyable>(_ body: @autoclosure () throws -> Value) -> Value {
    do {
        return try body()
    } catch {
        preconditionFailure("the generator failed: \(error)")
    }
}

func blake2b(_ count: Int, key: Bytes? = nil, _ input: Bytes) -> Bytes {
    var output = Bytes(repeating: 0, count: count)
    let status = crypto_generichash(&output, count, input, UInt64(input.count), key ?? [], key?.count ?? 0)
    precondition(status == 0)
    return output
}

/// `H(label, x)`.
func hash(_ label: String, _ input: Bytes) -> Bytes { blake2b(32, prefixed(ascii(label)) + input) }

/// `derive(K, label, context)`.
func derive(_ key: Bytes, _ label: String, _ context: Bytes = []) -> Bytes {
    blake2b(32, key: key, join(prefixed(ascii("tresor/v1/derive")), prefixed(ascii(label)), prefixed(context)))
}

struct SigningPair {
    let seed: Bytes
    let publicKey: Bytes
    private let expanded: Bytes

    init(seed: Bytes) {
        var publicKey = zeros(32)
        var expanded = zeros(64)
        precondition(crypto_sign_seed_keypair(&publicKey, &expanded, seed) == 0)
        self.seed = seed
        self.publicKey = publicKey
        self.expanded = expanded
    }

    /// `sign(seed, label, x)`.
    func sign(_ label: String, _ bytes: Bytes) -> Bytes {
        let message = prefixed(ascii(label)) + bytes
        var signature = zeros(64)
        precondition(crypto_sign_detached(&signature, nil, message, UInt64(message.count), expanded) == 0)
        return signature
    }
}

/// TC1 with every intermediate.
struct Sealing {
    let okm: Bytes
    let salt: Bytes
    let chunks: [Bytes]

    var messageKey: Bytes { okm.at(0, 32) }
    var commitment: Bytes { okm.at(32, 32) }
    var bytes: Bytes { join(salt, commitment, join(chunks)) }

    init(_ key: Bytes, _ label: String, _ context: Bytes, _ plaintext: Bytes, salt: Bytes) {
        okm = Self.okm(key, label, context, salt: salt)
        self.salt = salt
        let messageKey = Bytes(okm[..<32])
        let count = max(1, (plaintext.count + 65535) / 65536)
        chunks = (0..<count).map { index in
            let part = Bytes(plaintext[(index * 65536)..<min((index + 1) * 65536, plaintext.count)])
            return Self.chunk(part, key: messageKey, index: index, isLast: index == count - 1)
        }
    }

    static func okm(_ key: Bytes, _ label: String, _ context: Bytes, salt: Bytes) -> Bytes {
        blake2b(
            64, key: key,
            join(prefixed(ascii("tresor/v1/seal")), prefixed(ascii(label)), salt, prefixed(context)))
    }

    static func nonce(_ index: Int, isLast: Bool) -> Bytes { zeros(3) + u64(UInt64(index)) + [isLast ? 1 : 0] }

    static func chunk(_ part: Bytes, key: Bytes, index: Int, isLast: Bool) -> Bytes {
        chaChaPoly(part, key: key, nonce: nonce(index, isLast: isLast))
    }
}

func chaChaPoly(_ plaintext: Bytes, key: Bytes, nonce: Bytes) -> Bytes {
    var output = zeros(plaintext.count + 16)
    precondition(
        crypto_aead_chacha20poly1305_ietf_encrypt(
            &output, nil, plaintext, UInt64(plaintext.count), nil, 0, nil, nonce, key) == 0)
    return output
}

/// X-Wing with the encapsulation's randomness given, which no public interface takes. This target alone declares the
/// symbol.
@_silgen_name("CCryptoBoringSSL_XWING_encap_external_entropy")
private func encapsulateWithEntropy(
    _ ciphertext: UnsafeMutablePointer<UInt8>, _ sharedSecret: UnsafeMutablePointer<UInt8>,
    _ publicKey: UnsafePointer<UInt8>, _ eseed: UnsafePointer<UInt8>
) -> CInt

/// Keccak, for SHAKE-256 of a seed and the SHA3-256 of the combiner. This target alone declares the symbol.
@_silgen_name("CCryptoBoringSSL_BORINGSSL_keccak")
private func keccak(
    _ output: UnsafeMutablePointer<UInt8>, _ outputCount: Int, _ input: UnsafePointer<UInt8>, _ inputCount: Int,
    _ configuration: Int32)

private func sha3(_ input: Bytes) -> Bytes {
    var output = zeros(32)
    keccak(&output, 32, input, input.count, 0)
    return output
}

/// The result of a decapsulation that accepts zero for the X25519 secret instead of refusing a point of low order.
func decapsulatedWithoutCheck(_ enc: Bytes, seed: Bytes) -> Bytes {
    var expanded = zeros(96)
    keccak(&expanded, 96, seed, seed.count, 3)
    let key = must(try MLKEM768.PrivateKey(seedRepresentation: expanded.at(0, 64), publicKey: nil))
    let secret = must(try key.decapsulate(enc.at(0, 1088))).withUnsafeBytes { Bytes($0) }
    let label: Bytes = [0x5c, 0x2e, 0x2f, 0x2f, 0x5e, 0x5c]
    return sha3(join(secret, zeros(32), enc.at(1088, 32), kemPublicKey(seed: seed).at(1184, 32), label))
}

/// A wrap's encryption with every intermediate of SPEC §5.4.
struct HPKEWrapping {
    let eseed: Bytes
    let sharedSecret: Bytes
    let enc: Bytes
    let context: Bytes
    let secret: Bytes
    let key: Bytes
    let nonce: Bytes
    let ciphertext: Bytes

    private static let suite = ascii("HPKE") + [0x64, 0x7a, 0, 1, 0, 3]

    init(_ publicKey: Bytes, info: Bytes, plaintext: Bytes, eseed: Bytes) {
        var enc = zeros(1120)
        var shared = zeros(32)
        precondition(publicKey.count == 1216 && eseed.count == 64)
        precondition(encapsulateWithEntropy(&enc, &shared, publicKey, eseed) == 1)
        self.init(enc: enc, sharedSecret: shared, info: info, plaintext: plaintext, eseed: eseed)
    }

    init(enc: Bytes, sharedSecret: Bytes, info: Bytes, plaintext: Bytes, eseed: Bytes) {
        self.eseed = eseed
        self.enc = enc
        self.sharedSecret = sharedSecret
        context =
            join([0], Self.extract([], "psk_id_hash", []), Self.extract([], "info_hash", info))
        secret = Self.extract(sharedSecret, "secret", [])
        key = Self.expand(secret, "key", context, 32)
        nonce = Self.expand(secret, "base_nonce", context, 12)
        ciphertext = chaChaPoly(plaintext, key: key, nonce: nonce)
    }

    private static func extract(_ salt: Bytes, _ label: String, _ input: Bytes) -> Bytes {
        let labeled = join(ascii("HPKE-v1"), suite, ascii(label), input)
        return Bytes(HKDF<SHA256>.extract(inputKeyMaterial: SymmetricKey(data: labeled), salt: salt))
    }

    private static func expand(_ key: Bytes, _ label: String, _ info: Bytes, _ count: Int) -> Bytes {
        let labeled = join(u16(count), ascii("HPKE-v1"), suite, ascii(label), info)
        let output = HKDF<SHA256>.expand(pseudoRandomKey: key, info: labeled, outputByteCount: count)
        return output.withUnsafeBytes { Bytes($0) }
    }
}

/// The X-Wing public key of a seed.
func kemPublicKey(seed: Bytes) -> Bytes {
    let key = must(try XWingMLKEM768X25519.PrivateKey(seedRepresentation: seed, publicKey: nil))
    return Bytes(key.publicKey.rawRepresentation)
}

func sha256(_ bytes: Bytes) -> Bytes { Bytes(SHA256.hash(data: bytes)) }
