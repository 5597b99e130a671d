// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The blobs that entries name: packs, attachments and volumes, in parts (SPEC §18.7).
    ///
    /// A blob that an entry names has a row in *blob_names*, with the newest entry that does. One that none names yet has
    /// a row in *blob_orphans*, with the time at which it was last put.
    struct Blobs: Sendable {
        /// The seconds after which a blob that no entry names may go: 7 days.
        static let lapse: UInt64 = 7 * 86_400
        /// The number of parts of the largest blob.
        private static let partCount = Blob.greatestSize / UInt64(StoredBlob.partByteCount)
        /// The number of blobs that one statement looks up.
        private static let groupCount = 16

        let context: ServiceContext
        /// The number of parts that one transaction deletes: they have at most 16 MiB.
        var portionCount = 64

        /// Puts one part of a blob. A part of a blob that an entry names is replaced for an owner alone.
        ///
        /// - Throws: ``TresorError/noAccess`` for anybody but owners and writers; ``TresorError/altered`` for a part
        ///   that no blob, or not this one, has: all parts but the last are whole; `TresorError.failed(_:)` with `full`
        ///   beyond the room of the caller.
        func put(_ request: PutBlobRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let log = try await context.memberLog(of: caller.user, in: request.tresor)
            guard log.membership.mayPut else { throw .noAccess }
            guard UInt64(request.part) < Self.partCount else { throw .altered }
            try await Room(context: context).check(
                Demand(
                    tresor: request.tresor, founder: log.end.founder, author: caller.user,
                    right: log.membership.role == .owner ? .owner : .other, entryCount: nil,
                    bytes: UInt64(Self.room(ofPart: request.bytes.count)), reserve: .whole))
            let now = context.now
            let added = try await context.change(for: caller) { (transaction) throws(TresorError) -> PutAnswer in
                guard let membership = try Self.hold(request.tresor, caller.user, transaction)?.membership,
                    membership.mayPut
                else {
                    throw .noAccess
                }
                let isOwner = membership.role == .owner
                return PutAnswer(
                    added: try Self.put(request, by: caller.user, isOwner: isOwner, at: now, transaction))
            }.added
            context.usage.add(tresors: 0, bytes: added, of: log.end.founder)
            return DoneAnswer()
        }

        /// Returns one part of a blob to a member.
        ///
        /// - Throws: ``TresorError/noAccess``.
        func blob(_ request: BlobRequest, by caller: Caller) async throws(TresorError) -> BlobAnswer {
            try await context.engine.read { (transaction) throws(TresorError) in
                try Self.requireMember(request.tresor, caller.user, transaction)
                let found = try transaction.run(
                    SQL(
                        "SELECT bytes FROM blobs WHERE tresor = $1 AND hash = $2 AND part = $3",
                        [.digest(request.tresor.digest), .digest(request.hash), .integer(Int64(request.part))]))
                return BlobAnswer(bytes: try found.first?.bytes(0) ?? [])
            }
        }

        /// Returns whole blobs to a member: as many of the first as fit into 4 MiB together.
        ///
        /// - Throws: ``TresorError/noAccess``.
        func blobs(_ request: BlobsRequest, by caller: Caller) async throws(TresorError) -> BlobsAnswer {
            try await context.engine.read { (transaction) throws(TresorError) in
                try Self.requireMember(request.tresor, caller.user, transaction)
                var answer: [[UInt8]] = []
                var left = UInt64(StoredBlob.answerByteCount)
                // Each is looked up once, however often it is named.
                var (sizes, blobs): ([Hash256: UInt64], [Hash256: [UInt8]]) = ([:], [:])
                var asked: Set<Hash256> = []
                for start in stride(from: 0, to: request.hashes.count, by: Self.groupCount) {
                    let hashes = Array(request.hashes[start..<min(start + Self.groupCount, request.hashes.count)])
                    let new = hashes.filter { asked.insert($0).inserted }
                    sizes.merge(try Self.sizes(of: new, in: request.tresor, transaction)) { $1 }
                    let wanted = hashes.prefix { hash in
                        let size = sizes[hash] ?? 0
                        guard size <= left else { return false }
                        left -= size
                        return true
                    }
                    let present = Set(wanted).filter { sizes[$0] != nil && blobs[$0] == nil }
                    blobs.merge(try Self.blobs(present.sorted(), in: request.tresor, transaction)) { $1 }
                    answer += wanted.map { blobs[$0] ?? [] }
                    guard wanted.count == hashes.count else { break }
                }
                return BlobsAnswer(blobs: answer)
            }
        }

        /// The bytes that a part counts as: 512 at least, for each part is a row. Statements that sum count so too.
        static func room(ofPart byteCount: Int) -> Int { max(byteCount, 512) }

        /// The answer of a change that also tells the number of bytes that came.
        private struct PutAnswer: EmptyMessage {
            var added: UInt64 = 0

            init() {}
            init(added: UInt64) { self.added = added }
        }

        /// Holds the row of a tresor until the transaction ends, and returns its log as it is then for a user.
        static func hold(
            _ tresor: TresorID, _ user: UserID, _ transaction: any SQLTransaction
        ) throws(TresorError) -> MemberLog? {
            let held = try transaction.run([
                SQL(
                    "UPDATE tresors SET count = count WHERE tresor = $1 AND deleted IS NULL",
                    [.digest(tresor.digest)])
            ])
            guard held == [1] else { return nil }
            return try MemberLog(transaction.run(MemberLog.search(tresor, user)).first)
        }

        private static func requireMember(
            _ tresor: TresorID, _ user: UserID, _ transaction: any SQLTransaction
        ) throws(TresorError) {
            let log = try MemberLog(transaction.run(MemberLog.search(tresor, user)).first)
            guard log?.membership.role != nil else { throw .noAccess }
        }

        /// - Returns: the number of bytes that came.
        private static func put(
            _ request: PutBlobRequest, by user: UserID, isOwner: Bool, at now: UInt64,
            _ transaction: any SQLTransaction
        ) throws(TresorError) -> UInt64 {
            let blob = [SQLValue.digest(request.tresor.digest), .digest(request.hash)]
            let part = blob + [.integer(Int64(request.part))]
            let found = try transaction.rows(of: [
                SQL(
                    """
                    SELECT CAST(length(bytes) AS bigint), account FROM blobs
                    WHERE tresor = $1 AND hash = $2 AND part = $3
                    """, part),
                SQL("SELECT size FROM blob_names WHERE tresor = $1 AND hash = $2", blob),
                SQL(
                    """
                    SELECT part, CAST(length(bytes) AS bigint) FROM blobs
                    WHERE tresor = $1 AND hash = $2 ORDER BY part DESC LIMIT 1
                    """, blob),
            ])
            let present = found[0].first
            let named = found[1].first
            if let named {
                if present != nil, !isOwner { return 0 }
                // Another part would make the blob longer than its name says, and nobody could read it any more.
                guard request.isPart(ofByteCount: try named.number(0)) else { throw .altered }
            } else if let last = found[2].first {
                // Many short parts would be many rows, which those read who ask for the blob.
                let fits = try request.fits(beside: UInt32(clamping: last.integer(0)), ofByteCount: last.integer(1))
                guard fits else { throw .altered }
            }
            let came = Int64(room(ofPart: request.bytes.count))
            let replaced = try present?.integer(0)
            let went = replaced.map { Int64(room(ofPart: Int($0))) } ?? 0
            let added = came - went
            var statements = [
                storing(request.bytes, as: request.part, of: request.hash, by: user, in: request.tresor),
                SQL("UPDATE tresors SET bytes = bytes + $2 WHERE tresor = $1", [blob[0], .integer(added)]),
                Room.counting(bytes: came, of: .digest(user.digest), in: blob[0], at: now),
            ]
            if let present {
                statements.append(Room.counting(bytes: -went, of: try present.value(1), in: blob[0], at: now))
            }
            if named == nil {
                statements.append(
                    SQL(
                        """
                        INSERT INTO blob_orphans (tresor, hash, time) VALUES ($1, $2, $3)
                        ON CONFLICT (tresor, hash) DO UPDATE SET time = $3
                        """, blob + [.number(now)]))
            }
            _ = try transaction.run(statements)
            return UInt64(max(0, added))
        }

        /// The statement that stores a part in place of one that is there, and for whom it counts.
        static func storing(
            _ bytes: [UInt8], as part: UInt32, of hash: Hash256, by user: UserID, in tresor: TresorID
        ) -> SQL {
            SQL(
                """
                INSERT INTO blobs (tresor, hash, part, bytes, account) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (tresor, hash, part) DO UPDATE SET bytes = $4, account = $5
                """,
                [
                    .digest(tresor.digest), .digest(hash), .integer(Int64(part)), .bytes(bytes), .digest(user.digest),
                ])
        }

        /// Returns the sizes of those of at most 16 blobs that are there and fit into an answer.
        private static func sizes(
            of hashes: [Hash256], in tresor: TresorID, _ transaction: any SQLTransaction
        ) throws(TresorError) -> [Hash256: UInt64] {
            guard let values = Self.values(of: hashes, in: tresor) else { return [:] }
            let measuring = SQL(
                """
                SELECT hash, CAST(sum(length(bytes)) AS bigint) FROM blobs WHERE tresor = $1 AND hash IN
                ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) GROUP BY hash
                """, values)
            var sizes: [Hash256: UInt64] = [:]
            for row in try transaction.run(measuring) {
                let (hash, size) = (try row.digest(0), try row.number(1))
                if size <= UInt64(StoredBlob.answerByteCount) { sizes[hash] = size }
            }
            return sizes
        }

        /// Returns the bytes of at most 16 blobs.
        private static func blobs(
            _ hashes: [Hash256], in tresor: TresorID, _ transaction: any SQLTransaction
        ) throws(TresorError) -> [Hash256: [UInt8]] {
            guard let values = Self.values(of: hashes, in: tresor) else { return [:] }
            let reading = SQL(
                """
                SELECT hash, bytes FROM blobs WHERE tresor = $1 AND hash IN
                ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) ORDER BY hash, part
                """, values)
            var blobs: [Hash256: [UInt8]] = [:]
            for row in try transaction.run(reading) {
                let (hash, bytes) = (try row.digest(0), try row.bytes(1))
                blobs[hash, default: []] += bytes
            }
            return blobs
        }

        /// The values of a statement about 16 blobs. The last one stands for those that are missing; `nil` for none.
        private static func values(of hashes: [Hash256], in tresor: TresorID) -> [SQLValue]? {
            guard let last = hashes.last else { return nil }
            let missing = [Hash256](repeating: last, count: groupCount - hashes.count)
            return ([tresor.digest] + hashes + missing).map { SQLValue.digest($0) }
        }
    }

    /// The statements of an append about its blobs.
    extension Blobs {
        /// The statements that put the blobs of an entry that came with it, and name all of them.
        ///
        /// - Parameters:
        ///   - sent: the blobs of the request; empty for an entry that is restored without them.
        ///   - author: the author of the entry.
        ///   - named: the blobs that the entry names.
        ///   - error: what the transaction throws where a blob is not there in all its bytes.
        static func statements(
            _ sent: [StoredBlob], of author: UserID, naming named: [Blob], at sequence: UInt64, in tresor: TresorID,
            orElse error: TresorError
        ) -> [SQL] {
            var statements: [SQL] = []
            for blob in sent {
                guard let whole = blob.bytes else { continue }
                // The parts come in place of those that lie there, which count no more.
                statements += freeing([.digest(tresor.digest), .digest(blob.hash), .integer(.max)])
                for (part, bytes) in StoredBlob.parts(of: whole).enumerated() {
                    statements.append(
                        storing(Array(bytes), as: UInt32(part), of: blob.hash, by: author, in: tresor))
                }
            }
            // To name a blob counts its parts: once for an entry that names it often.
            var names: Set<Blob> = []
            for blob in named where names.insert(blob).inserted {
                let key = [SQLValue.digest(tresor.digest), .digest(blob.hash)]
                let row = key + [.number(sequence), .number(blob.size)]
                statements.append(SQL("DELETE FROM blob_orphans WHERE tresor = $1 AND hash = $2", key))
                statements.append(sent.isEmpty ? naming(row) : namingWhole(row).orElse(error))
            }
            return statements
        }

        /// Names a blob. Its first name says how long it is: a later one with another size is that of no bytes.
        private static func naming(_ row: [SQLValue]) -> SQL {
            SQL(
                """
                INSERT INTO blob_names (tresor, hash, sequence, size) VALUES ($1, $2, $3, $4)
                ON CONFLICT (tresor, hash) DO UPDATE SET sequence = $3
                """, row)
        }

        /// Names a blob that is there in all its bytes. Their number tells it; only who reads them can judge them.
        private static func namingWhole(_ row: [SQLValue]) -> SQL {
            SQL(
                """
                INSERT INTO blob_names (tresor, hash, sequence, size)
                SELECT $1, $2, $3, $4 FROM (
                SELECT count(*) AS parts, max(part) AS newest, CAST(sum(length(bytes)) AS bigint) AS size
                FROM blobs WHERE tresor = $1 AND hash = $2) whole
                WHERE whole.parts = whole.newest + 1 AND whole.size = $4
                ON CONFLICT (tresor, hash) DO UPDATE SET sequence = $3
                """, row)
        }
    }

    extension PutBlobRequest {
        /// Whether the bytes are a part of a blob of that size, by their number and count.
        fileprivate func isPart(ofByteCount size: UInt64) -> Bool {
            let start = UInt64(part) * UInt64(StoredBlob.partByteCount)
            return start < size && UInt64(bytes.count) == min(UInt64(StoredBlob.partByteCount), size - start)
        }

        /// Whether only the last part is short once the bytes lie beside the last one that is there.
        fileprivate func fits(beside last: UInt32, ofByteCount count: Int64) -> Bool {
            if part == last { return true }
            return (part < last ? Int64(bytes.count) : count) == StoredBlob.partByteCount
        }
    }

    extension Membership {
        /// Whether the person may put blobs.
        var mayPut: Bool { role == .owner || role == .writer }
    }
#endif
