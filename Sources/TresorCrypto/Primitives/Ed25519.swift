// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// The use of a 32-byte Ed25519 seed (RFC 8032).
package enum SigningUse: KeyUse {}

/// Ed25519 signatures, verified by one rule (SPEC §5.2): S < L; A canonical and not of small order; R not of small
/// order; R equal byte for byte to the encoding of S·B − h·A. No cofactor.
package enum Ed25519 {
    /// The size of a signature in bytes: 64.
    package static let signatureByteCount = 64

    /// Whether `signature` is valid for `message` under `publicKey` (32 bytes).
    ///
    /// - Throws: ``TresorError/altered`` for an invalid signature or another size.
    package static func verify(
        _ signature: [UInt8], of message: [UInt8], by publicKey: Hash256
    ) throws(TresorError) {
        try Sodium.start()
        let isSigned =
            unsafe signature.count == signatureByteCount
            && crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey.bytes) == 0
        guard isSigned else { throw .altered }
    }
}

/// A signing key. The public key is always derived from the seed, so the two always belong together.
package struct SigningKey: ~Copyable, Sendable {
    private let expanded: SecretBytes
    /// The 32-byte public key.
    package let publicKey: Hash256

    /// Expands a seed.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package init(seed: borrowing SecretKey<SigningUse>) throws(TresorError) {
        let expanded = try SecretBytes(count: 64)
        var publicBytes = [UInt8](repeating: 0, count: 32)
        let source = seed.span
        try unsafe expanded.withMutablePointer { (pointer) throws(TresorError) in
            let status = unsafe source.withUnsafeBufferPointer { seed -> Int32 in
                guard let base = seed.baseAddress else { return -1 }
                return unsafe crypto_sign_seed_keypair(&publicBytes, pointer, base)
            }
            guard status == 0 else { throw .failed(.library) }
        }
        guard let publicKey = Hash256(publicBytes) else { throw .failed(.library) }
        self.expanded = expanded
        self.publicKey = publicKey
    }

    /// Signs `message`: 64 bytes.
    package borrowing func sign(_ message: [UInt8]) throws(TresorError) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Ed25519.signatureByteCount)
        try unsafe expanded.withMutablePointer { (pointer) throws(TresorError) in
            guard unsafe crypto_sign_detached(&signature, nil, message, UInt64(message.count), pointer) == 0 else {
                throw .failed(.library)
            }
        }
        return signature
    }
}
