// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Begins an epoch for the present members.
package struct EpochBody: LogBody {
    static let type: UInt16 = 8

    package let epoch: Epoch

    package init(_ epoch: Epoch) { self.epoch = epoch }

    init(from decoder: inout ByteDecoder) throws(TresorError) { epoch = try Epoch(from: &decoder) }

    func encode(into encoder: inout ByteEncoder) { epoch.encode(into: &encoder) }

    var type: UInt16 { Self.type }
    var name: String { "epoch" }
    var nextEpoch: Epoch? { epoch }
    var change: LogRecord.Change { .rotated }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool {
        guard case .member(let member) = author else { return false }
        return switch member.role {
        case .owner: true
        case .writer: state.isRekeyPending && member.history == .all
        case .reader: false
        }
    }

    /// R23, R48.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        try validator.requireNext(epoch, in: state)
        try validator.requireFresh(epoch, in: state)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) { effect.begin(epoch, in: &state) }
}
