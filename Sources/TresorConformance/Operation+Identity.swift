// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Cards, identity files and passwords.
extension Operation {
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

    /// A home with the given pins, identity and pinned heads.
    static func client(_ input: VectorFields, store: any Store = ScriptedStore(tresor: TresorID(.zero))) throws
        -> Client
    {
        var objects: [HomeObject: [UInt8]] = [.pins: try input.bytes("pins")]
        objects[.identity] = try input.optional("identity file")
        objects[.heads] = try input.optional("heads")
        let now = try input.optional("now") == nil ? 0 : try input.integer("now")
        return Client(home: SelftestHome(objects), store: store, clock: { now })
    }

    static func founderTrust(_ input: VectorFields) throws -> VectorFields {
        let state = try FoldedLogs.state(of: input.list("log"), tresor: input.tresor())
        let word =
            switch try client(input).trust.founderTrust(in: state) {
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
                replacing: input.bytes("replacing") == [1])
        ])
    }

    static func openNames(_ input: VectorFields) throws -> VectorFields {
        let identity = try Conformance.identity(
            chain: input.bytes("chain"), seed: input.bytes("S"), previous: input.list("previous"))
        let names = try Conformance.openNames(input.bytes("sealed names"), as: identity)
        return VectorFields().with("tresors", names.map(\.tresor.digest.bytes)).with("names", names.map(\.name.bytes))
    }

    static func openMarks(_ input: VectorFields) throws -> VectorFields {
        let identity = try Conformance.identity(
            chain: input.bytes("chain"), seed: input.bytes("S"), previous: input.list("previous"))
        let marks = try Conformance.openMarks(input.bytes("sealed marks"), as: identity)
        return VectorFields().with("tresors", marks.map(\.tresor.digest.bytes)).with("flags", marks.map { [$0.flags] })
    }

    static func setPassword(_ input: VectorFields) throws -> VectorFields {
        let password = try Password(typed: input.secret("typed"))
        guard password.count >= Password.shortestNew else { throw TresorError.usage }
        return VectorFields(["prepared": password.bytes.span.publicBytes])
    }

    static func trust(_ input: VectorFields) throws -> VectorFields {
        let client = try client(input)
        switch try client.people.trust(in: CardChain(input.bytes("chain"))) {
        case .verified: return VectorFields(["trust": Array("verified".utf8)])
        case .me: return VectorFields(["trust": Array("me".utf8)])
        case .renewed, .changed, .unverified: throw TresorError.unverified
        }
    }

    static func readIdentityFile(_ input: VectorFields) throws -> VectorFields {
        VectorFields(["file": try IdentityFile(input.bytes("file")).bytes])
    }

    static func prepare(_ input: VectorFields) throws -> VectorFields {
        let password = try Password(typed: input.secret("typed"))
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
                file, deviceShare: input.bytes("device half"), serverShare: input.bytes("store half"),
                now: input.integer("now")))
    }

    private static func opened(_ identity: Identity) -> VectorFields {
        VectorFields(["user": identity.user.digest.bytes, "generation": bigEndianBytes(identity.generation)])
    }
}
