// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The effect of an act (SPEC §9.7).
enum ActOperations {
    static func act(_ input: VectorFields) async throws -> VectorFields {
        let identity = try input.identity()
        let state = try input.state()
        let session = Conformance.session(try input.client(), identity: identity)
        try Conformance.confirmMine(state.tresor, for: session)
        let effect = try session.tresors.effectBlocking(of: requested(input), in: state)
        func users(_ users: [UserID]) -> [[UInt8]] { users.sorted().map(\.digest.bytes) }
        return VectorFields([
            "remaining": bigEndianBytes(UInt64(effect.remaining)), "epoch": bigEndianBytes(effect.epoch ?? 0),
            "renames": [effect.renames ? 1 : 0], "generation": bigEndianBytes(effect.generation ?? 0),
        ]).with("admitted", users(effect.admitted)).with("changed", users(effect.changed))
            .with("dismissed", users(effect.dismissed)).with("already", users(effect.already))
    }

    static func superseded(_ input: VectorFields) throws -> VectorFields {
        let identity = try input.identity()
        let state = try input.state()
        let session = Conformance.session(try input.client(), identity: identity)
        return VectorFields().with("users", try session.tresors.superseded(in: state).map(\.digest.bytes))
    }

    /// Runs `settle` on a tresor whose store shows the log. The result is the part of the log appended by it.
    static func settle(_ input: VectorFields) async throws -> VectorFields {
        let identity = try input.identity()
        let tresor = try input.tresor()
        let log = try input.list("log")
        let store = ScriptedStore(tresor: tresor)
        await store.show(log)
        let session = Conformance.session(try input.client(store: store), identity: identity)
        try Conformance.confirmMine(tresor, for: session)
        if try input.optional("go on") == [1] { await session.tresors.acceptClock(in: tresor) }
        _ = try await session.tresors.settle(tresor)
        let settled = try Conformance.settled(await store.entries(of: tresor, from: UInt64(log.count), limit: .max))
        return VectorFields().with("cards", settled.cards).with("removed", settled.removed.map(\.digest.bytes))
    }

    private static func requested(_ input: VectorFields) throws -> Act {
        switch String(decoding: try input.bytes("act"), as: UTF8.self) {
        case "share":
            guard let role = Role(rawValue: UInt8(truncatingIfNeeded: try input.integer("role"))) else {
                throw VectorProblem("no role")
            }
            return .share(
                with: try input.list("people").map { try CardChain($0) }, role: role,
                fromNow: try input.bytes("from now") == [1],
                notAfter: try input.optional("not after") == nil ? nil : try input.integer("not after"))
        case "revoke": return .revoke(try input.list("users").compactMap { Hash256($0).map { UserID($0) } })
        case "leave": return .leave
        case "rotate": return .rotate
        case "rename": return .rename(try Name(input.bytes("name")))
        case "renew": return .renew
        default: throw VectorProblem("an unknown act")
        }
    }
}
