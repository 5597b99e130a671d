// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The snapshots of folded logs, from which a fold goes on.
    ///
    /// A snapshot lies in parts, and its first part is written last: where that one is, all are. It is a help alone: one
    /// that does not read is as if there were none.
    struct StateSnapshots: Sendable {
        let engine: any SQLEngine
        var partByteCount = 4 << 20

        /// The weight that is folded between two snapshots: as much as a state is large, so that neither folding nor
        /// writing takes most of the time; at least what is folded in a fortieth of a second, and at most that of 16 MiB.
        static func interval(ofCost cost: Int) -> Int { min(max(256, cost / 4_096), 16_384) }

        /// Returns the state of the newest snapshot.
        ///
        /// - Throws: the errors of the engine.
        func state(of tresor: TresorID, in turn: WorkApart.Turn) async throws(TresorError) -> LogState? {
            guard let bytes = try await bytes(of: tresor) else { return nil }
            return try await turn.compute(WorkApart.weight(ofBytes: bytes.count)) {
                () throws(TresorError) -> LogState? in
                var decoder = ByteDecoder(bytes)
                // The state of another release is folded again.
                guard let state = try? LogState(from: &decoder), decoder.remaining == 0, state.tresor == tresor else {
                    return nil
                }
                return state
            }
        }

        /// Reads the newest snapshot, one part at a time, as it was at one time: a newer one may take its place while it is
        /// read.
        ///
        /// - Returns: `nil` for none.
        private func bytes(of tresor: TresorID) async throws(TresorError) -> [UInt8]? {
            let key = SQLValue.digest(tresor.digest)
            return try await engine.read { (transaction) throws(TresorError) -> [UInt8]? in
                let ends = try transaction.run(
                    SQL(
                        """
                        SELECT count, max(part) FROM states WHERE tresor = $1 AND count =
                        (SELECT max(count) FROM states WHERE tresor = $1 AND part = 0) GROUP BY count
                        """, [key]))
                guard let end = ends.first else { return nil }
                var bytes: [UInt8] = []
                for part in try 0...end.number(1) {
                    let found = try transaction.run(
                        SQL(
                            "SELECT state FROM states WHERE tresor = $1 AND count = $2 AND part = $3",
                            [key, try end.value(0), .number(part)]))
                    for row in found { bytes += try row.bytes(0) }
                }
                return bytes
            }
        }

        /// Returns the bytes of a snapshot.
        static func bytes(of state: LogState) -> [UInt8] {
            var encoder = ByteEncoder()
            state.encode(into: &encoder)
            return encoder.bytes
        }

        /// Writes a snapshot in place of the older ones.
        ///
        /// - Throws: ``TresorError/noAccess`` for a tresor that was deleted; the errors of the engine.
        func write(_ bytes: [UInt8], of tresor: TresorID, count: UInt64) async throws(TresorError) {
            let key = [SQLValue.digest(tresor.digest), .number(count)]
            let starts = stride(from: 0, to: bytes.count, by: partByteCount)
            for (number, start) in starts.enumerated().reversed() {
                let part = Array(bytes[start..<min(start + partByteCount, bytes.count)])
                var statements = [
                    // The row of the tresor is held: a tresor that was deleted leaves nothing.
                    SQL("UPDATE tresors SET count = count WHERE tresor = $1 AND deleted IS NULL", [key[0]])
                        .orElse(.noAccess),
                    SQL(
                        """
                        INSERT INTO states (tresor, count, part, state) VALUES ($1, $2, $3, $4)
                        ON CONFLICT (tresor, count, part) DO UPDATE SET state = $4
                        """, key + [.integer(Int64(number)), .bytes(part)]),
                ]
                if number == 0 {
                    statements.append(SQL("DELETE FROM states WHERE tresor = $1 AND count < $2", key))
                }
                _ = try await engine.write(statements)
            }
        }
    }
#endif
