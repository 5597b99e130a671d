// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// TC1, keys derived with it, and labels (SPEC §6, §16).
enum SealingOperations {
    static func derive(_ input: VectorFields) throws -> VectorFields {
        let key = try SecretKey<VectorUse>(input.secret("K"))
        let context = try input.bytes("context")
        let derived: SecretKey<VectorUse> = try key.derive(input.label(), context: context.span)
        return VectorFields(["key": derived.span.publicBytes])
    }

    static func open(_ input: VectorFields) throws -> VectorFields {
        let key = try SecretKey<VectorUse>(input.secret("K"))
        let context = try input.bytes("context")
        let sealed = try input.bytes("sealed")
        return VectorFields([
            "plaintext": try TC1.open(sealed.span, with: key, label: input.label(), context: context.span)
        ])
    }

    static func hash(_ input: VectorFields) throws -> VectorFields {
        let label = try input.label()
        var hash = try BLAKE2b(outputCount: label == .contentHash ? 64 : 32)
        try hash.update(label.message(input.bytes("x")).span)
        return VectorFields(["hash": try hash.finalize()])
    }

    static func registered(_ input: VectorFields) throws -> VectorFields {
        let (label, use) = (try input.bytes("label"), try input.bytes("use"))
        guard
            DomainLabel.registry.contains(where: {
                Array($0.label.text.utf8) == label && Array($0.use.rawValue.utf8) == use
            })
        else { throw TresorError.usage(.domainLabel) }
        return VectorFields(["label": label])
    }

    static func verifyLabel(_ input: VectorFields) throws -> VectorFields {
        let key = try input.digest("A")
        try Ed25519.verify(input.bytes("sig"), of: input.label().message(input.bytes("x")), by: key)
        return VectorFields(["A": key.bytes])
    }
}
