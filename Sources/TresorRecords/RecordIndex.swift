// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// What the packs of a tresor say up to an entry, so that the next program opens only those of later ones.
struct RecordIndex: Sendable {
    /// The end of the log for which the table was made. Nothing was missing then.
    let head: Head
    /// The checkpoints up to there that are not void, in order.
    let checkpoints: [UInt64]
    let table: RecordTable
}

/// The index that a home keeps of the records of one tresor (SPEC §8.5).
struct IndexFile: Sendable {
    let session: Session
    let tresor: TresorID

    private var home: any Home { session.client.home }

    /// Reads the index for the present membership in a state of the log; `nil` for none that counts.
    func read(at state: LogState) -> RecordIndex? {
        guard let member = state.members[session.user] else { return nil }
        return try? index(in: state, for: member)
    }

    private func index(in state: LogState, for member: Member) throws(TresorError) -> RecordIndex? {
        guard let bytes = try home.read(.recordIndex(tresor)) else { return nil }
        let start = Array(bytes.prefix(Head.recordByteCount))
        let head = try Head(recordContent: start)
        guard state.contains(head) else { return nil }
        let plain = try session.identity.openFromHome(
            Array(bytes.dropFirst(start.count)), try label(), of: tresor, at: place(of: head, for: member),
            byNewestAlone: true)
        var decoder = ByteDecoder(plain)
        let checkpoints = try decoder.list(of: 0, byteCount: 8) { (decoder) throws(TresorError) in
            try decoder.integer(UInt64.self)
        }
        let table = try RecordTable(from: &decoder, upto: head.sequence)
        try decoder.end()
        return RecordIndex(head: head, checkpoints: checkpoints, table: table)
    }

    /// Keeps the index of a view that packs made complete, if it is that of the pinned head.
    ///
    /// - Throws: the errors of the home. The index is a convenience.
    func keep(_ view: RecordView) throws(TresorError) {
        guard let member = view.member else { return }
        let head = view.state.head
        let index = RecordIndex(head: head, checkpoints: view.checkpoints.map(\.entry.sequence), table: view.table)
        let bytes = try sealed(index, for: member)
        try home.exclusively { () throws(TresorError) in
            // Somebody who is out by now, and a tresor that was deleted, have another head or none.
            guard try session.client.archive.pinnedHead(of: tresor) == head else { return }
            try home.replace(.recordIndex(tresor), with: bytes)
        }
    }

    /// The head, then the sealed rest.
    func sealed(_ index: RecordIndex, for member: Member) throws(TresorError) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.list(index.checkpoints) { $0.integer($1) }
        index.table.encode(into: &encoder)
        return try index.head.recordContent
            + session.identity.sealForHome(
                encoder.bytes, label(), of: tresor, at: place(of: index.head, for: member))
    }

    /// Forgets the index, where the home has lost something for which it stands.
    func forget() throws(TresorError) {
        guard try home.read(.recordIndex(tresor)) != nil else { return }
        try home.exclusively { () throws(TresorError) in try home.delete(.recordIndex(tresor)) }
    }

    private func label() throws(TresorError) -> DomainLabel { try DomainLabel(application: "records/index/1") }

    /// Binds an index to one membership and one head of the log.
    private func place(of head: Head, for member: Member) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.digest(session.user.digest)
        encoder.integer(member.since)
        encoder.flag(member.history == .all)
        encoder.integer(member.history.firstEpoch)
        encoder.raw(head.recordContent)
        return encoder.bytes
    }
}
