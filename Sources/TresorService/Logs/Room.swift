// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The room that somebody needs to write into a tresor.
    struct Demand: Sendable {
        /// By whose room a change is judged.
        enum Right: Hashable, Sendable {
            /// An owner changes people, keys or names: nobody else uses up the room for that.
            case act
            /// An owner writes content.
            case owner
            /// Anybody else writes.
            case other
        }

        let tresor: TresorID
        let founder: UserID
        let author: UserID
        let right: Right
        /// The number of entries before the one to append; `nil` for a blob, which is no entry.
        let entryCount: UInt64?
        /// The number of bytes that come.
        let bytes: UInt64
        /// The number of tresors that are founded: 0 or 1.
        var tresors: UInt64 = 0
        /// The bytes of the entry if its body is additive and nothing here reads it.
        var unread: UInt64 = 0
        /// How far what an owner writes may go beyond the bytes of the quota, so that room can be freed. All owners of the
        /// founder's tresors share it.
        var reserve = Reserve.none

        /// A reserve of bytes for what frees room.
        enum Reserve: Sendable {
            case none
            /// A sixteenth of the quota: for a small entry, as one that deletes records is.
            case small
            /// As much as the quota: for volumes, which lie beside what they replace until that is deleted, for the
            /// checkpoint that names them, and for what an owner alone wrote where they change people, keys or names.
            case whole
        }
    }

    extension Demand {
        /// Makes the demand of an append.
        ///
        /// - Parameter before: the state before the entry; `nil` for the first one.
        init(_ draft: AppendDraft, on before: LogState?) {
            let author = draft.entry.author
            let isOwner = before.map { $0.members[author]?.role == .owner } ?? true
            self.init(
                tresor: draft.request.tresor, founder: before?.founder ?? author, author: author,
                right: isOwner ? (draft.isContent ? .owner : .act) : .other,
                entryCount: draft.request.sequence, bytes: draft.byteCount, tresors: before == nil ? 1 : 0,
                unread: draft.isUnread ? UInt64(draft.request.entry.count) : 0, reserve: draft.reserve)
        }
    }

    /// The numbers by which a demand is judged.
    struct Written: Sendable {
        /// The room that the founder has used.
        let usage: Usage
        /// The entries of the author in the tresor.
        var entries: UInt64 = 0
        var bytes: UInt64 = 0
        /// The bytes of the author's unread bodies in the tresor on this day.
        var unread: UInt64 = 0
        /// The part of others: entries in the tresor, bytes in all tresors of its founder.
        var othersEntries: UInt64 = 0
        var othersBytes: UInt64 = 0
        /// The bytes of deleted blobs that are not erased yet, in all tresors of the founder.
        var deletedBytes: UInt64 = 0
    }

    /// The room that people have: what they write counts for its author in that tresor, and for the founder (SPEC
    /// §18.7).
    struct Room: Sendable {
        /// The most bytes of an entry with an unread body, and of those of an author in a tresor on one day.
        static let unreadByteCount: UInt64 = 64 << 10
        static let unreadDayByteCount: UInt64 = 1 << 20
        /// The most bytes of an entry, with what comes with it, that a small reserve is for.
        static let smallByteCount: UInt64 = 4096
        private static let secondsOfDay: UInt64 = 86_400

        let context: ServiceContext

        /// Refuses what there is no room for.
        ///
        /// The number of entries and what the author wrote are exact: an entry is written at this place or not at all.
        ///
        /// - Throws: `TresorError.failed(_:)` with `full`.
        func check(_ demand: Demand) async throws(TresorError) {
            let quotas = context.settings.quotas
            guard demand.unread <= Self.unreadByteCount else { throw .failed(.full) }
            let usage = try await context.usage.usage(of: demand.founder) { old in
                Self.fits(demand, Self.rough(demand, old), in: quotas.half)
            }
            // The rows are read only where they can make a difference.
            guard demand.unread > 0 || !Self.fits(demand, Self.rough(demand, usage), in: quotas) else { return }
            guard Self.fits(demand, try await written(demand), in: quotas) else { throw .failed(.full) }
        }

        /// Bounds what was written: by the author from above, by others from below.
        private static func rough(_ demand: Demand, _ usage: Usage) -> Written {
            Written(usage: usage, entries: demand.entryCount ?? 0, bytes: usage.bytes)
        }

        private static func fits(_ demand: Demand, _ written: Written, in quotas: Quotas) -> Bool {
            let usage = written.usage
            guard demand.tresors == 0 || usage.tresors + demand.tresors <= quotas.tresors,
                demand.unread == 0 || written.unread + demand.unread <= unreadDayByteCount
            else { return false }
            let entries = demand.entryCount
            // Deleted blobs make room for entries at once, but not for ever more beside what is not erased yet. For other
            // blobs the disk has to have it too.
            let gone = entries == nil ? 0 : min(written.deletedBytes, quotas.bytes)
            switch demand.right {
            case .act:
                let own = usage.bytes - min(usage.bytes, written.othersBytes)
                let ownEntries = entries.map { $0 - min($0, written.othersEntries) }
                return own - min(own, gone) + demand.bytes <= quotas.bytes(with: .whole)
                    && ownEntries.map { $0 < quotas.entries } ?? true
            case .owner:
                return usage.bytes - min(usage.bytes, gone) + demand.bytes <= quotas.bytes(with: demand.reserve)
                    && usage.bytes + demand.bytes <= quotas.bytes(with: .whole)
                    && entries.map { $0 < quotas.entries } ?? true
            case .other:
                return leavesHalf(demand.bytes, beside: written.bytes, of: usage.bytes, in: quotas.bytes)
                    && entries.map { leavesHalf(1, beside: written.entries, of: $0, in: quotas.entries) } ?? true
            }
        }

        /// Whether an author who is no owner has, with what comes, at most half of what the founder has left beside what
        /// that author wrote. A tenth of the quota is kept for the owners.
        ///
        /// - Parameters:
        ///   - more: what comes.
        ///   - own: what the author wrote.
        ///   - total: what everybody wrote.
        static func leavesHalf(_ more: UInt64, beside own: UInt64, of total: UInt64, in quota: UInt64) -> Bool {
            let shared = quota - quota / 10
            guard total <= shared, own <= shared - total else { return false }
            return more <= (shared - total - own) / 2
        }

        /// Reads what the author of a demand wrote, and what others did.
        ///
        /// *authors* counts what people wrote who are not the founder. The founder wrote the rest: no row changes with each
        /// of their entries.
        func written(_ demand: Demand) async throws(TresorError) -> Written {
            let isFounder = demand.author == demand.founder
            let found = try await rows(of: demand, isFounder: isFounder)
            var written = Written(usage: try Usage(found[3]))
            if let row = found[0].first, try row.number(2) == Self.day(at: context.now) {
                written.unread = try row.number(3)
            }
            written.deletedBytes = try Self.count(found[5].first, 0)
            let entries = demand.entryCount ?? 0
            let bytesOfAuthors = try Self.count(found[2].first, 0)
            if isFounder {
                written.othersEntries = try Self.count(found[1].first, 0)
                written.othersBytes = bytesOfAuthors
                written.entries = entries - min(entries, written.othersEntries)
                let (all, others) = (try Self.count(found[4].first, 0), try Self.count(found[1].first, 1))
                written.bytes = all - min(all, others)
            } else {
                written.entries = try Self.count(found[0].first, 0)
                written.bytes = try Self.count(found[0].first, 1)
                written.othersEntries = entries - min(entries, written.entries)
                written.othersBytes = written.usage.bytes - min(written.usage.bytes, bytesOfAuthors)
            }
            return written
        }

        /// Reads, each in one row: the row of the author; what all but the founder wrote in the tresor; the bytes of all but
        /// the founder, or those of the author, in all tresors of the founder; the number and bytes of these; the bytes of
        /// the tresor; those of deleted blobs in all of these.
        private func rows(of demand: Demand, isFounder: Bool) async throws(TresorError) -> [[SQLRow]] {
            let tresor = SQLValue.digest(demand.tresor.digest)
            let (founder, author) = (SQLValue.digest(demand.founder.digest), SQLValue.digest(demand.author.digest))
            let bytesOfOthers = SQL(
                """
                SELECT CAST(COALESCE(sum(a.bytes), 0) AS bigint) FROM authors a
                JOIN tresors t ON t.tresor = a.tresor
                WHERE t.founder = $1 AND a.account <> $1
                """, [founder])
            let bytesOfAuthor = SQL(
                """
                SELECT CAST(COALESCE(sum(a.bytes), 0) AS bigint) FROM authors a
                JOIN tresors t ON t.tresor = a.tresor
                WHERE t.founder = $1 AND a.account = $2
                """, [founder, author])
            return try await context.engine.read([
                SQL(
                    "SELECT entries, bytes, day, unread FROM authors WHERE tresor = $1 AND account = $2",
                    [tresor, author]),
                SQL(
                    """
                    SELECT CAST(COALESCE(sum(entries), 0) AS bigint), CAST(COALESCE(sum(bytes), 0) AS bigint)
                    FROM authors WHERE tresor = $1 AND account <> $2
                    """, [tresor, founder]),
                isFounder ? bytesOfOthers : bytesOfAuthor,
                UsageCache.search(demand.founder),
                SQL("SELECT bytes FROM tresors WHERE tresor = $1", [tresor]),
                UsageCache.deleted(demand.founder),
            ])
        }

        /// A count of a row; 0 for no row. One that is wrong stops nobody from writing.
        private static func count(_ row: SQLRow?, _ column: Int) throws(TresorError) -> UInt64 {
            UInt64(max(0, try row?.integer(column) ?? 0))
        }

        /// The number of a day, by which unread bodies are counted.
        private static func day(at time: UInt64) -> UInt64 { time / secondsOfDay }
    }

    /// The statements that count.
    extension Room {
        /// The statements that count an entry for its author: none for the founder, but for a body that nothing here reads.
        static func counting(_ demand: Demand, at time: UInt64) -> [SQL] {
            guard demand.author != demand.founder || demand.unread > 0 else { return [] }
            return [
                counting(
                    entries: 1, bytes: Int64(clamping: demand.bytes), unread: demand.unread,
                    of: .digest(demand.author.digest), in: .digest(demand.tresor.digest), at: time)
            ]
        }

        /// Counts what a person wrote into a tresor.
        ///
        /// - Parameter bytes: those that came; fewer than 0 where some went.
        static func counting(
            entries: UInt64 = 0, bytes: Int64, unread: UInt64 = 0, of account: SQLValue, in tresor: SQLValue,
            at time: UInt64
        ) -> SQL {
            SQL(
                """
                INSERT INTO authors (tresor, account, entries, bytes, day, unread) VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT (tresor, account) DO UPDATE
                SET entries = authors.entries + $3, bytes = authors.bytes + $4,
                unread = CASE WHEN authors.day = $5 THEN authors.unread + $6 ELSE $6 END, day = $5
                """,
                [tresor, account, .number(entries), .integer(bytes), .number(day(at: time)), .number(unread)])
        }
    }

    extension Quotas {
        /// The bytes of the quota and of a reserve. A quota has fewer than 2^63.
        fileprivate func bytes(with reserve: Demand.Reserve) -> UInt64 {
            switch reserve {
            case .none: bytes
            case .small: bytes + bytes / 16
            case .whole: bytes + bytes
            }
        }

        /// Half of what a sum in memory is judged by, which may be old.
        fileprivate var half: Quotas {
            var half = self
            half.tresors /= 2
            half.bytes /= 2
            return half
        }
    }
#endif
