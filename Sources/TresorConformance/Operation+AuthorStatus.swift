// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The status of an author (SPEC §10.6).
extension Operation {
    static func standing(_ input: VectorFields) throws -> VectorFields {
        let state = try FoldedLogs.state(of: input.list("log"), tresor: input.tresor())
        let generation = UInt32(truncatingIfNeeded: try input.integer("generation"))
        let user = UserID(try input.digest("user"))
        let head = try input.integer("sequence")
        let home = try input.optional("pins") == nil ? nil : try client(input)
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
