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
        /// The number of blobs whose sizes are read in one exchange.
        private static let groupCount = 64

        let context: ServiceContext

        /// Puts one part of a blob. A part of a blob that an entry names is replaced for an owner alone.
        ///
        /// - Throws: ``TresorError/noAccess`` for anybody but owners and writers; `TresorError.store(_:)` with `full`
        ///   beyond the room of the caller.
        func put(_ request: PutBlobRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let seat = try await context.seat(of: caller.user, in: request.tresor)
            guard seat.mayPut else { throw .noAccess }
            try await Room(context: context).check(
                Demand(
                    tresor: request.tresor, founder: seat.end.founder, author: caller.user,
                    right: seat.role == .owner ? .owner : .other, entryCount: nil, bytes: UInt64(request.bytes.count)))
            let now = context.now
            let added = try await context.change(for: caller) { (transaction) throws(TresorError) -> PutAnswer in
                guard let seat = try Self.hold(request.tresor, caller.user, transaction), seat.mayPut else {
                    throw .noAccess
                }
                let isOwner = seat.role == .owner
                return PutAnswer(
                    added: try Self.put(request, by: caller.user, isOwner: isOwner, at: now, transaction))
            }.added
            context.usage.add(tresors: 0, bytes: added, of: seat.end.founder)
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
                for start in stride(from: 0, to: request.hashes.count, by: Self.groupCount) {
                    let hashes = Array(request.hashes[start..<min(start + Self.groupCount, request.hashes.count)])
                    let sizes = try transaction.rows(of: hashes.map { Self.measuring($0, in: request.tresor) })
                    var wanted: [Hash256?] = []
                    for (hash, row) in zip(hashes, sizes) {
                        guard let size = try row.first?.number(0) else { throw .store(.damaged) }
                        let isThere = (1...UInt64(StoredBlob.answerByteCount)).contains(size)
                        guard !isThere || size <= left else { break }
                        if isThere { left -= size }
                        wanted.append(isThere ? hash : nil)
                    }
                    let found = try transaction.rows(
                        of: wanted.compactMap { $0.map { Self.reading($0, in: request.tresor) } })
                    var next = found.makeIterator()
                    for hash in wanted {
                        var blob: [UInt8] = []
                        for row in hash == nil ? [] : next.next() ?? [] { blob += try row.bytes(0) }
                        answer.append(blob)
                    }
                    guard wanted.count == hashes.count else { break }
                }
                return BlobsAnswer(blobs: answer)
            }
        }

        /// Deletes blobs for an owner.
        ///
        /// - Throws: ``TresorError/noAccess`` for anybody else; ``TresorError/altered`` for a blob that an entry above
        ///   the floor names, and nothing is deleted then; ``TresorError/busy`` if the log grows in between.
        func delete(_ request: DeleteBlobsRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let seat = try await context.seat(of: caller.user, in: request.tresor)
            guard seat.role == .owner else { throw .noAccess }
            let state = try await context.states.state(
                of: request.tresor, at: seat.end, for: caller.user.digest.bytes)
            guard let floor = state?.floor else { throw .busy }
            let answer = try await context.change(for: caller, erasing: true) { (transaction) throws(TresorError) in
                guard let held = try Self.hold(request.tresor, caller.user, transaction), held.role == .owner else {
                    throw .noAccess
                }
                guard held.end == seat.end else { throw .busy }
                for hash in Set(request.hashes).sorted() {
                    let blob = [SQLValue.digest(request.tresor.digest), .digest(hash)]
                    let named = try transaction.run(
                        SQL("SELECT sequence FROM blob_names WHERE tresor = $1 AND hash = $2", blob))
                    guard try named.first.map({ (row) throws(TresorError) in try row.number(0) <= floor }) ?? true
                    else { throw .altered }
                    _ = try transaction.run(Self.deleting(blob))
                }
                return DoneAnswer()
            }
            context.usage.forget(seat.end.founder)
            return answer
        }

        /// Deletes blobs that were put more than 7 days ago, and that no entry names.
        ///
        /// - Throws: the errors of the engine.
        func sweep() async throws(TresorError) {
            let limit = context.now - min(context.now, Self.lapse)
            while true {
                try Cancellation.check()
                let found = try await context.engine.read(
                    SQL(
                        "SELECT tresor, hash FROM blob_orphans WHERE time < $1 ORDER BY time LIMIT 64",
                        [.number(limit)]))
                for row in found {
                    let blob = [SQLValue.digest(try row.digest(0)), .digest(try row.digest(1))]
                    try await context.engine.write(erasing: false) { (transaction) throws(TresorError) in
                        // The row of the tresor is held: no entry can name the blob meanwhile.
                        let statements = [
                            SQL("UPDATE tresors SET count = count WHERE tresor = $1", [blob[0]]),
                            SQL(
                                "DELETE FROM blob_orphans WHERE tresor = $1 AND hash = $2 AND time < $3",
                                blob + [.number(limit)]),
                        ]
                        guard try transaction.run(statements)[1] == 1 else { return }
                        _ = try transaction.run(Self.deleting(blob))
                    }
                }
                if found.count < 64 { return }
            }
        }

        /// The answer of a change that also tells the number of bytes that came.
        private struct PutAnswer: EmptyMessage {
            var added: UInt64 = 0

            init() {}
            init(added: UInt64) { self.added = added }
        }

        /// Holds the row of a tresor until the transaction ends, and returns the seat of a user as it is then.
        private static func hold(
            _ tresor: TresorID, _ user: UserID, _ transaction: any SQLTransaction
        ) throws(TresorError) -> Seat? {
            let held = try transaction.run([
                SQL(
                    "UPDATE tresors SET count = count WHERE tresor = $1 AND deleted IS NULL",
                    [.digest(tresor.digest)])
            ])
            guard held == [1], let row = try transaction.run(Seat.search(tresor, user)).first else { return nil }
            return try Seat(row)
        }

        private static func requireMember(
            _ tresor: TresorID, _ user: UserID, _ transaction: any SQLTransaction
        ) throws(TresorError) {
            guard let row = try transaction.run(Seat.search(tresor, user)).first, try Seat(row).role != nil else {
                throw .noAccess
            }
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
            ])
            let present = found[0].first
            let named = found[1].first
            if let named {
                if present != nil, !isOwner { return 0 }
                // Another part would make the blob longer than its name says, and nobody could read it any more.
                guard request.isPart(ofByteCount: try named.number(0)) else { throw .altered }
            }
            let came = Int64(request.bytes.count)
            let went = try present?.integer(0) ?? 0
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

        private static func measuring(_ hash: Hash256, in tresor: TresorID) -> SQL {
            SQL(
                """
                SELECT CAST(COALESCE(sum(length(bytes)), 0) AS bigint) FROM blobs WHERE tresor = $1 AND hash = $2
                """, [.digest(tresor.digest), .digest(hash)])
        }

        private static func reading(_ hash: Hash256, in tresor: TresorID) -> SQL {
            SQL(
                "SELECT bytes FROM blobs WHERE tresor = $1 AND hash = $2 ORDER BY part",
                [.digest(tresor.digest), .digest(hash)])
        }

        /// The statements that delete a blob. The founder and those who put its parts get the room back.
        private static func deleting(_ blob: [SQLValue]) -> [SQL] {
            [
                SQL(
                    """
                    UPDATE authors SET bytes = bytes - (SELECT CAST(COALESCE(sum(length(b.bytes)), 0) AS bigint)
                    FROM blobs b WHERE b.tresor = $1 AND b.hash = $2 AND b.account = authors.account)
                    WHERE tresor = $1 AND account IN
                    (SELECT b.account FROM blobs b WHERE b.tresor = $1 AND b.hash = $2)
                    """, blob),
                SQL(
                    """
                    UPDATE tresors SET bytes = bytes - (SELECT CAST(COALESCE(sum(length(bytes)), 0) AS bigint)
                    FROM blobs WHERE tresor = $1 AND hash = $2) WHERE tresor = $1
                    """, blob),
                SQL("DELETE FROM blobs WHERE tresor = $1 AND hash = $2", blob),
                SQL("DELETE FROM blob_names WHERE tresor = $1 AND hash = $2", blob),
                SQL("DELETE FROM blob_orphans WHERE tresor = $1 AND hash = $2", blob),
            ]
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
                for (part, bytes) in StoredBlob.parts(of: blob.bytes ?? []).enumerated() {
                    statements.append(
                        storing(Array(bytes), as: UInt32(part), of: blob.hash, by: author, in: tresor))
                }
            }
            for blob in named {
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
    }

    extension Seat {
        /// Whether the person may put blobs.
        fileprivate var mayPut: Bool { role == .owner || role == .writer }
    }
#endif
