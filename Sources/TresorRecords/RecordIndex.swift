// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The index of the packs of a tresor up to an entry, so that the next program opens only those of later ones.
struct RecordIndex: Sendable {
    /// The end of the log for which the table was made. Nothing was missing then.
    let head: Head
    /// The epochs under which the packs lie.
    let epochs: [UInt64]
    /// The checkpoints up to there that are not void, in order.
    let checkpoints: [Entry]
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
        let epochs = try decoder.list(of: 0, byteCount: 8) { (decoder) throws(TresorError) in
            try decoder.integer(UInt64.self)
        }
        let checkpoints = try decoder.list(of: 0, byteCount: 5) { (decoder) throws(TresorError) in
            let entry = try Entry(try decoder.vector32(1...Entry.maximumByteCount))
            guard try state.hasEntries([entry.bytes], from: entry.sequence) else { throw .altered }
            return entry
        }
        let table = try RecordTable(from: &decoder, upto: head.sequence)
        try decoder.end()
        return RecordIndex(head: head, epochs: epochs, checkpoints: checkpoints, table: table)
    }

    /// Keeps the index of a view that packs made complete, if it is that of the pinned head. The index is a convenience:
    /// nobody waits for the home's lock to keep one.
    ///
    /// - Returns: whether it is that.
    /// - Throws: ``TresorError/busy`` while somebody else has that lock; the errors of the home.
    func keep(_ view: RecordView) throws(TresorError) -> Bool {
        // Nothing is sealed in vain.
        guard let member = view.member, try isPinned(view.state.head) else { return false }
        let index = RecordIndex(
            head: view.state.head, epochs: view.epochs.sorted(), checkpoints: view.checkpoints.map(\.entry),
            table: view.table)
        let bytes = try sealed(index, for: member)
        return try HomePatience.none { () throws(TresorError) -> Bool in
            try home.exclusively { () throws(TresorError) -> Bool in
                // Somebody who is out by now, and a tresor that was deleted, have another head or none.
                guard try isPinned(index.head) else { return false }
                try home.replace(.recordIndex(tresor), with: bytes)
                return true
            }
        }
    }

    private func isPinned(_ head: Head) throws(TresorError) -> Bool {
        try session.client.archive.pinnedHead(of: tresor) == head
    }

    /// The head, then the sealed rest.
    func sealed(_ index: RecordIndex, for member: Member) throws(TresorError) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.list(index.epochs) { $0.integer($1) }
        encoder.list(index.checkpoints) { $0.vector32($1.bytes) }
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
