// SPDX-License-Identifier: Apache-2.0

import Tresor
package import TresorCore
package import TresorCrypto

/// The changes of records that are not in the log yet (SPEC §8.5). Each change is there, or in the log, or replaced by a
/// newer one.
package struct Outbox: Hashable, Sendable, CustomStringConvertible {
    /// A commit that was sent, or will be. It stays as it is until its place in the log is taken.
    struct Sent: Hashable, Sendable {
        /// The entry, signed.
        let entry: Entry
        /// The sealed pack.
        let pack: [UInt8]
        /// The changes in the pack, by rising name.
        let items: [Item]
    }

    /// The size of a revision that an item replaces, in bytes.
    private static let revisionByteCount = 8

    /// The commit whose place in the log may still be free.
    private(set) var sent: Sent?
    /// Sets of changes, in the order in which they were made. A set happens wholly or not at all, and a record is in one
    /// of them at most.
    private(set) var pending: [[Item]] = []
    /// The rows of the pieces that lie beside the outbox, by rising number. In a change, the place of an attachment is the
    /// number of its content here.
    private(set) var held: [Held] = []
    /// The bytes of the smallest set for which the store had no room; `nil` for none, and once it holds nothing back.
    private(set) var refusedByteCount: UInt64?

    /// Begins with nothing.
    init() {}

    /// A report is printed without the contents of changes.
    package var description: String { "\(records.count) unsent" }

    /// Whether there is nothing to send. Something may still be held that nobody needs any more.
    var isEmpty: Bool { sent == nil && pending.isEmpty }

    /// Whether there is something to send but the sets for which the store had no room.
    var hasRoom: Bool { sent != nil || pending.contains { !isRefused($0) } }

    /// Whether the changes are those of another outbox.
    func hasChanges(of other: Outbox) -> Bool { sent == other.sent && pending == other.pending }

    /// The use of a number; `nil` for none, and for a number that somebody else took since.
    subscript(_ number: HeldNumber) -> Held.Kind? {
        get { held.first { $0.number == number }?.kind }
        set {
            held.removeAll { $0.number == number }
            guard let newValue else { return }
            let place = held.partitioningIndex { $0.number.value > number.value }
            held.insert(Held(number: number, kind: newValue), at: place)
        }
    }

    /// The newest change of a record that is not in the log yet; `nil` for none.
    func item(of record: Name) -> Item? {
        for set in pending { if let item = set.first(where: { $0.record == record }) { return item } }
        return sent?.items.first { $0.record == record }
    }

    /// The same of all records: who asks about many asks this.
    var newest: [Name: Item] {
        var newest: [Name: Item] = [:]
        for item in sent?.items ?? [] { newest[item.record] = item }
        for item in pending.joined() { newest[item.record] = item }
        return newest
    }

    /// The records that have a change here, by rising name.
    var records: [Name] { newest.keys.sorted() }

    /// Those whose newest change no commit has that was sent.
    package var pendingRecords: Set<Name> { Set(pending.joined().map(\.record)) }

    /// Makes the items of a set of changes (SPEC §19.7, `change` step 1). Each replaces what is shown now of its record, or
    /// what the unsent change replaces on top of which it is made.
    ///
    /// - Parameters:
    ///   - changes: the new contents, each of another record.
    ///   - table: what the home shows.
    ///   - seen: what the home showed to the author; `nil` for `table`.
    ///   - expected: the revision that must be shown, for each record that is named; `nil` for none. The author has seen it.
    ///   - time: the time of the change by the author's account, in seconds since 1970.
    /// - Throws: ``TresorError/notFound`` for the deletion of a record that is not there; the errors of ``check(_:over:)``.
    func items(
        of changes: [(name: Name, content: Item.Content)], over table: RecordTable, seen: RecordTable? = nil,
        ifShown expected: [Name: UInt64?], at time: UInt64
    ) throws(TresorError) -> [Item] {
        try check(expected, over: table)
        let (seen, newest) = (seen ?? table, self.newest)
        var items: [Item] = []
        for (name, content) in changes {
            let unsent = newest[name]
            let named: UInt64? = expected[name] ?? nil
            let isThere = unsent.map { !$0.isDeletion } ?? (named != nil || seen.shown(of: name) != nil)
            guard content != .deleted || isThere else { throw .notFound }
            items.append(
                Item(
                    record: name, replaces: unsent?.replaces ?? seen.replacedNow(of: name, and: named), time: time,
                    content: content))
        }
        return items
    }

    /// Refuses where another revision is shown than expected.
    ///
    /// - Throws: ``TresorError/busy``.
    func check(_ expected: [Name: UInt64?], over table: RecordTable) throws(TresorError) {
        let newest = expected.isEmpty ? [:] : self.newest
        for (name, revision) in expected {
            guard newest[name] == nil, table.shown(of: name)?.revision == revision else { throw .busy }
        }
    }

    /// Adds a set of changes. A change that is on top of an unsent one takes its place.
    ///
    /// - Throws: the errors of ``Pack/init(of:takesReserved:)`` but for a reserved name, which ``Records`` judges. The set
    ///   also has to fit into a pack once the sent commit is in the log, and its changes replace that commit too, and its
    ///   contents into the limits of ``Held``.
    mutating func add(_ items: [Item]) throws(TresorError) {
        let pack = try Pack(of: items, takesReserved: true)
        let frozen = Set(sent?.items.map(\.record) ?? [])
        let growing = items.count { frozen.contains($0.record) && $0.replaces.count < Item.maximumReplacedCount }
        guard pack.bytes.count + growing * Self.revisionByteCount <= Pack.maximumByteCount else {
            throw .usage(.contentTooLong)
        }
        let items = pack.items
        guard items.count(where: { $0.heldContent != nil }) <= Held.maximumContentCount else {
            throw .usage(.tooManyContents)
        }
        // The author wants it to be tried, and no larger one.
        if isRefused(items) { refusedByteCount = size(of: items) + 1 }
        drop(Set(items.map(\.record)))
        pending.append(items)
    }

    private mutating func drop(_ records: Set<Name>) {
        pending = pending.map { $0.filter { !records.contains($0.record) } }.filter { !$0.isEmpty }
        if !pending.contains(where: { isRefused($0) }) { refusedByteCount = nil }
    }

    /// Whether a set with an attachment is as large as a set for which the store had no room. Any other costs little, and
    /// is tried each time: a disk that was full has room again.
    private func isRefused(_ set: [Item]) -> Bool {
        guard let refusedByteCount, set.contains(where: { $0.heldContent != nil }) else { return false }
        return refusedByteCount <= size(of: set)
    }

    /// Takes the first sets that fit into one pack, and whose attachments one commit can name. Those for which the store had
    /// no room come last, one by one, the smallest first.
    ///
    /// - Parameters:
    ///   - most: the most sets, the smallest of all; `nil` for the first ones, however many.
    ///   - isAgain: whether a single set may be one for which the store had no room, also before larger ones.
    /// - Returns: the items of the pack, by rising name.
    func next(smallest most: Int? = nil, again isAgain: Bool = false) -> [Item] {
        var items: [Item] = []
        var (byteCount, contentCount) = (3, 0)
        let ready = ready(again: isAgain && most == 1)
        let most = ready.isEmpty ? 1 : most
        let sets = ready.isEmpty ? pending : ready
        for set in most.map({ sets.sorted { size(of: $0) < size(of: $1) }.prefix($0) }) ?? sets[...] {
            byteCount += set.reduce(0) { $0 + $1.byteCount }
            contentCount += set.count { $0.heldContent != nil }
            let fits =
                byteCount <= Pack.maximumByteCount && items.count + set.count <= Int(UInt16.max)
                && contentCount <= Held.maximumContentCount
            guard items.isEmpty || fits else { break }
            items += set
        }
        return items.sorted { $0.record < $1.record }
    }

    /// The sets that may be sent, and those for which the store had no room only if that is wanted.
    private func ready(again isAgain: Bool) -> [[Item]] { pending.filter { isAgain || !isRefused($0) } }

    /// The bytes of a set, with the contents that lie beside the outbox.
    private func size(of set: [Item]) -> UInt64 {
        var size: UInt64 = 0
        for item in set {
            size += UInt64(item.byteCount)
            if let place = item.heldContent, let content = content(place) { size += content.byteCount }
        }
        return size
    }

    /// Freezes a commit of some pending changes.
    mutating func freeze(_ sent: Sent) {
        drop(Set(sent.items.map(\.record)))
        self.sent = sent
    }

    /// The commit is in the log: what was changed on top of it replaces it. The log names its attachments, so they are given
    /// up here, and no cleanup takes them for what nobody names.
    mutating func settle() {
        guard let sent else { return }
        let attachments = sentAttachments.compactMap(\.number)
        let records = Set(sent.items.map(\.record))
        pending = pending.map { set in
            set.map { records.contains($0.record) ? $0.replacing(sent.entry.sequence) : $0 }
        }
        self.sent = nil
        release(attachments)
    }

    /// The place of the commit is not free, or no store has it: its changes are pending again, before those made later.
    ///
    /// - Parameter sets: the sets of which it was made, as far as they are known. What is in none of them is one set.
    /// - Returns: the number of sets that are pending again.
    @discardableResult mutating func giveBack(as sets: [[Item]] = []) -> Int {
        guard let sent else { return 0 }
        let newer = Set(pending.joined().map(\.record))
        var left = Set(sent.items)
        var back: [[Item]] = []
        for set in sets where left.isSuperset(of: set) {
            back.append(set)
            left.subtract(set)
        }
        back.insert(sent.items.filter { left.contains($0) }, at: 0)
        back = back.map { $0.filter { !newer.contains($0.record) } }.filter { !$0.isEmpty }
        pending.insert(contentsOf: back, at: 0)
        self.sent = nil
        return back.count
    }

    /// The store has no room for the sent commit, and does not have it: its changes are pending again.
    ///
    /// After a single set, those with an attachment that are as large are sent again only when that is wanted.
    ///
    /// - Parameters:
    ///   - sets: the sets of which it was made, as for ``giveBack(as:)``.
    ///   - isAgain: whether sets for which there was no room before are sent again.
    /// - Returns: the most sets of the next commit, which are the smallest ones; 0 where newer changes took the place of all,
    ///   and `nil` where the store has no room for the smallest set.
    mutating func refuse(as sets: [[Item]], again isAgain: Bool) -> Int? {
        let items = sent?.items
        let count = giveBack(as: sets)
        defer { drop([]) }
        guard count == 1, let set = pending.first, set == items else { return count < 2 ? count : count / 2 }
        let byteCount = size(of: set)
        refusedByteCount = min(refusedByteCount ?? .max, byteCount)
        return ready(again: isAgain).contains { size(of: $0) < byteCount } ? 1 : nil
    }

    /// A commit that was refused is the sent one again, unless something else became of its changes.
    ///
    /// - Parameter rows: those of its attachments, from ``withdrawSent(at:)``.
    mutating func resume(_ former: Sent, with rows: [Held]) {
        guard sent == nil, Set(pending.joined()).isSuperset(of: former.items) else { return }
        restore(rows)
        freeze(former)
    }

    /// Throws away all changes. What is held for them is needed no more.
    mutating func dropAll() { (sent, pending, refusedByteCount) = (nil, [], nil) }

    /// The parts that an encoded outbox has.
    private struct Parts: OptionSet {
        let rawValue: UInt8
        static let sent = Parts(rawValue: 1)
        static let held = Parts(rawValue: 2)
        static let refused = Parts(rawValue: 4)
        static let all: Parts = [.sent, .held, .refused]
    }

    /// Reads an outbox.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.outbox)
        let parts = Parts(rawValue: try decoder.integer())
        guard parts.isSubset(of: .all) else { throw .altered }
        if parts.contains(.sent) {
            let entry = try Entry(try decoder.vector32(1...Entry.maximumByteCount))
            let pack = try decoder.vector32(1...Int(Blob.greatestPackSize))
            sent = Sent(entry: entry, pack: pack, items: try Self.set(&decoder))
        }
        if parts.contains(.held) {
            held = try decoder.list(of: 1, counted: UInt16.self, byteCount: Held.leastByteCount) {
                (decoder) throws(TresorError) in try Held(from: &decoder)
            }
        }
        if parts.contains(.refused) { refusedByteCount = try decoder.integer(UInt64.self) }
        while decoder.remaining > 0 { pending.append(try Self.set(&decoder)) }
        let records = pending.joined().map(\.record)
        guard Set(records).count == records.count, areHeldInOrder else { throw .altered }
    }

    /// Opens a sealed outbox (SPEC §8.5, `openOutbox`).
    ///
    /// - Throws: ``TresorError/altered`` for one that no generation of this identity sealed for this tresor.
    package init(sealed: [UInt8], of tresor: TresorID, as identity: Identity) throws(TresorError) {
        try self.init(try identity.openFromHome(sealed, .outboxSeal, of: tresor))
    }

    /// Opens a piece of a content that an outbox of this tresor holds (SPEC §8.5, `openPiece`).
    ///
    /// - Parameters:
    ///   - sealed: what the home has at this place.
    ///   - piece: the place, from 0.
    ///   - number: that of the content, as it was taken.
    /// - Throws: ``TresorError/altered`` for a piece that no generation of this identity sealed for this place.
    package static func openPiece(
        _ sealed: [UInt8], _ piece: UInt64, of number: HeldNumber, in tresor: TresorID, as identity: Identity
    ) throws(TresorError) -> [UInt8] {
        try identity.openFromHome(sealed, .outboxSeal, of: tresor, at: place(of: piece, of: number))
    }

    /// Seals a piece of a content for its place.
    static func sealPiece(
        _ plain: [UInt8], _ piece: UInt64, of number: HeldNumber, in tresor: TresorID, as identity: Identity
    ) throws(TresorError) -> [UInt8] {
        try identity.sealForHome(plain, .outboxSeal, of: tresor, at: place(of: piece, of: number))
    }

    private static func place(of piece: UInt64, of number: HeldNumber) -> [UInt8] {
        bigEndianBytes(number.value) + bigEndianBytes(number.mark) + bigEndianBytes(piece)
    }

    private static func set(_ decoder: inout ByteDecoder) throws(TresorError) -> [Item] {
        let items = try decoder.list(of: 1, counted: UInt16.self, byteCount: Item.leastByteCount) {
            (decoder) throws(TresorError) in
            try Item(from: &decoder, replacingUpTo: .max, blobCount: nil)
        }
        guard zip(items, items.dropFirst()).allSatisfy({ $0.record < $1.record }) else { throw .altered }
        return items
    }

    /// The encoded outbox.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.outbox)
        let parts: Parts = [
            sent == nil ? [] : .sent, held.isEmpty ? [] : .held, refusedByteCount == nil ? [] : .refused,
        ]
        encoder.integer(parts.rawValue)
        func add(_ items: [Item]) { encoder.list(items, counted: UInt16.self) { $1.encode(into: &$0) } }
        if let sent {
            encoder.vector32(sent.entry.bytes)
            encoder.vector32(sent.pack)
            add(sent.items)
        }
        if !held.isEmpty { encoder.list(held, counted: UInt16.self) { $1.encode(into: &$0) } }
        if let refusedByteCount { encoder.integer(refusedByteCount) }
        for set in pending { add(set) }
        return encoder.bytes
    }
}

extension Item {
    /// The same change, which replaces one more revision. Of more than 16, the oldest is left out.
    fileprivate func replacing(_ revision: UInt64) -> Item {
        Item(
            record: record, replaces: Array((replaces + [revision]).suffix(Self.maximumReplacedCount)), time: time,
            content: content)
    }
}
