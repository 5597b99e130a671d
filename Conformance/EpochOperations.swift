// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The keys and names of epochs (SPEC §9.5, §9.6).
enum EpochOperations {
    static func checkKeys(_ input: VectorFields) throws -> VectorFields {
        let epoch = try input.bytes("epoch")
        try Conformance.checkKeys(input.bytes("keys"), of: epoch, in: input.tresor())
        return VectorFields(["epoch": Array(epoch.prefix(8))])
    }

    static func openBackLink(_ input: VectorFields) throws -> VectorFields {
        let links = try Conformance.openBackLink(input.bytes("keys"), of: input.tresor(), epochs: input.list("epochs"))
        return VectorFields().with("links", links.map { bigEndianBytes($0.epoch) + $0.keys })
    }

    static func openWrap(_ input: VectorFields) throws -> VectorFields {
        let identity = try Conformance.identity(
            chain: input.bytes("own chain"), seed: input.bytes("S"), previous: input.list("previous"))
        return VectorFields([
            "keys": try Conformance.openWrap(
                input.bytes("wrap"), tresor: input.tresor(), epoch: input.bytes("epoch"),
                chain: CardChain(input.bytes("chain")), history: input.integer("history"), as: identity)
        ])
    }

    static func keysOf(_ input: VectorFields) async throws -> VectorFields {
        let identity = try input.identity()
        let state = try input.state()
        let store = ScriptedStore(tresor: state.tresor)
        for row in try input.list("wraps") {
            guard row.count >= 8 else { throw VectorProblem("a wrap without its epoch") }
            let epoch = row[..<8].reduce(0) { $0 << 8 | UInt64($1) }
            await store.add(Array(row[8...]), user: identity.user, epoch: epoch)
        }
        // People who waited need the approval, which stands in the log.
        await store.show(try input.list("log"))
        if try input.optional("store fails") == [1] { await store.fail() }
        var kept: [HomeObject: [UInt8]] = [:]
        kept[.wraps] = try input.optional("kept wraps")
        let session = Conformance.session(
            Client(home: SelftestHome(kept), store: store, clock: { 0 }), identity: identity)
        return VectorFields([
            "keys": try await Conformance.keys(of: input.integer("e"), in: state, for: session)
        ])
    }

    static func openName(_ input: VectorFields) throws -> VectorFields {
        let opened = try Conformance.openName(
            input.bytes("sealed name"), contentKey: input.bytes("TK"), tresor: input.tresor(),
            epoch: input.integer("epoch"), sequence: input.integer("sequence"))
        return VectorFields(["name": opened.name.bytes, "kind": opened.kind.bytes])
    }
}
