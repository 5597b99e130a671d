// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Objects, armour, names, numbers and words.
enum EncodingOperations {
    static func reencode(_ input: VectorFields) throws -> VectorFields {
        guard let magic = Magic(rawValue: String(decoding: try input.bytes("magic"), as: UTF8.self)) else {
            throw VectorProblem("unknown magic")
        }
        return VectorFields(["object": try Conformance.reencode(magic, input.bytes("object"))])
    }

    static func evidence(_ input: VectorFields) throws -> VectorFields {
        let head = Head(sequence: try input.integer("sequence"), hash: try input.digest("hash"))
        let evidence = try Conformance.evidence(
            of: input.tresor(), head: head, verified: input.bytes("verified"), shown: input.bytes("shown"))
        return VectorFields(["evidence": evidence.bytes, "evidence hash": evidence.name.bytes])
    }

    static func dearmour(_ input: VectorFields) throws -> VectorFields {
        guard let kind = Armour(rawValue: String(decoding: try input.bytes("kind"), as: UTF8.self)) else {
            throw VectorProblem("unknown kind of armour")
        }
        return VectorFields(["bytes": try kind.dearmour(input.bytes("text"))])
    }

    static func id(_ input: VectorFields) throws -> VectorFields {
        VectorFields(["text": Array(Base32.text(try input.bytes("id")).utf8)])
    }

    static func namedBy(_ input: VectorFields) throws -> VectorFields {
        let typed = String(decoding: try input.bytes("typed"), as: UTF8.self)
        guard Base32.namedBy(typed, try input.bytes("id")) else { throw TresorError.notFound }
        return VectorFields(["id": try input.bytes("id")])
    }

    static func typeName(_ input: VectorFields) throws -> VectorFields {
        guard let text = String(validating: try input.bytes("typed"), as: UTF8.self) else {
            throw TresorError.usage(.nameCharacters)
        }
        return VectorFields(["name": try Name(typed: text).bytes])
    }

    static func typeNumber(_ input: VectorFields) throws -> VectorFields {
        let number = try SafetyNumber(typed: String(decoding: input.bytes("typed"), as: UTF8.self))
        return VectorFields(["digits": Array(number.digits.utf8), "number-shown": Array(number.grouped.utf8)])
    }

    static func readKit(_ input: VectorFields) throws -> VectorFields {
        let kit = try RecoveryKit(typed: input.secret("words"))
        let words = try kit.words()
        return VectorFields(["K": kit.key.span.publicBytes, "words": words.span.publicBytes])
    }

    static func exitCode(_ input: VectorFields) throws -> VectorFields {
        guard let name = ErrorName(rawValue: String(decoding: try input.bytes("error"), as: UTF8.self)) else {
            throw TresorError.usage(.outOfBounds)
        }
        return VectorFields(["exit code": [UInt8(truncatingIfNeeded: name.exitCode)]])
    }
}
