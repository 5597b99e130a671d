// SPDX-License-Identifier: Apache-2.0

import Tresor

/// Epochs and names.
extension Operation {
    static func checkKeys(_ input: VectorFields) throws -> VectorFields {
        let epoch = try input.bytes("epoch")
        try Conformance.checkKeys(input.bytes("keys"), of: epoch, in: input.tresor())
        return VectorFields(["epoch": Array(epoch.prefix(8))])
    }

    static func openBackLink(_ input: VectorFields) throws -> VectorFields {
        let links = try Conformance.openBackLink(input.bytes("keys"), of: input.tresor(), epochs: input.list("epochs"))
        return VectorFields().with("links", links.map { bigEndianBytes($0.epoch) + $0.keys })
    }

    static func openName(_ input: VectorFields) throws -> VectorFields {
        let opened = try Conformance.openName(
            input.bytes("sealed name"), contentKey: input.bytes("TK"), tresor: input.tresor(),
            epoch: input.integer("epoch"),
            sequence: input.integer("sequence"))
        return VectorFields(["name": opened.name.bytes, "kind": opened.kind.bytes])
    }
}
