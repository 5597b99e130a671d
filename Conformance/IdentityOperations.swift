// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Cards, identity files and passwords.
enum IdentityOperations {
    static func readChain(_ input: VectorFields) throws -> VectorFields {
        let chain = try CardChain(input.bytes("chain"))
        return VectorFields([
            "user": chain.user.digest.bytes, "handle": chain.handle.bytes,
            "generation": bigEndianBytes(chain.newest.generation), "card hash": chain.newest.hash.bytes,
            "number": Array(try chain.number().digits.utf8),
        ])
    }

    static func compareNumber(_ input: VectorFields) throws -> VectorFields {
        let chain = try CardChain(input.bytes("chain"))
        let number = try chain.number()
        try chain.compareNumber(SafetyNumber(typed: String(decoding: input.bytes("typed"), as: UTF8.self)))
        return VectorFields(["number": Array(number.digits.utf8)])
    }

    static func readIdentityFile(_ input: VectorFields) throws -> VectorFields {
        VectorFields(["file": try IdentityFile(input.bytes("file")).bytes])
    }

    static func prepare(_ input: VectorFields) throws -> VectorFields {
        let password = try Password(typed: input.secret("typed"))
        return VectorFields(["prepared": password.bytes.span.publicBytes])
    }

    static func setPassword(_ input: VectorFields) throws -> VectorFields {
        let password = try Password(typed: input.secret("typed"))
        guard password.count >= Password.shortestNew else { throw TresorError.usage(.passwordTooShort) }
        return VectorFields(["prepared": password.bytes.span.publicBytes])
    }

    static func openWithPassword(_ input: VectorFields) throws -> VectorFields {
        let file = try IdentityFile(input.bytes("file"))
        return opened(try file.open(withPassword: try Password(typed: input.secret("typed"))))
    }

    static func openWithKit(_ input: VectorFields) throws -> VectorFields {
        let kit = try RecoveryKit(typed: input.secret("words"))
        return opened(try IdentityFile(input.bytes("file")).open(withKit: kit))
    }

    static func openWithDevice(_ input: VectorFields) throws -> VectorFields {
        let file = try IdentityFile(input.bytes("file"))
        return opened(
            try Conformance.open(
                file, deviceShare: input.bytes("device share"), serverShare: input.bytes("server share"),
                now: input.integer("now")))
    }

    private static func opened(_ identity: Identity) -> VectorFields {
        VectorFields(["user": identity.user.digest.bytes, "generation": bigEndianBytes(identity.generation)])
    }
}
