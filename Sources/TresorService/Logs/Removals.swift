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
    }

    /// The last removal of each tresor that the file of revocations named at the start. A log in the database that is too
    /// short to have it is *behind*: it comes from a backup (SPEC §18.7).
    final class Removals: Sendable {
        /// The id of the service.
        private let server: Hash256
        private let last = Mutex<[TresorID: Removal]>([:])
        /// The time at which the process read the file, in seconds since 1970.
        private let start = Mutex<UInt64>(0)
        /// The place in each log of a removal that this process has written down, and whose entry is not known to be there.
        private let unsure = Mutex<[TresorID: UInt64]>([:])

        init(at server: Hash256) { self.server = server }

        /// Notes the removals among revocations, at the start of the process.
        func note(_ revocations: [Revocation], at now: UInt64) {
            start.withLock { $0 = now }
            last.withLock { last in
                for case .removal(let removal) in revocations
                where removal.sequence >= last[removal.tresor]?.sequence ?? 0 {
                    last[removal.tresor] = removal
                }
            }
        }

        /// Refuses what would take the place of a removal that a log lacks. Members restore what they or others had signed
        /// by then; and then comes the removal.
        ///
        /// - Throws: `TresorError.store(_:)` with `behind`.
        func check(
            _ entry: Entry, _ judgment: Judgment, by speaker: UserID, on before: LogState?, at now: UInt64
        ) throws(TresorError) {
            guard let removal = last.withLock({ $0[entry.tresor] }), entry.sequence <= removal.sequence else { return }
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

        /// Notes that an entry is in its log.
        func confirm(_ entry: Entry) {
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
