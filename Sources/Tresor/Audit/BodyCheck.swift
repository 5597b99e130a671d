// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// Names the additive bodies of a verified log that have no effect here. It takes the entries in order.
struct BodyCheck {
    let state: LogState
    /// The floor before the next entry.
    private var floor: UInt64 = 0

    init(_ state: LogState) { self.state = state }

    /// Reports a body that breaks a rule, and one of a type that this release does not know: it is valid, and its
    /// effect is not seen here.
    mutating func remark(on bytes: [UInt8]) throws(TresorError) -> Finding.Remark? {
        let entry = try Entry(bytes)
        if let rule = state.voidRule(of: entry, floor: floor) {
            return .voidBody(sequence: entry.sequence, rule: rule)
        }
        switch try entry.body {
        case .checkpoint(let checkpoint):
            floor = checkpoint.upto
            return nil
        case .additive(let additive): return .unknownBody(sequence: entry.sequence, type: additive.type)
        default: return nil
        }
    }
}
