// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// Begins the log of a tresor. The founder writes it.
package struct GenesisBody: LogBody {
    static let type: UInt16 = 1

    package let root: Root
    package let founder: CardChain
    /// The people who approve each grant, by rising user id; nobody waits if there are none.
    package let approvers: [Approver]
    package let sealedName: SealedName
    package let epoch: Epoch

    package init(
        root: Root, founder: CardChain, approvers: [Approver], sealedName: SealedName, epoch: Epoch
    ) {
        self.root = root
        self.founder = founder
        self.approvers = approvers
        self.sealedName = sealedName
        self.epoch = epoch
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        root = try Root(from: &decoder)
        founder = try CardChain(try decoder.vector32(1...CardChain.maximumByteCount))
        approvers = try decoder.approvers()
        sealedName = try SealedName(from: &decoder)
        epoch = try Epoch(from: &decoder)
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.raw(root.bytes)
        encoder.vector32(founder.bytes)
        encoder.approvers(approvers)
        encoder.raw(sealedName.bytes)
        epoch.encode(into: &encoder)
    }

    var type: UInt16 { Self.type }
    var name: String { "genesis" }
    var nextEpoch: Epoch? { epoch }
    var change: LogRecord.Change { .created }
    var users: [UserID] { approvers.map(\.chain.user) }

    /// R7 to R9, R12, R34.
    func checkFirst(_ validator: EntryValidator) throws(Violation) {
        let entry = validator.entry
        try validator.require(.r7, (try? root.tresorID()) == entry.tresor)
        try validator.require(
            .r8,
            root.founder == entry.author && founder.user == entry.author && root.cardHash == founder.newest.hash
                && entry.generation == founder.newest.generation)
        try validator.require(.r9, epoch.number == 1 && epoch.backLink.isEmpty)
        try validator.require(.r12, validator.isSigned(by: founder.newest))
        try validator.requireApprovers(approvers.map(\.chain)) { $0.user != entry.author }
    }

    /// Makes the state after the first entry.
    func state(_ effect: EntryEffect) -> LogState {
        let entry = effect.entry
        let member = Member(
            role: .owner, history: .all, notAfter: nil, since: 0, sinceTime: entry.time, admittedBy: entry.author)
        var state = LogState(
            tresor: entry.tresor, root: root, head: Head(sequence: 0, hash: effect.hash), headTime: entry.time,
            members: [entry.author: member], epochs: [LogState.EpochRecord(epoch: epoch, sequence: 0)],
            chains: [entry.author: founder], name: LogState.NameRecord(sealed: sealedName, epoch: 1, sequence: 0),
            commitments: [epoch.contentCommitment, epoch.historyCommitment], hashes: [effect.hash],
            changes: [entry.author: [effect.record(.admitted(.owner))]],
            generations: [entry.author: [effect.record(of: founder)]], lastTimes: [entry.author: entry.time],
            ownerTime: entry.time, founderGeneration: entry.generation)
        effect.name(approvers, in: &state)
        return state
    }

    // The following concern a genesis after the first entry, which R6 refuses before it is read.

    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool { author.isOwner }

    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) { try validator.refuse(.r6) }

    func apply(_ effect: EntryEffect, to state: inout LogState) { effect.begin(epoch, in: &state) }
}
