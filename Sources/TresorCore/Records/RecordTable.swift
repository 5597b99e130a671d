// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The records of a tresor: a pure function of its log and its packs (SPEC §19.3).
///
/// It keeps where the content of each version is, and no content. A pack that comes late counts as if it had been there:
/// the order in which commits are taken changes nothing.
package struct RecordTable: Sendable {
    /// A version that no later one replaces.
    package struct Head: Hashable, Sendable {
        /// The sequence number of its commit.
        package let revision: UInt64
        /// The time of the change by the author's account, in seconds since 1970.
        package let time: UInt64
        /// Whether it deletes the record.
        package let isDeletion: Bool
        /// The content type; empty for a deletion.
        package let type: Name
        /// The number of bytes of a content in a pack; `nil` for a deletion and for an attachment.
        package let byteCount: Int?
        /// The size of the encoded item in bytes.
        package let itemByteCount: Int
        /// The place of an attachment among the blobs of the commit; `nil` for anything else.
        package let attachment: UInt16?
        /// Whether an owner vouches for it by a volume. Otherwise the pack of its commit has it.
        package let isVouched: Bool
        /// The hash that versions of equal type and content have in common; `nil` for a deletion and for an attachment.
        let content: Hash256?

        fileprivate init(_ item: Item, at revision: UInt64, isVouched: Bool) {
            self.revision = revision
            self.isVouched = isVouched
            time = item.time
            isDeletion = item.isDeletion
            content = item.content.digest
            itemByteCount = item.byteCount
            switch item.content {
            case .deleted: (type, byteCount, attachment) = (.empty, nil, nil)
            case .bytes(let bytes, let type): (self.type, byteCount, attachment) = (type, bytes.count, nil)
            case .attachment(let blob, let type): (self.type, byteCount, attachment) = (type, nil, blob)
            }
        }

        /// Whether it is shown rather than another: contents before deletions, then the greatest time and revision.
        fileprivate func isShown(before other: Head) -> Bool {
            if isDeletion != other.isDeletion { return other.isDeletion }
            return (time, revision) > (other.time, other.revision)
        }
    }

    /// The known versions of one record.
    struct Versions {
        /// By rising revision.
        var heads: [Head] = []
        /// Revisions that were replaced before their pack came.
        var awaited: Set<UInt64> = []

        mutating func take(_ head: Head, replacing replaced: [UInt64]) {
            for revision in replaced {
                let index = heads.partitioningIndex { $0.revision >= revision }
                if heads.indices.contains(index), heads[index].revision == revision {
                    heads.remove(at: index)
                } else {
                    awaited.insert(revision)
                }
            }
            guard awaited.remove(head.revision) == nil else { return }
            heads.insert(head, at: heads.partitioningIndex { $0.revision > head.revision })
        }
    }

    /// All that was taken; of an index, all that was changed since.
    private var versions: [Name: Versions] = [:]
    /// The words of an index about all other records.
    private var rows: IndexedRows?
    /// The commits whose packs are missing, each with its error.
    package private(set) var missing: [UInt64: TresorError] = [:]
    /// The commits that are void, by rising number.
    package private(set) var void: [UInt64] = []
    /// The error of the first volume that is missing where one is needed.
    package private(set) var missingVolume: TresorError?
    /// Whether volumes stand for the commits up to the floor.
    package private(set) var isByVolumes = false
    /// The last entry whose commit was taken, or that volumes stand for.
    private var taken: UInt64 = 0

    /// Begins with no records.
    package init() {}

    /// Begins with what an index says, in place of all commits up to an entry. Nothing of them is missing.
    init(_ rows: IndexedRows, void: [UInt64], upto last: UInt64) {
        self.rows = rows
        self.void = void
        taken = last
    }

    /// Begins with what a checkpoint keeps, in place of all commits up to its floor.
    ///
    /// - Parameter kept: the items of its volumes, checked by ``checkVolumes(_:upto:blobCount:)``.
    package init(kept: [KeptItem], upto floor: UInt64) {
        for kept in kept { take(kept.item, at: kept.sequence, isVouched: true) }
        taken = floor
        isByVolumes = true
    }

    /// Takes a commit. Commits come in order; one that was missing may come again, later.
    package mutating func take(_ outcome: PackOutcome, at sequence: UInt64) {
        guard sequence > taken || missing[sequence] != nil else { return }
        taken = max(taken, sequence)
        missing[sequence] = nil
        switch outcome {
        case .items(let items): for item in items { take(item, at: sequence, isVouched: false) }
        case .notMine: break
        case .missing(let error): missing[sequence] = error
        case .void: void.insert(sequence, at: void.partitioningIndex { $0 > sequence })
        }
    }

    private mutating func take(_ item: Item, at sequence: UInt64, isVouched: Bool) {
        let head = Head(item, at: sequence, isVouched: isVouched)
        if let rows, versions[item.record] == nil { versions[item.record] = rows.versions(of: item.record) }
        versions[item.record, default: Versions()].take(head, replacing: item.replaces)
    }

    /// Whether nothing is missing. Otherwise no version is proved to be the newest.
    package var isComplete: Bool { missing.isEmpty && missingVolume == nil }

    /// Whether nothing is missing up to an entry, so that the table says all that was known then.
    package func isComplete(upto last: UInt64) -> Bool {
        missingVolume == nil && !missing.keys.contains { $0 <= last }
    }

    /// All names that have a version, also those of deleted records, by rising bytes.
    package var names: [Name] { all.filter { !$0.value.heads.isEmpty }.keys.sorted() }

    /// The versions of all records.
    var all: [Name: Versions] { rows.map { $0.all.merging(versions) { $1 } } ?? versions }

    /// Runs for the versions of all records that no later one replaces, in any order.
    package func forEachHead(_ body: (Name, Head) -> Void) {
        for (record, versions) in all { for head in versions.heads { body(record, head) } }
    }

    /// The commits by which the table is read: those of all heads, and those whose packs are missing.
    package var revisions: Set<UInt64> {
        var revisions = Set(missing.keys)
        forEachHead { revisions.insert($1.revision) }
        return revisions
    }

    /// The versions of a record that no later one replaces, by rising revision.
    package func heads(of record: Name) -> [Head] {
        (versions[record] ?? rows?.versions(of: record))?.heads ?? []
    }

    /// The records whose heads are not those of another table, by rising bytes.
    package func records(unlike other: RecordTable) -> [Name] {
        let (mine, theirs) = (all, other.all)
        // A volume that takes the place of packs changes no version.
        let changed = mine.filter { name, versions in
            !versions.heads.elementsEqual(theirs[name]?.heads ?? []) { $0.revision == $1.revision }
        }.map(\.key)
        let gone = theirs.filter { mine[$0.key] == nil && !$0.value.heads.isEmpty }.keys
        return (changed + gone).sorted()
    }

    /// The version that is shown; `nil` for a record that is deleted or was never there.
    package func shown(of record: Name) -> Head? { ranked(record).first.flatMap { $0.isDeletion ? nil : $0 } }

    /// The heads, the one that is shown first.
    private func ranked(_ record: Name) -> [Head] { heads(of: record).sorted { $0.isShown(before: $1) } }

    /// The versions of a record by rank, the one that is shown first. Those of equal type and content count as one, and
    /// so do deletions; each attachment counts.
    package func different(of record: Name) -> [Head] { Self.different(ranked(record)) }

    /// The versions that stay beside a change of their record, by rank.
    package func different(from item: Item) -> [Head] {
        let others = ranked(item.record).filter { !item.replaces.contains($0.revision) }
        return Array(Self.different([Head(item, at: .max, isVouched: false)] + others).dropFirst())
    }

    private static func different(_ heads: [Head]) -> [Head] {
        var contents: Set<Hash256> = []
        var hasDeletion = false
        return heads.filter { head in
            guard !head.isDeletion else {
                defer { hasDeletion = true }
                return !hasDeletion
            }
            return head.content.map { contents.insert($0).inserted } ?? true
        }
    }

    /// Whether every version that no later one replaces says what a change says, and there is one.
    package func hasOnly(_ item: Item) -> Bool { !heads(of: item.record).isEmpty && different(from: item).isEmpty }

    /// The revisions that a change of the record replaces now: every head; of more than 16 the shown one and those that
    /// would be shown next. Rising.
    ///
    /// - Parameter revision: one that its author names; it comes before all others.
    package func replacedNow(of record: Name, and revision: UInt64? = nil) -> [UInt64] {
        let heads = ranked(record).map(\.revision).filter { $0 != revision }
        return ([revision].compactMap(\.self) + heads).prefix(Item.maximumReplacedCount).sorted()
    }
}

/// All records at once.
extension RecordTable {
    /// Computes the table of a whole log (SPEC §19.3).
    ///
    /// - Parameters:
    ///   - entries: the entries with the type of a commit, in order.
    ///   - floor: that of the newest state.
    ///   - open: opens the pack of a commit.
    ///   - volumes: gives what the newest checkpoint keeps; asked only where a pack at or below the floor is missing.
    package static func readRecords(
        _ entries: [Entry], floor: UInt64, open: (Entry) -> PackOutcome, volumes: () throws(TresorError) -> [KeptItem]
    ) -> RecordTable {
        var table = RecordTable()
        for entry in entries.prefix(while: { $0.sequence <= floor }) { table.take(open(entry), at: entry.sequence) }
        if !table.missing.isEmpty {
            do throws(TresorError) {
                table = RecordTable(kept: try volumes(), upto: floor)
            } catch {
                table.missingVolume = error
            }
        }
        for entry in entries.drop(while: { $0.sequence <= floor }) { table.take(open(entry), at: entry.sequence) }
        return table
    }

    /// Checks what the volumes of a checkpoint hold by the log alone (SPEC §19.5).
    ///
    /// - Parameters:
    ///   - kept: the items of all its volumes, in order.
    ///   - upto: the last entry that it stands for.
    ///   - blobCount: gives the number of blobs of a commit; `nil` for an entry that is none, or is void.
    /// - Throws: ``TresorError/altered``.
    package static func checkVolumes(
        _ kept: [KeptItem], upto: UInt64, blobCount: (UInt64) -> Int?
    ) throws(TresorError) {
        guard Volume.areRising(kept), kept.last?.sequence ?? 0 <= upto else { throw .altered }
        for kept in kept {
            guard let count = blobCount(kept.sequence), kept.item.names(blobOf: count) else { throw .altered }
        }
    }

    /// Compares what a checkpoint keeps with the packs (SPEC §19.5).
    ///
    /// - Parameters:
    ///   - kept: the items of all its volumes, in order.
    ///   - upto: the last entry that it stands for.
    ///   - commits: the numbers of all commits before the checkpoint, in order.
    ///   - items: gives the items of the pack of a commit.
    /// - Throws: ``TresorError/altered`` for an item that no pack has, a head that is not kept, and a replaced item
    ///   without every later one of its record; the errors of `items`.
    package static func comparePacks(
        _ kept: [KeptItem], upto: UInt64, commits: some Sequence<UInt64>,
        items: (UInt64) throws(TresorError) -> [PackItem]?
    ) throws(TresorError) {
        var table = RecordTable()
        var history: [Name: [UInt64]] = [:]
        var revisions: [Name: [UInt64]] = [:]
        var rest = kept[...]
        var isWhole = true
        for sequence in commits {
            guard let items = try items(sequence) else {
                isWhole = false
                while let next = rest.first, next.sequence <= sequence {
                    guard next.sequence == sequence else { throw .altered }
                    rest.removeFirst()
                }
                continue
            }
            table.take(.items(items.map(\.version)), at: sequence)
            for item in items where sequence <= upto { history[item.record, default: []].append(sequence) }
            while let next = rest.first, next.sequence <= sequence {
                guard next.sequence == sequence, try has(items, next.item) else { throw .altered }
                revisions[next.item.record, default: []].append(sequence)
                rest.removeFirst()
            }
        }
        guard rest.isEmpty else { throw .altered }
        // A pack that is missing may have replaced any version.
        guard isWhole else { return }
        for (record, all) in history {
            let heads = Set(table.heads(of: record).map(\.revision).filter { $0 <= upto })
            let mine = Set(revisions[record] ?? [])
            guard heads.isSubset(of: mine) else { throw .altered }
            // Without a later item, a replaced one would be a head again.
            guard let first = mine.subtracting(heads).min() else { continue }
            guard mine.isSuperset(of: all.filter { $0 > first }) else { throw .altered }
        }
    }

    /// Whether a pack has an item.
    ///
    /// - Parameter items: those of the pack, by rising record name.
    private static func has(_ items: [PackItem], _ item: Item) throws(TresorError) -> Bool {
        let index = items.partitioningIndex { $0.record >= item.record }
        guard items.indices.contains(index) else { return false }
        return items[index] == (try PackItem(item))
    }
}

extension Item.Content {
    /// Equal for equal types and contents. A table holds this in place of the content.
    fileprivate var digest: Hash256? {
        guard case .bytes(let bytes, let type) = self else { return nil }
        let start = [UInt8(truncatingIfNeeded: type.bytes.count >> 8), UInt8(truncatingIfNeeded: type.bytes.count)]
        let head = start + type.bytes
        do throws(TresorError) {
            var hash = try BLAKE2b(outputCount: 32)
            try hash.update(head.span)
            try hash.update(bytes.span)
            return Hash256(try hash.finalize())
        } catch {
            // A version that cannot be compared counts apart.
            return nil
        }
    }
}
