// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TresorCrypto

/// The parts of X-Wing, one by one, for published vectors (SPEC §5.4). The product uses them together alone.
enum PublishedPrimitives {
    /// Computes X25519 (RFC 7748) with the library of X-Wing, and refuses points of low order as X-Wing does.
    ///
    /// - Throws: ``TresorError/altered`` for a point of low order, or other sizes.
    static func x25519(scalar: [UInt8], point: [UInt8]) throws(TresorError) -> [UInt8] {
        guard scalar.count == 32, point.count == 32, try !XWing.isLowOrder(point) else { throw .altered }
        do {
            let key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: scalar)
            let secret = try key.sharedSecretFromKeyAgreement(with: .init(rawRepresentation: point))
            return secret.withUnsafeBytes { Array($0) }
        } catch {
            throw .altered
        }
    }

    /// Derives the ML-KEM-768 public key of a 64-byte seed.
    ///
    /// - Throws: ``TresorError/altered`` for another size.
    static func mlkemPublicKey(seed: [UInt8]) throws(TresorError) -> [UInt8] {
        do {
            return Array(
                try MLKEM768.PrivateKey(seedRepresentation: Data(seed), publicKey: nil).publicKey.rawRepresentation)
        } catch {
            throw .altered
        }
    }

    /// Decapsulates with ML-KEM-768. A ciphertext of the right size always gives a key.
    ///
    /// - Throws: ``TresorError/altered`` for other sizes.
    static func mlkemDecapsulate(seed: [UInt8], ciphertext: [UInt8]) throws(TresorError) -> [UInt8] {
        do {
            let key = try MLKEM768.PrivateKey(seedRepresentation: Data(seed), publicKey: nil)
            let secret = try key.decapsulate(Data(ciphertext))
            return secret.withUnsafeBytes { Array($0) }
        } catch {
            throw .altered
        }
    }

    /// Decapsulates with X-Wing.
    ///
    /// - Throws: ``TresorError/altered`` for other sizes.
    static func xwingDecapsulate(seed: [UInt8], encapsulated: [UInt8]) throws(TresorError) -> [UInt8] {
        do {
            let key = try XWingMLKEM768X25519.PrivateKey(seedRepresentation: Data(seed), publicKey: nil)
            let secret = try key.decapsulate(Data(encapsulated))
            return secret.withUnsafeBytes { Array($0) }
        } catch {
            throw .altered
        }
    }
}
