// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Names volumes that stand for all packs up to an entry (SPEC §19). Additive: a rule that it breaks makes it void.
package struct CheckpointBody: LogBody {
    static let type: UInt16 = 129
    /// The maximum number of volumes: 10 000.
    static let maximumVolumeCount = 10_000

    /// The sequence number of the last entry whose pack the volumes stand for.
    package let upto: UInt64
    /// The epoch under which the volumes are sealed.
    package let epoch: UInt64
    /// The volumes, in the order of what they hold.
    package let volumes: [Blob]

    /// Takes the fields; the rules are checked by the log.
    package init(upto: UInt64, epoch: UInt64, volumes: [Blob]) {
        self.upto = upto
        self.epoch = epoch
        self.volumes = volumes
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        upto = try decoder.integer()
        epoch = try decoder.integer()
        volumes = try decoder.list(of: 0, counted: UInt16.self, byteCount: Blob.byteCount) {
            (decoder) throws(TresorError) in try Blob(from: &decoder)
        }
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(upto)
        encoder.integer(epoch)
        encoder.list(volumes, counted: UInt16.self) { $1.encode(into: &$0) }
    }

    var type: UInt16 { Self.type }
    var name: String { "checkpoint" }
    var change: LogRecord.Change { .additive(type: type) }

    /// Whether the author may write any additive body. That the author is an owner is for ``check(_:in:)``.
    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isWriter }

    /// R15 for this body, R38 to R42.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        let before = validator.before
        try validator.require(.r15, state.role(of: validator.entry.author, at: before) == .owner)
        try validator.requireBlobs(volumes, atMost: Self.maximumVolumeCount) { _ in Blob.greatestPackSize }
        try validator.requireCurrent(epoch, in: state)
        try validator.require(.r41, upto > state.floor && upto <= before)
        try validator.require(.r42, state.firstNewcomer(at: before).map { upto < $0 } ?? true)
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        state.floor = upto
        state.checkpoint = effect.entry.sequence
    }
}
