// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The local copies of verified logs (SPEC §9.8, §9.10): the entries in parts and, in a session, snapshots of their
/// states.
package struct LogArchive: Sendable {
    /// The number of entries whose kept packs are in one part: 64 (SPEC §8.5).
    package static let packPartCount: UInt64 = 64
    /// The greatest number under which an outbox holds pieces: 2046 (SPEC §8.5).
    package static let greatestUnsentNumber: UInt16 = 2046

    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }
    private var folded: FoldCache { client.folded }
    private var keeper: Snapshots? { client.operation.snapshots }

    /// The last verified head of a log; `nil` for none.
    package func pinnedHead(of tresor: TresorID) throws(TresorError) -> Head? { try client.heads()[tresor] }

    /// Returns the state of a verified log at its pinned head; `nil` when there is none, or the local copy does not
    /// lead to that head.
    package func verifiedState(of tresor: TresorID) throws(TresorError) -> LogState? {
        try verifiedState(of: tresor, at: try client.heads()[tresor])
    }

    func verifiedState(of tresor: TresorID, at pinned: Head?) throws(TresorError) -> LogState? {
        guard let pinned else { return nil }
        if let state = folded.state(of: tresor, at: pinned) { return state }
        var state = try snapshotState(of: tresor, at: pinned)
        if state == nil { state = try fold(localCopyOf: tresor, to: pinned) }
        if let state { folded.keep(state) }
        return state
    }

    private func snapshotState(of tresor: TresorID, at pinned: Head) throws(TresorError) -> LogState? {
        guard let keeper, let kept = try keeper.state(of: tresor, in: home) else { return nil }
        guard let state = try fold(localCopyOf: tresor, onto: kept, to: pinned) else { return nil }
        keeper.note(kept)
        return state
    }

    /// Folds the local log copy exactly up to the pinned head.
    private func fold(
        localCopyOf tresor: TresorID, onto state: LogState? = nil, to pinned: Head
    ) throws(TresorError) -> LogState? {
        var fold = state.map { Fold(state: $0) } ?? Fold(tresor: tresor)
        var next = state?.entryCount ?? 0
        while next <= pinned.sequence {
            let entries = try entries(of: tresor, from: next, through: pinned.sequence)
            guard !entries.isEmpty, (try? fold.apply(entries)) != nil else { return nil }
            next += UInt64(entries.count)
        }
        guard let state = fold.state, state.head == pinned else { return nil }
        return state
    }

    /// Reads local entries from one sequence number on, to the end of its part. They are not verified.
    func entries(
        of tresor: TresorID, from first: UInt64, through last: UInt64
    ) throws(TresorError) -> [[UInt8]] {
        let (part, offset) = first.quotientAndRemainder(dividingBy: LogCopy.partCount)
        guard let bytes = try home.read(.log(tresor, part: part)), let log = try? LogCopy(bytes) else { return [] }
        let count = min(LogCopy.partCount - 1, last - part * LogCopy.partCount) + 1
        return Array(log.entries.prefix(Int(count)).dropFirst(Int(offset)))
    }

    /// Reads the local entry at a head, and checks its hash.
    func entry(at head: Head, of tresor: TresorID) throws(TresorError) -> [UInt8]? {
        guard let entry = try entries(of: tresor, from: head.sequence, through: head.sequence).first,
            try BLAKE2b.hash(.entryHash, entry) == head.hash
        else { return nil }
        return entry
    }

    /// Reads the local entries of a state from one sequence number on, to the end of its part.
    ///
    /// - Throws: ``TresorError/notFound`` when some of them are missing.
    package func entries(of state: LogState, from first: UInt64) throws(TresorError) -> [[UInt8]] {
        let entries = try entries(of: state.tresor, from: first, through: state.head.sequence)
        guard !entries.isEmpty, try state.hasEntries(entries, from: first) else { throw .notFound }
        return entries
    }

    /// Rewrites what the home has of some objects to prove that it is writable, before anything is sent. Otherwise an act
    /// could succeed in the store and fail in the home. Pinned heads are written and deleted again if there are none.
    ///
    /// - Throws: ``TresorError/failed(_:)`` or ``TresorError/busy``.
    package func proveWritable(_ objects: [HomeObject] = [.heads]) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            for object in objects {
                if let present = try home.read(object) {
                    try home.replace(object, with: present)
                } else if object == .heads {
                    try home.replace(object, with: PinnedHeads().bytes)
                    try home.delete(object)
                }
            }
        }
    }

    /// Deletes the snapshot of a tresor that this person is out of, and their own wraps of it. To be called while nobody
    /// else changes the home.
    ///
    /// - Throws: ``TresorError/failed(_:)``.
    package func forgetAccess(to tresor: TresorID) throws(TresorError) {
        try home.delete(.state(tresor))
        var wraps = client.keptWraps()
        let present = wraps
        wraps.forget(tresor)
        if wraps != present { try home.replace(.wraps, with: wraps.bytes) }
    }

    /// Deletes the kept packs and volumes of all entries up to one. Between two parts, others get the home.
    ///
    /// - Parameter mayGoOn: asked before each part, while nobody else changes the home.
    /// - Returns: whether all are deleted.
    /// - Throws: ``TresorError/failed(_:)`` or ``TresorError/busy``. What is left, a repetition finds.
    @discardableResult
    package func forgetPacks(
        of tresor: TresorID, upTo sequence: UInt64, while mayGoOn: () throws(TresorError) -> Bool = { true }
    ) throws(TresorError) -> Bool {
        var volumes = VolumePlaces(of: tresor, in: self)
        return try forgetPacks(upTo: sequence, volumes: &volumes, while: mayGoOn)
    }

    /// Does the same where it is known by now at which entries volumes may be.
    func forgetPacks(
        upTo sequence: UInt64, volumes: inout VolumePlaces, while mayGoOn: () throws(TresorError) -> Bool = { true }
    ) throws(TresorError) -> Bool {
        for part in 0...(sequence / Self.packPartCount) {
            let isDone = try home.exclusively { () throws(TresorError) in
                guard try mayGoOn() else { return false }
                try forgetPacks(inPart: part, volumes: &volumes)
                return true
            }
            guard isDone else { return false }
        }
        return true
    }

    /// Deletes the kept packs and volumes of the entries of a part, and before those of the first part the index of all. To
    /// be called while nobody else changes the home.
    func forgetPacks(inPart part: UInt64, volumes: inout VolumePlaces) throws(TresorError) {
        let tresor = volumes.tresor
        if part == 0 {
            // One that cannot be read goes too.
            let index = Result { () throws(TresorError) in try home.read(.recordIndex(tresor)) }
            if index != .success(nil) { try home.delete(.recordIndex(tresor)) }
        }
        try deleteAll { .records(tresor, part: part, piece: $0) }
        for sequence in volumes.places(inPart: part) { try forgetVolumes(of: tresor, checkpoint: sequence) }
    }

    /// Deletes the kept volumes of a checkpoint. To be called while nobody else changes the home.
    package func forgetVolumes(of tresor: TresorID, checkpoint: UInt64) throws(TresorError) {
        try deleteAll { .volume(tresor, checkpoint: checkpoint, number: $0) }
    }

    /// Deletes what the outbox of a tresor holds in pieces, a few at a time, so that others get the home in between. Before
    /// the first piece goes, an outbox without a byte takes its place, under which nobody writes. That one stays.
    func forgetUnsent(of tresor: TresorID, atOnce most: Int = 64) throws(TresorError) {
        let isThere = try home.exclusively { () throws(TresorError) in
            guard let outbox = try home.read(.outbox(tresor)) else { return false }
            if !outbox.isEmpty { try home.replace(.outbox(tresor), with: []) }
            return true
        }
        guard isThere else { return }
        var number: UInt16 = 1
        while number <= Self.greatestUnsentNumber {
            number = try home.exclusively { () throws(TresorError) in
                try forgetPieces(of: tresor, from: number, atMost: most)
            }
        }
    }

    /// Whether nothing is held beside the outbox of a tresor, nor will be while the home is locked.
    func hasForgottenUnsent(of tresor: TresorID) throws(TresorError) -> Bool {
        try home.read(.outbox(tresor))?.isEmpty ?? true
    }

    /// Deletes some pieces of unsent contents, of each the last one first. To be called while nobody else changes the home.
    ///
    /// - Returns: the first number of which pieces may be left.
    private func forgetPieces(
        of tresor: TresorID, from first: UInt16, atMost most: Int
    ) throws(TresorError) -> UInt16 {
        var left = most
        for number in first...Self.greatestUnsentNumber {
            let end = try unsentPieceCount(of: number, in: tresor)
            let count = min(end, UInt64(left))
            for piece in (end - count..<end).reversed() {
                try home.delete(.unsent(tresor, number: number, piece: piece))
            }
            left -= Int(count)
            if left == 0 { return end == count ? number + 1 : number }
        }
        return Self.greatestUnsentNumber + 1
    }

    /// The number of pieces that a home holds under a number of an outbox. They lie there without a gap.
    package func unsentPieceCount(of number: UInt16, in tresor: TresorID) throws(TresorError) -> UInt64 {
        func isThere(_ piece: UInt64) throws(TresorError) -> Bool {
            try home.read(.unsent(tresor, number: number, piece: piece)) != nil
        }
        var (low, high): (UInt64, UInt64) = (0, 1)
        while try isThere(high - 1) { (low, high) = (high, 2 * high) }
        // There are `low` at least, and fewer than `high`.
        while high - low > 1 {
            let middle = (low + high) / 2
            if try isThere(middle - 1) { low = middle } else { high = middle }
        }
        return low
    }

    /// Deletes objects that are numbered, the last one first: an interruption leaves none behind a gap.
    private func deleteAll(_ object: (UInt64) -> HomeObject) throws(TresorError) {
        var end: UInt64 = 0
        while try home.read(object(end)) != nil { end += 1 }
        for number in (0..<end).reversed() { try home.delete(object(number)) }
    }

    /// Keeps the log part by part, then in a session the snapshot, then the store's name, then the head. An
    /// interruption leaves parts that count for nothing.
    ///
    /// - Parameters:
    ///   - fresh: the entries just read, as far as they are held.
    ///   - known: the state that was kept before; `nil` when nothing kept is in order.
    /// - Returns: `false` when another process pinned a higher head to which no local copy leads. Read the log again,
    ///   and judge it by that head.
    /// - Throws: ``TresorError/forked`` when another process remembered another history.
    @discardableResult
    func remember(_ state: LogState, _ fresh: FreshEntries, known: LogState?) async throws(TresorError) -> Bool {
        guard known?.head != state.head else {
            guard isNewStore(of: state.tresor) || keeper?.isDue(state) == true else { return true }
            try? await Cores.apart { () throws(TresorError) in
                try home.exclusively { () throws(TresorError) in
                    // Another process may have read more by now, and deleted what the home must not have any more.
                    guard try client.heads()[state.tresor] == state.head else { return }
                    keepSnapshot(state)
                    try noteStore(of: state.tresor)
                }
            }
            return true
        }
        var next = known.map(\.entryCount) ?? 0
        if let known, try !isKept(known) { next = 0 }
        repeat {
            let range = next..<min(LogCopy.end(ofPartWith: next), state.entryCount)
            let entries =
                if let held = fresh.entries(range) { held } else { try await client.logs.entries(range, of: state) }
            let first = next
            switch try await Cores.apart({ () throws(TresorError) in try keep(entries, from: first, of: state) }) {
            case .kept: next = range.upperBound
            case .known: return true
            case .unproved: return false
            }
        } while next < state.entryCount
        return true
    }

    /// The outcome of keeping entries.
    private enum Keeping {
        case kept
        /// Another process has remembered more.
        case known
        /// Another process has pinned a higher head, but its local copy is missing.
        case unproved
    }

    /// Whether the part in which a state's log ends is kept whole.
    private func isKept(_ state: LogState) throws(TresorError) -> Bool {
        guard try entry(at: state.head, of: state.tresor) != nil else { return false }
        return try entries(before: state.entryCount, of: state) != nil
    }

    /// Keeps entries of one part; with the last of them, the snapshot and the head.
    ///
    /// - Throws: ``TresorError/forked`` when another process remembered another history.
    private func keep(_ entries: [[UInt8]], from first: UInt64, of state: LogState) throws(TresorError) -> Keeping {
        try home.exclusively { () throws(TresorError) in
            var heads = try client.heads()
            if let present = heads[state.tresor], present.sequence > state.head.sequence {
                guard let known = try verifiedState(of: state.tresor, at: present) else { return .unproved }
                guard known.contains(state.head) else { throw .forked }
                return .known
            }
            try heads.raise(to: state, me: try client.people.ownUser())
            guard let before = try self.entries(before: first, of: state) else { throw .busy }
            let part = first / LogCopy.partCount
            try home.replace(.log(state.tresor, part: part), with: LogCopy(entries: before + entries).bytes)
            guard first + UInt64(entries.count) == state.entryCount else { return .kept }
            keepSnapshot(state)
            try noteStore(of: state.tresor)
            try home.replace(.heads, with: heads.bytes)
            folded.keep(state)
            return .kept
        }
    }

    /// Reads the local entries of the same part before one; `nil` when some are missing.
    private func entries(before next: UInt64, of state: LogState) throws(TresorError) -> [[UInt8]]? {
        let offset = next % LogCopy.partCount
        guard offset > 0 else { return [] }
        let entries = try entries(of: state.tresor, from: next - offset, through: next - 1)
        guard entries.count == Int(offset), try state.hasEntries(entries, from: next - offset) else { return nil }
        return entries
    }

    /// Keeps a snapshot. It is a convenience: failing to write it is no error.
    private func keepSnapshot(_ state: LogState) {
        guard let keeper, keeper.isDue(state) else { return }
        try? keeper.keep(state, in: home)
    }

    /// Proves that the snapshot equals the state that the log gives from its genesis on.
    ///
    /// - Throws: ``TresorError/altered`` when it does not.
    func proveSnapshot(of tresor: TresorID) async throws(TresorError) {
        guard let keeper, let kept = try keeper.state(of: tresor, in: home) else { return }
        var fold = Fold(tresor: tresor)
        var next: UInt64 = 0
        while next < kept.entryCount {
            let limit = Int(min(UInt64(LogReader.pageCount), kept.entryCount - next))
            let page = try await store.entries(of: tresor, from: next, limit: limit)
            guard !page.isEmpty, page.count <= limit else { throw .store(.other) }
            try fold.apply(page)
            next += UInt64(page.count)
        }
        guard let state = fold.state, try keeper.bytes(of: state) == keeper.bytes(of: kept) else { throw .altered }
    }
}

/// The entries just read from a store, held up to 512. If there are more, the needed ones are read again.
struct FreshEntries {
    /// The sequence number of the first.
    let first: UInt64
    private var entries: [[UInt8]]? = []

    init(first: UInt64) { self.first = first }

    mutating func add(_ page: [[UInt8]]) {
        guard let held = entries, UInt64(held.count + page.count) <= LogCopy.partCount else { return entries = nil }
        entries = held + page
    }

    func entries(_ range: Range<UInt64>) -> [[UInt8]]? {
        guard let entries, range.lowerBound >= first, range.upperBound <= first + UInt64(entries.count) else {
            return nil
        }
        return Array(entries[Int(range.lowerBound - first)..<Int(range.upperBound - first)])
    }
}
