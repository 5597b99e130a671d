// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The exchange of two machines of one person (SPEC §8.6).
enum DeviceOperations {
    static func readCode(_ input: VectorFields) throws -> VectorFields {
        let code = try DeviceCode(typed: input.secret("typed"))
        let text = try code.text()
        let locator = try code.key().locator()
        return VectorFields([
            "code": code.bytes.span.publicBytes, "text": text.span.publicBytes, "locator": locator.bytes,
        ])
    }

    static func readOffer(_ input: VectorFields) throws -> VectorFields {
        let key = try DeviceCode(input.secret("code")).key()
        let offer = try DeviceOffer(input.bytes("offer"), under: key)
        return VectorFields([
            "kem key": offer.kemKey.bytes, "until": bigEndianBytes(offer.until), "number": Array(offer.number.utf8),
        ])
    }

    static func openAnswer(_ input: VectorFields) throws -> VectorFields {
        let key = try DeviceCode(input.secret("code")).key()
        let offer = try DeviceOffer(input.bytes("offer"), under: key)
        let seed = try SecretKey<KEMUse>(input.secret("seed"))
        let bundle = try DeviceAnswer(input.bytes("answer"), to: offer, under: key).open(with: seed)
        let receipt = try key.receipt(of: input.bytes("answer"), to: offer.bytes)
        return VectorFields([
            "user": bundle.identity.user.digest.bytes, "generation": bigEndianBytes(bundle.identity.generation),
            "file": bundle.belongings.file.bytes, "store": bundle.belongings.store?.bytes ?? [],
            "receipt": receipt.bytes,
        ]).with("objects", bundle.belongings.objects)
    }
}
