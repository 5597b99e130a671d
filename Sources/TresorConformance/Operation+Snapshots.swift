// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Snapshots of a log (SPEC §9.10).
extension Operation {
    static func keepState(_ input: VectorFields) throws -> VectorFields {
        let state = try FoldedLogs.state(of: input.list("log"), tresor: input.tresor())
        return VectorFields(["kept state": try Conformance.snapshot(state, of: identity(input))])
    }

    static func openKeptState(_ input: VectorFields) throws -> VectorFields {
        fields(
            of: try Conformance.openSnapshot(input.bytes("kept state"), of: input.tresor(), as: identity(input)))
    }

    private static func identity(_ input: VectorFields) throws -> Identity {
        try Conformance.identity(
            chain: input.bytes("chain"), seed: input.bytes("S"), previous: input.list("previous"))
    }
}
