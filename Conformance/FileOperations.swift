// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Sealed files, and the status of their authors (SPEC §10).
enum FileOperations {
    static func openFile(_ input: VectorFields) throws -> VectorFields {
        let state = try input.state()
        let opened = try Conformance.openFile(input.bytes("file"), contentKey: input.bytes("TK"), in: state)
        if let tresor = try input.optional("expected tresor") {
            guard opened.tresor.digest.bytes == tresor else { throw TresorError.altered }
        }
        if let record = try input.optional("expected record") {
            guard opened.record.bytes == record else { throw TresorError.altered }
        }
        if let author = try input.optional("expected author") {
            guard opened.author.user.digest.bytes == author else { throw TresorError.altered }
        }
        try opened.type.checkIsOfContents()
        if try input.optional("current author") == [1], opened.author.status != .current {
            throw TresorError.noAccess
        }
        var hash = try BLAKE2b(outputCount: 32)
        try hash.update(opened.content.span)
        return VectorFields([
            "content hash": try hash.finalize(), "content size": bigEndianBytes(UInt64(opened.content.count)),
        ])
    }

    static func standing(_ input: VectorFields) throws -> VectorFields {
        let state = try input.state()
        let generation = UInt32(truncatingIfNeeded: try input.integer("generation"))
        let user = UserID(try input.digest("user"))
        let head = try input.integer("sequence")
        let home = try input.optional("pins") == nil ? nil : try input.client()
        switch try Conformance.authorStatus(of: user, generation: generation, since: head, in: state, for: home) {
        case .current: return VectorFields(["standing": Array("current".utf8)])
        case .former(let former):
            let reason = former.cause.rawValue.utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: " ") : $0 }
            return VectorFields([
                "standing": Array("former".utf8), "reason": reason, "time": bigEndianBytes(former.time),
            ])
        }
    }
}
