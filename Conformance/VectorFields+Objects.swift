// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The objects that several operations read from their fields.
extension VectorFields {
    func label() throws -> DomainLabel {
        let name = String(decoding: try bytes("label"), as: UTF8.self)
        if let known = DomainLabel.registry.first(where: { $0.label.text == name }) { return known.label }
        return try DomainLabel(application: name)
    }

    func identity() throws -> Identity {
        try Conformance.identity(chain: bytes("chain"), seed: bytes("S"), previous: list("previous"))
    }

    /// The state of the log.
    func state() throws -> LogState { try FoldedLogs.state(of: list("log"), tresor: tresor()) }

    /// A home with the given pins, identity and pinned heads.
    func client(store: any Store = ScriptedStore(tresor: TresorID(.zero))) throws -> Client {
        var objects: [HomeObject: [UInt8]] = [.pins: try bytes("pins")]
        objects[.identity] = try optional("identity file")
        objects[.heads] = try optional("heads")
        let now = try optional("now") == nil ? 0 : try integer("now")
        return Client(home: SelftestHome(objects), store: store, clock: { now })
    }
}
