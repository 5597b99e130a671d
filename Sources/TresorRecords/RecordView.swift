// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The records of a tresor as far as the home has their packs, at one state of the log.
struct RecordView: Sendable {
    let state: LogState
    /// The present membership of this person; `nil` for one who is no member.
    let member: Member?
    private(set) var table: RecordTable
    /// Has the keys. The view holds none, so that they end with the session.
    private let keyRing: KeyRing
    /// The commits that were read of the versions that no later one replaces, and those whose packs are missing, by
    /// sequence number.
    let commits: [UInt64: Entry]
    /// The number of entries that were read, and of those for which an index stands.
    private let end: UInt64
    /// The epochs of the commits that were read.
    let epochs: Set<UInt64>
    /// Whether an index stands for some packs (SPEC §8.5). Nobody has looked whether the home has these.
    let isIndexed: Bool
    /// The packs that were looked at and that no index stands for: their number, and that of their bytes.
    private var lookedAt = (count: 0, byteCount: UInt64(0))
    /// The commits that are missing although the home had their packs.
    private(set) var unread: Set<UInt64> = []
    /// All checkpoints that are not void, in order.
    let checkpoints: [Checkpoint]
    /// Where the items of the volumes of the base lie; `nil` where packs say everything (SPEC §19.7).
    let volumes: VolumeIndex?
    /// Whether the volumes of the base are this person's own.
    let isOwn: Bool
    /// Whether the home had all volumes of several checkpoints, so that one can be compared with another.
    let isComparable: Bool
    /// Whether the home had all volumes of the newest checkpoint where they are needed and not read.
    private var hadVolumes = false
    /// Whether the volumes of the newest checkpoint were found to be false by this person's own, by which the view is read.
    private(set) var isRefuted = false

    /// Reads the view of a state.
    ///
    /// - Parameters:
    ///   - known: a view of an earlier state of this log, or of the same, for the same person. Of its packs only those are
    ///     opened that were missing.
    ///   - order: the order in which checkpoints are believed where packs are lacking.
    ///   - log: entries of the state that were read already.
    /// - Throws: the errors of the home, and of the store where the home lacks an entry.
    static func read(
        at state: LogState, from known: RecordView?, by order: BaseOrder = .reading, of session: Session,
        _ log: RecordEntries? = nil
    ) async throws(TresorError) -> RecordView {
        let member = state.members[session.user]
        let known = known.flatMap { $0.goesOn(for: session.user, in: state) ? $0 : nil }
        let first = known?.end ?? 0
        var all = log?.part(of: state, from: first)
        if all == nil { all = try await CommitReader(client: session.client).records(of: state, from: first).all }
        let entries = all?.filter(\.isCommit) ?? []
        let checkpoints = Checkpoint.all(all ?? [], of: state, behind: known?.checkpoints ?? [])
        let late = known?.missing ?? []
        let keys = await keys(of: late + entries, in: state, session)
        var volumeKeys: [UInt64: Result<EpochKeys, TresorError>] = [:]
        var readable: [Checkpoint] = []
        if known == nil, member?.history == .all {
            readable = try await order.readable(checkpoints, for: session)
            for checkpoint in readable { volumeKeys[checkpoint.body.epoch] = await Self.keys(of: checkpoint, session) }
        }
        let view = try await Cores.apart { [volumeKeys, readable] () throws(TresorError) -> RecordView? in
            let (client, tresor) = (session.client, state.tresor)
            let packs = PackReader(client: client, tresor: tresor)
            let opener = PackOpener(late + entries, packs) { (entry, pack) in
                PackOutcome.openPack(
                    pack, of: entry, history: member?.history, in: state,
                    with: { () throws(TresorError) in try keys.ofEpoch(of: entry) })
            }
            func open(_ entry: Entry) -> PackOutcome { opener.outcome(of: entry) }
            let files = packs.volumes.files
            var commits = known?.commits ?? [:]
            for entry in entries { commits[entry.sequence] = entry }
            func read(by checkpoint: Checkpoint?) -> (table: RecordTable, volumes: VolumeIndex?) {
                var volumes: VolumeIndex?
                let table = RecordTable.readRecords(entries, floor: checkpoint?.body.upto ?? 0, open: open) {
                    () throws(TresorError) in
                    guard let checkpoint, let keys = try volumeKeys[checkpoint.body.epoch]?.get() else {
                        throw .noAccess
                    }
                    let kept = try checkpoint.kept(with: keys, commits: commits) { (place) throws(TresorError) in
                        try files.volume(place, of: checkpoint)
                    }
                    volumes = VolumeIndex(checkpoint, kept)
                    return Array(kept.joined())
                }
                return (table, volumes)
            }
            var (table, volumes): (RecordTable, VolumeIndex?)
            if let known {
                (table, volumes) = (known.table, known.volumes)
                for entry in late + entries { table.take(open(entry), at: entry.sequence) }
                // A new checkpoint stands for what is missing up to its floor, and for the rest with it.
                if known.isByPacks, !table.isComplete(upto: state.floor) { return nil }
            } else {
                // A person who can open no volume reads by none. Where nothing tells all, the newest one says what is missing.
                let newest = checkpoints.last
                var bases: [Checkpoint?] = readable
                if readable.last?.entry.sequence != newest?.entry.sequence || readable.isEmpty { bases.append(newest) }
                (table, volumes) = (RecordTable(), nil)
                for base in bases {
                    (table, volumes) = read(by: base)
                    if table.isComplete(upto: newest?.body.upto ?? 0) { break }
                }
            }
            if known == nil || !late.isEmpty || !entries.isEmpty {
                let used = table.revisions
                commits = commits.filter { used.contains($0.key) }
            }
            var view = RecordView(
                state: state, member: member, table: table, keyRing: session.keyRing, commits: commits,
                end: state.entryCount, epochs: (known?.epochs ?? []).union(keys.opened),
                isIndexed: known?.isIndexed ?? false, checkpoints: checkpoints, volumes: volumes,
                isOwn: volumes?.checkpoint.isOwn(of: session) ?? false,
                isComparable: known?.isComparable ?? (readable.count > 1))
            view.lookedAt = known?.lookedAt ?? (count: 0, byteCount: 0)
            view.lookedAt.count += late.count + entries.count
            // A log may name any sizes.
            view.lookedAt.byteCount &+= Blob.byteCount(of: (late + entries).compactMap { (try? $0.body)?.blobs.first })
            view.unread = try view.kept(packs)
            view.hadVolumes = try view.hasVolumes(packs.volumes.files)
            view.isRefuted = known?.isRefuted ?? false
            return view
        }
        if let view { return view }
        if known?.isIndexed == true {
            // The next program would read it in vain.
            let file = IndexFile(session: session, tresor: state.tresor)
            try? await Cores.apart { () throws(TresorError) in try file.forget() }
        }
        return try await read(at: state, from: nil, by: order, of: session, log)
    }

    /// Reads what the index of the home says of a state; `nil` where there is none that counts, or where the keys of a
    /// pack are out of reach. The entries behind it were not looked at.
    static func indexed(at state: LogState, of session: Session) async throws(TresorError) -> RecordView? {
        let file = IndexFile(session: session, tresor: state.tresor)
        guard let index = try await Cores.apart({ () throws(TresorError) in file.read(at: state) }) else { return nil }
        // The links to the lowest one lead through the others.
        for epoch in index.epochs {
            let keys = try? await session.keyRing.keys(of: epoch, in: state, homeFirst: true)
            if keys == nil { return nil }
        }
        var checkpoints: [Checkpoint] = []
        for entry in index.checkpoints {
            guard case .checkpoint(let body)? = try? entry.body else { return nil }
            checkpoints.append(Checkpoint(entry: entry, body: body, state: state))
        }
        return RecordView(
            state: state, member: state.members[session.user], table: index.table, keyRing: session.keyRing,
            commits: [:], end: index.head.sequence + 1, epochs: Set(index.epochs), isIndexed: true,
            checkpoints: checkpoints, volumes: nil, isOwn: false, isComparable: false)
    }

    private static func keys(
        of entries: [Entry], in state: LogState, _ session: Session
    ) async -> [UInt64: Result<EpochKeys, TresorError>] {
        var keys: [UInt64: Result<EpochKeys, TresorError>] = [:]
        for entry in entries {
            guard case .commit(let commit)? = try? entry.body, keys[commit.epoch] == nil else { continue }
            do throws(TresorError) {
                keys[commit.epoch] = .success(try await session.keyRing.keys(of: commit.epoch, in: state))
            } catch {
                keys[commit.epoch] = .failure(error)
            }
        }
        return keys
    }

    private static func keys(of checkpoint: Checkpoint, _ session: Session) async -> Result<EpochKeys, TresorError> {
        do throws(TresorError) {
            return .success(try await session.keyRing.keys(of: checkpoint.body.epoch, in: checkpoint.state))
        } catch {
            return .failure(error)
        }
    }

    private init(
        state: LogState, member: Member?, table: RecordTable, keyRing: KeyRing, commits: [UInt64: Entry], end: UInt64,
        epochs: Set<UInt64>, isIndexed: Bool, checkpoints: [Checkpoint], volumes: VolumeIndex?, isOwn: Bool,
        isComparable: Bool
    ) {
        self.state = state
        self.member = member
        self.table = table
        self.keyRing = keyRing
        self.commits = commits
        self.end = end
        self.epochs = epochs
        self.isIndexed = isIndexed
        self.checkpoints = checkpoints
        self.volumes = volumes
        self.isOwn = isOwn
        self.isComparable = isComparable
    }

    /// The newest checkpoint; `nil` for none.
    var checkpoint: Checkpoint? { checkpoints.last }

    /// Whether packs say everything up to the floor, as far as it is this person's.
    var isByPacks: Bool { volumes == nil && table.missingVolume == nil }

    /// Whether the volumes of the newest checkpoint are needed and not read.
    var isBehind: Bool {
        table.missingVolume != nil || volumes != nil && !isByNewestVolumes
    }

    /// Whether the volumes of the newest checkpoint stand for packs.
    var isByNewestVolumes: Bool {
        volumes.map { $0.checkpoint.entry.sequence == checkpoint?.entry.sequence } ?? false
    }

    /// The commits whose packs are missing, in order.
    var missing: [Entry] { table.missing.keys.sorted().compactMap { commits[$0] } }

    /// Whether a later state continues this view, for somebody who was a member all the time. Who was removed in
    /// between may have lost the packs.
    func isBegun(for user: UserID, in state: LogState) -> Bool {
        let now = state.members[user]
        return member?.since == now?.since && member?.history == now?.history && state.contains(self.state.head)
    }

    /// Whether a view of a later state needs no more than what came since this one. A new checkpoint changes which packs
    /// are needed, unless all are there. One that is false changes nothing.
    func goesOn(for user: UserID, in state: LogState) -> Bool {
        guard isBegun(for: user, in: state) else { return false }
        return isWholeByPacks || self.state.checkpoint == state.checkpoint && (!isBehind || isRefuted)
    }

    /// Whether packs say everything, so that no checkpoint could say anything else.
    var isWholeByPacks: Bool { isByPacks && table.isComplete }

    /// The view, once it is known that the home has all packs.
    ///
    /// - Parameter entries: all commits.
    func proved(by entries: [Entry]) -> RecordView {
        let used = table.revisions
        let commits = entries.reduce(into: [UInt64: Entry]()) { if used.contains($1.sequence) { $0[$1.sequence] = $1 } }
        var view = RecordView(
            state: state, member: member, table: table, keyRing: keyRing, commits: commits, end: end,
            epochs: epochs, isIndexed: false, checkpoints: checkpoints, volumes: volumes, isOwn: isOwn,
            isComparable: isComparable)
        view.lookedAt = lookedAt
        return view
    }

    /// Whether an index of this view would save the next program many packs (SPEC §8.5).
    ///
    /// - Parameter least: the number of packs that are many. Fewer are, if they have many bytes together. A long log has a
    ///   large index: there, more are.
    func isWorthAnIndex(from least: Int) -> Bool {
        let isMuch = lookedAt.count >= least || lookedAt.byteCount >= Self.leastIndexedByteCount
        return isWholeByPacks && isMuch && UInt64(lookedAt.count) >= end / 16
    }

    /// The number of bytes from which on packs are many: 1 MiB.
    private static let leastIndexedByteCount: UInt64 = 1 << 20

    /// The view, once an index of it was kept.
    func indexed() -> RecordView {
        var view = self
        view.lookedAt = (count: 0, byteCount: 0)
        return view
    }

    /// The view, with the newest checkpoint known as false.
    func refuting() -> RecordView {
        var view = self
        view.isRefuted = isOwn && isBehind && table.missingVolume == nil
        return view
    }

    /// Whether the home has the packs and volumes that it had when this view was read, and no more.
    func isCurrent(in home: Client) throws(TresorError) -> Bool {
        guard !table.missing.isEmpty || isBehind else { return true }
        let packs = PackReader(client: home, tresor: state.tresor)
        guard try kept(packs) == unread else { return false }
        return try hasVolumes(packs.volumes.files) == hadVolumes
    }

    /// Whether the home has all volumes of the newest checkpoint, where they are needed and not read.
    private func hasVolumes(_ files: VolumeFiles) throws(TresorError) -> Bool {
        guard isBehind, let checkpoint else { return false }
        return try files.hasAll(of: checkpoint)
    }

    /// The missing commits whose packs the home has.
    private func kept(_ packs: PackReader) throws(TresorError) -> Set<UInt64> {
        var kept: Set<UInt64> = []
        for sequence in table.missing.keys.sorted() {
            if try packs.pack(of: sequence) != nil { kept.insert(sequence) }
        }
        return kept
    }

    /// The present status of the author of a commit (SPEC §10.6).
    ///
    /// - Parameter chain: the compared chain of the author; `nil` for none.
    func status(of entry: Entry, compared chain: CardChain?) -> AuthorStatus {
        AuthorStatus(
            of: entry.author, generation: entry.generation, since: max(1, entry.sequence) - 1, in: state
        ).compared(with: chain, generation: entry.generation)
    }

    /// The owner who vouches for a version by a volume; `nil` for one that its pack has.
    func voucher(of revision: UInt64) -> Entry? {
        volumes.flatMap { revision <= $0.checkpoint.body.upto ? $0.checkpoint.entry : nil }
    }

    /// Reads one version of a record.
    ///
    /// - Throws: ``TresorError/store(_:)`` where its pack or volume is not there any more.
    func item(of record: Name, at revision: UInt64, from packs: PackReader) throws(TresorError) -> Item {
        if let volumes, voucher(of: revision) != nil {
            guard let keys = try keyRing.heldKeys(of: volumes.checkpoint.body.epoch, in: state) else { throw .noAccess }
            return try packs.volumes.item(of: record, at: revision, in: volumes, with: keys)
        }
        let items = try items(at: revision, from: packs)
        let index = items.partitioningIndex { $0.record >= record }
        guard items.indices.contains(index), items[index].record == record else { throw .notFound }
        return items[index]
    }

    /// Reads what a commit changed, by rising record name.
    ///
    /// - Throws: ``TresorError/store(_:)`` where its pack is not there any more.
    func items(at revision: UInt64, from packs: PackReader) throws(TresorError) -> [Item] {
        try items(of: try commit(revision, from: packs), from: packs)
    }

    /// Returns the commit of a version that no later one replaces.
    ///
    /// - Throws: ``TresorError/store(_:)`` where an index stands for it, and the home has lost the entry.
    func commit(_ revision: UInt64, from packs: PackReader) throws(TresorError) -> Entry {
        if let entry = commits[revision] { return entry }
        return try packs.entry(revision, of: state)
    }

    /// Reads what a commit of this log changed, by rising record name.
    func items(of entry: Entry, from packs: PackReader) throws(TresorError) -> [Item] {
        try packs.items(of: entry.sequence) { (bytes) throws(TresorError) in
            let outcome = PackOutcome.openPack(bytes, of: entry, history: member?.history, in: state) {
                () throws(TresorError) in
                guard case .commit(let commit) = try entry.body,
                    let keys = try keyRing.heldKeys(of: commit.epoch, in: state)
                else { throw .noAccess }
                return keys
            }
            switch outcome {
            case .items(let items): return items
            case .missing(let error): throw error
            case .notMine, .void: throw .notFound
            }
        }
    }
}

extension [UInt64: Result<EpochKeys, TresorError>] {
    /// The epochs whose keys were found.
    fileprivate var opened: [UInt64] { filter { (try? $0.value.get()) != nil }.map(\.key) }

    fileprivate func ofEpoch(of entry: Entry) throws(TresorError) -> EpochKeys {
        guard case .commit(let commit) = try entry.body, let keys = self[commit.epoch] else { throw .noAccess }
        return try keys.get()
    }
}
