// SPDX-License-Identifier: Apache-2.0

/// Ends the author's own membership. It has no fields.
struct LeaveBody: LogBody {
    static let type: UInt16 = 6

    func encode(into encoder: inout ByteEncoder) {}

    var type: UInt16 { Self.type }
    var name: String { "leave" }
    var change: LogRecord.Change { .left }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { true }

    /// R26.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        let author = validator.entry.author
        try validator.require(
            .r26, state.members[author]?.role != .owner || state.lastingOwners(without: [author]) > 0)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        effect.dismiss(effect.entry.author, .left, from: &state)
        effect.mark(rekeyPending: true, in: &state)
    }
}
