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
            switch try input.client().trust.founderTrust(in: state) {
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

    static func takeKnown(_ input: VectorFields) throws -> VectorFields {
        var known = KnownPeople()
        for (user, content) in zip(try input.list("users"), try input.list("contents")) {
            guard let digest = Hash256(user) else { throw TresorError.altered }
            try known.add(content, of: UserID(digest))
        }
        var pins = try Pins(input.bytes("pins"))
        let outcome = pins.takeKnown(
            known, as: try CardChain(input.bytes("chain")), at: try input.integer("now"))
        func users(_ chains: [CardChain]) -> [[UInt8]] { chains.map(\.user).sorted().map(\.digest.bytes) }
        return VectorFields(["pins": pins.bytes])
            .with("conflicts", users(outcome.conflicts.map(\.chain))).with("ended", users(outcome.ended))
            .with("news", pins.news(beyond: known).map(\.chain.user.digest.bytes))
    }

    static func takeHeads(_ input: VectorFields) throws -> VectorFields {
        var said: [TresorID: [Head]] = [:]
        for (tresor, content) in zip(try input.list("tresors"), try input.list("contents")) {
            guard let digest = Hash256(tresor) else { throw TresorError.altered }
            said[TresorID(digest), default: []].append(try Head(recordContent: content))
        }
        var heads = try PinnedHeads(input.bytes("heads"))
        heads.takeHeads(said)
        return VectorFields(["heads": heads.bytes])
    }

    static func giveUp(_ input: VectorFields) throws -> VectorFields {
        var pins = try Pins(input.bytes("pins"))
        try pins.giveUp(UserID(try input.digest("user")), time: try input.integer("now"))
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
