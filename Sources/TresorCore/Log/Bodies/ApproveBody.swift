// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Admits the people who wait by a grant (SPEC §9.2). It carries the approval keys, so that no store can exchange or
/// lose them.
package struct ApproveBody: LogBody {
    static let type: UInt16 = 3

    /// The hash of the grant.
    package let grant: Hash256
    /// The epoch that is current.
    package let epoch: UInt64
    /// The approval keys of each person who waits by the grant, by rising user id.
    package let releases: [Release]

    /// Takes the fields; the rules are checked by the log.
    package init(grant: Hash256, epoch: UInt64, releases: [Release]) {
        self.grant = grant
        self.epoch = epoch
        self.releases = releases
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        grant = try decoder.digest()
        epoch = try decoder.integer()
        releases = try decoder.people { (decoder) throws(TresorError) in try Release(from: &decoder) }
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.digest(grant)
        encoder.integer(epoch)
        encoder.people(releases) { $1.encode(into: &$0) }
    }

    var type: UInt16 { Self.type }
    var name: String { "approve" }
    var change: LogRecord.Change { .approved(users, grant: grant) }
    var users: [UserID] { releases.map(\.user) }

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author == .approver }

    /// R35 to R37.
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        let waiting = state.waiting(by: grant)
        try validator.require(.r35, !waiting.isEmpty)
        try validator.require(.r36, epoch == state.epoch)
        try validator.require(.r37, users == waiting)
        for release in releases { try validator.require(.r37, release.fits(state)) }
    }

    func apply(_ effect: EntryEffect, to state: inout LogState) {
        let entry = effect.entry
        for user in state.waiting(by: grant) {
            guard let asked = state.waiting.removeValue(forKey: user) else { continue }
            state.members[user] = Member(
                role: asked.role, history: asked.history, notAfter: asked.notAfter, since: entry.sequence,
                sinceTime: entry.time, admittedBy: asked.admittedBy, approvedBy: entry.author)
            state.changes[user, default: []].append(effect.record(.admitted(asked.role), notAfter: asked.notAfter))
        }
    }
}
