// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorRecords
import TresorCrypto

/// The knowledge of a home about people and tresors (SPEC §7.5, §8.5).
enum HomeOperations {
    static func trust(_ input: VectorFields) throws -> VectorFields {
        let client = try input.client()
        switch try client.people.trustBlocking(in: CardChain(input.bytes("chain"))) {
        case .verified: return VectorFields(["trust": Array("verified".utf8)])
        case .me: return VectorFields(["trust": Array("me".utf8)])
        case .renewed, .changed, .unverified: throw TresorError.unverified
        }
    }

    static func founderTrust(_ input: VectorFields) throws -> VectorFields {
        let state = try input.state()
        let word =
            switch try input.client().trust.founderTrustBlocking(in: state) {
            case .me: "me"
            case .verified: "verified"
            case .renewed: "renewed"
            case .changed: "changed"
            case .unverified: "unverified"
            }
        return VectorFields(["trust": Array(word.utf8)])
    }

    static func pin(_ input: VectorFields) throws -> VectorFields {
        VectorFields([
            "pins": try Conformance.pin(
                CardChain(input.bytes("chain")), in: input.bytes("pins"), time: input.integer("now"),
                replacing: input.bytes("replacing") == [1], beside: input.optional("beside") == [1])
        ])
    }

    static func giveUp(_ input: VectorFields) throws -> VectorFields {
        var pins = try Pins(input.bytes("pins"))
        try pins.giveUp(UserID(try input.digest("user")))
        return VectorFields(["pins": pins.bytes])
    }

    static func openNames(_ input: VectorFields) throws -> VectorFields {
        let identity = try input.identity()
        let names = try Conformance.openNames(input.bytes("sealed names"), as: identity)
        return VectorFields().with("tresors", names.map(\.tresor.digest.bytes)).with("names", names.map(\.name.bytes))
    }

    static func openOutbox(_ input: VectorFields) throws -> VectorFields {
        let tresor = try input.tresor()
        let outbox = try Outbox(sealed: input.bytes("sealed outbox"), of: tresor, as: input.identity())
        return VectorFields().with("outbox", outbox.bytes)
    }

    static func openPiece(_ input: VectorFields) throws -> VectorFields {
        let number = HeldNumber(UInt16(clamping: try input.integer("number")), mark: try input.integer("mark"))
        let piece = try Outbox.openPiece(
            input.bytes("sealed piece"), input.integer("place"), of: number, in: input.tresor(), as: input.identity())
        return VectorFields().with("piece", piece)
    }

    static func openMarks(_ input: VectorFields) throws -> VectorFields {
        let identity = try input.identity()
        let marks = try Conformance.openMarks(input.bytes("sealed marks"), as: identity)
        return VectorFields().with("tresors", marks.map(\.tresor.digest.bytes)).with("flags", marks.map { [$0.flags] })
    }
}
