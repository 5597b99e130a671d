// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    package import TresorCore
    import TresorCrypto

    /// An entry that ended the access of people to a tresor, as the file of revocations has it (SPEC §18.7).
    package struct Removal: Hashable, Sendable {
        /// The size of the hash of people in bytes.
        package static let hashByteCount = 24

        package let tresor: TresorID
        /// The place of the entry in its log.
        package let sequence: UInt64
        /// The hash of those who were in the tresor before the entry, and not after it; of nobody where the entry of a
        /// former record failed and another one has its place.
        package let people: [UInt8]
        /// A time, in seconds since 1970, that no entry before it is likely to be dated after.
        package let time: UInt64
        /// Whether its author is one of those people: they left.
        package let isOwn: Bool

        /// The statement that finds the log if it has the entry, or if the tresor was deleted and takes none.
        fileprivate var search: SQL {
            SQL(
                "SELECT count FROM tresors WHERE tresor = $1 AND (count > $2 OR deleted IS NOT NULL)",
                [.digest(tresor.digest), .number(sequence)])
        }
    }

    /// The removals that the logs of the database lack. A log that is too short to have the last one that the file of
    /// revocations names is *behind*: it comes from a backup (SPEC §18.7).
    final class Removals: Sendable {
        /// The id of the service.
        private let server: Hash256
        /// The last removal of each log that was behind at the start, until this process adds to the log behind it.
        private let kept = Mutex<[TresorID: Removal]>([:])
        /// The time at which the process read the file, in seconds since 1970.
        private let start = Mutex<UInt64>(0)
        /// The place in each log of a removal that this process has written down, and whose entry is not known to be there.
        private let unsure = Mutex<[TresorID: UInt64]>([:])

        init(at server: Hash256) { self.server = server }

        /// The number of removals that are kept.
        var count: Int { kept.withLock(\.count) }

        /// Compares the removals of a page of revocations with the logs, at the start of the process, and keeps those that
        /// the logs lack.
        ///
        /// - Throws: the errors of the engine.
        func compare(
            _ revocations: [Revocation], with engine: any SQLEngine, at now: UInt64
        ) async throws(TresorError) {
            start.withLock { $0 = now }
            let removals: [Removal] = revocations.compactMap { revocation in
                guard case .removal(let removal) = revocation else { return nil }
                return removal
            }
            guard !removals.isEmpty else { return }
            let found = try await engine.read { (transaction) throws(TresorError) in
                try transaction.run(removals.map(\.search), finishing: true)
            }
            for (removal, result) in zip(removals, found) where result.rows.isEmpty { keep(removal) }
        }

        /// Keeps a removal, unless a later one of its tresor is kept.
        func keep(_ removal: Removal) {
            kept.withLock { kept in
                guard removal.sequence >= kept[removal.tresor]?.sequence ?? 0 else { return }
                kept[removal.tresor] = removal
            }
        }

        /// Forgets the removal of a tresor that was deleted.
        func forget(_ tresor: TresorID) { kept.withLock { $0[tresor] = nil } }

        /// Refuses what would take the place of a removal that a log lacks. Members restore what they or others had signed
        /// by then; and then comes the removal.
        ///
        /// - Throws: `TresorError.store(_:)` with `behind`.
        func check(
            _ entry: Entry, _ judgment: Judgment, by speaker: UserID, on before: LogState?, at now: UInt64
        ) throws(TresorError) {
            guard let removal = kept.withLock({ $0[entry.tresor] }), entry.sequence <= removal.sequence else { return }
            let isRestored = speaker != entry.author
            if entry.sequence == removal.sequence, try removal.people != hash(of: []) {
                let isOwners = (before ?? judgment.state).members[entry.author]?.role == .owner
                let isLeave = judgment.leaving.contains(entry.author)
                guard try hash(of: judgment.leaving) == removal.people,
                    isLeave ? removal.isOwn : isRestored || isOwners
                else { throw .store(.behind) }
            } else {
                let isOfRemoved = try hash(of: [entry.author]) == removal.people
                guard isRestored || (removal.isOwn || !isOfRemoved) && isOfBefore(removal, entry.time, at: now) else {
                    throw .store(.behind)
                }
            }
        }

        /// Whether a time may be that of an entry before a removal, and not of one that its author signs now. The clock of
        /// the author may have been ahead, as far as clients sign. What is dated further ahead than that comes from a log
        /// that was imported.
        private func isOfBefore(_ removal: Removal, _ time: UInt64, at now: UInt64) -> Bool {
            guard time >= removal.time else { return true }
            let isNear = time - removal.time <= RequestStatement.maximumLead && time < start.withLock { $0 }
            return isNear || time > now + RequestStatement.maximumLead
        }

        /// Notes that a removal was written down, and that its entry may fail now.
        func expect(_ entry: Entry) { unsure.withLock { $0[entry.tresor] = entry.sequence } }

        /// Notes that an entry is in its log, and so are those before it. A removal among them is kept no more.
        func confirm(_ entry: Entry) {
            kept.withLock { kept in
                guard let removal = kept[entry.tresor], removal.sequence <= entry.sequence else { return }
                kept[entry.tresor] = nil
            }
            unsure.withLock { unsure in
                guard unsure[entry.tresor] == entry.sequence else { return }
                unsure[entry.tresor] = nil
            }
        }

        /// The revocation that an entry makes; none for one that ends nobody's access, unless it takes the place of a removal
        /// that was written down and failed.
        func revocations(by entry: Entry, _ judgment: Judgment, at now: UInt64) throws(TresorError) -> [Revocation] {
            let isInPlace = unsure.withLock { $0[entry.tresor] == entry.sequence }
            guard isInPlace || !judgment.leaving.isEmpty else { return [] }
            // The clock of an author may be ahead of that of the service, but not further.
            let time = min(max(entry.time, now), now + RequestStatement.maximumLead)
            return [
                .removal(
                    Removal(
                        tresor: entry.tresor, sequence: entry.sequence, people: try hash(of: judgment.leaving),
                        time: time,
                        isOwn: judgment.leaving.contains(entry.author)))
            ]
        }

        /// The hash by which the file names people. It depends on the service, as that of a handle does.
        private func hash(of people: [UserID]) throws(TresorError) -> [UInt8] {
            let (key, bytes) = (server.bytes, people.sorted().flatMap(\.digest.bytes))
            var hash = try BLAKE2b(outputCount: Removal.hashByteCount, key: key.span)
            try hash.update(bytes.span)
            return try hash.finalize()
        }
    }
#endif
