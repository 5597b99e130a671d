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
        /// The hash of those who were in the tresor before the entry, and not after it.
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

        init(at server: Hash256) { self.server = server }

        /// Notes the removals among revocations.
        func note(_ revocations: [Revocation]) {
            last.withLock { last in
                for case .removal(let removal) in revocations
                where removal.sequence >= last[removal.tresor]?.sequence ?? 0 {
                    last[removal.tresor] = removal
                }
            }
        }

        /// Refuses what would take the place of a removal that a log lacks. Members restore what others have signed, and
        /// owners what they had signed themselves by then; and then comes the removal.
        ///
        /// - Throws: `TresorError.store(_:)` with `behind`.
        func check(
            _ entry: Entry, _ judgment: Judgment, by speaker: UserID, on before: LogState?
        ) throws(TresorError) {
            guard let removal = last.withLock({ $0[entry.tresor] }), entry.sequence <= removal.sequence else { return }
            let isRestored = speaker != entry.author
            let isOwners = (before ?? judgment.state).members[entry.author]?.role == .owner
            let isLeave = removal.isOwn && judgment.leaving.contains(entry.author)
            guard isRestored || isOwners || isLeave else { throw .store(.behind) }
            if entry.sequence == removal.sequence {
                guard try hash(of: judgment.leaving) == removal.people else { throw .store(.behind) }
            } else {
                guard isRestored || entry.time <= removal.time else { throw .store(.behind) }
            }
        }

        /// The revocation that an entry makes; none for one that ends nobody's access.
        func revocations(by entry: Entry, _ judgment: Judgment, at now: UInt64) throws(TresorError) -> [Revocation] {
            guard !judgment.leaving.isEmpty else { return [] }
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
