// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    @testable import TresorService

    /// The hand of somebody who has the database of a service. Nobody judges what it writes.
    ///
    /// An entry that keeps the rules changes with it what the service knows of its log; another one is there, and no more.
    final class OperatorsHand: Store {
        private let engine: any SQLEngine
        /// The state of a log after the last entry that was written by hand.
        private let states = Mutex<[TresorID: LogState]>([:])

        init(engine: any SQLEngine) { self.engine = engine }

        /// The values of the first columns of the rows.
        private func column(_ statement: SQL) async throws(TresorError) -> [[UInt8]] {
            var values: [[UInt8]] = []
            for row in try await engine.read(statement) { values.append(try row.bytes(0)) }
            return values
        }

        private func change(_ statements: [SQL]) async throws(TresorError) { _ = try await engine.write(statements) }
    }

    extension OperatorsHand {
        func putCard(
            _ bytes: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
        ) async throws(TresorError) -> StoreOutcome {
            let chain = try CardChain(bytes)
            let present = try await card(of: user)
            if present == bytes { return .done }
            guard present == replacing else { return .conflict }
            let statement: SQL
            if let present {
                statement = Account.replacement(by: chain, after: try CardChain(present).newest.generation)
            } else {
                statement = Account.insertion(of: chain, .active, invitation: nil, at: 0)
            }
            return try await engine.write([statement]) == [1] ? .done : .conflict
        }

        func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
            try await column(SQL("SELECT chain FROM accounts WHERE account = $1", [.digest(user.digest)])).first
        }

        func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
            try await column(SQL("SELECT chain FROM accounts WHERE handle = $1", [.bytes(handle)]))
        }

        func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
            let accounts = try await column(SQL("SELECT account FROM accounts ORDER BY account"))
            return accounts.filter { $0.starts(with: prefix) }.prefix(max(0, limit)).compactMap(Hash256.init)
                .map(UserID.init)
        }
    }

    extension OperatorsHand {
        func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
            guard limit > 0 else { return [] }
            let (end, overflow) = first.addingReportingOverflow(UInt64(limit))
            return try await column(
                SQL(
                    "SELECT entry FROM entries WHERE tresor = $1 AND sequence >= $2 AND sequence < $3 ORDER BY sequence",
                    [.digest(tresor.digest), .number(first), .number(overflow ? .max : end)]))
        }

        func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
            let end = try await end(of: change.tresor)
            guard end.count == change.sequence, try change.follows(end.last) else { return .conflict }
            let hash = try BLAKE2b.hash(.entryHash, change.entry)
            let judgment = try await judgment(of: change)
            var statements: [SQL] = []
            for user in Set(change.removingWrapsOf) {
                statements.append(
                    SQL(
                        "DELETE FROM wraps WHERE tresor = $1 AND account = $2",
                        [.digest(change.tresor.digest), .digest(user.digest)]))
            }
            if let judgment {
                statements += Appending.statements(
                    change.entry, [], by: judgment.state.founder, removing: [], judgment)
            } else {
                statements.append(
                    SQL(
                        "INSERT INTO entries (tresor, sequence, entry) VALUES ($1, $2, $3)",
                        [.digest(change.tresor.digest), .number(change.sequence), .bytes(change.entry)]))
            }
            statements += change.putting.flatMap { storing($0, in: change.tresor) }
            let founder = judgment?.state.founder ?? UserID(.zero)
            statements.append(
                SQL(
                    """
                    INSERT INTO tresors (tresor, count, head, founder, bytes, deleted, changed)
                    VALUES ($1, $2, $3, $4, $5, NULL, 0)
                    ON CONFLICT (tresor) DO UPDATE SET count = $2, head = $3, bytes = tresors.bytes + $5
                    """,
                    [
                        .digest(change.tresor.digest), .number(change.sequence + 1), .digest(hash),
                        .digest(founder.digest), .number(Self.size(change.putting) + UInt64(change.entry.count)),
                    ]))
            statements += Blobs.statements(
                change.blobs, of: founder, naming: change.blobs.map { Blob(hash: $0.hash, size: $0.size) },
                at: change.sequence, in: change.tresor, orElse: .forked)
            do throws(TresorError) {
                try await self.change(statements)
            } catch {
                guard error == .forked else { throw error }
                return .conflict
            }
            states.withLock { $0[change.tresor] = judgment?.state }
            return .done
        }

        private func end(of tresor: TresorID) async throws(TresorError) -> (count: UInt64, last: [UInt8]?) {
            let rows = try await engine.read(
                SQL("SELECT count FROM tresors WHERE tresor = $1", [.digest(tresor.digest)]))
            guard let row = rows.first else { return (0, nil) }
            let count = try row.number(0)
            return (count, try await entries(of: tresor, from: count - 1, limit: 1).first)
        }

        /// The outcome of an entry in the fold; `nil` for one that breaks a rule.
        private func judgment(of change: LogChange) async throws(TresorError) -> Judgment? {
            var fold: Fold
            if let kept = states.withLock({ $0[change.tresor] }), kept.entryCount == change.sequence {
                fold = Fold(state: kept)
            } else {
                fold = Fold(tresor: change.tresor)
                guard (try? fold.apply(await entries(of: change.tresor, from: 0, limit: .max))) != nil else {
                    return nil
                }
            }
            guard (try? fold.apply(change.entry)) != nil, let state = fold.state,
                let entry = try? Entry(change.entry), let people = try? LogRecord(entry).users + [entry.author]
            else { return nil }
            return Judgment(
                state: state, cost: 0, people: Set(people + state.dismissed(at: entry.sequence)).sorted(), leaving: [],
                named: [], wraps: [])
        }

        private func storing(_ wrap: StoredWrap, in tresor: TresorID) -> [SQL] {
            let place = [SQLValue.digest(tresor.digest), .digest(wrap.user.digest), .number(wrap.epoch)]
            return [
                SQL("DELETE FROM wraps WHERE tresor = $1 AND account = $2 AND epoch = $3", place),
                SQL(
                    """
                    INSERT INTO wraps (tresor, account, epoch, putter, since, wrap) VALUES ($1, $2, $3, $2, 0, $4)
                    """,
                    place + [.bytes(wrap.bytes)]),
            ]
        }

        func restore(
            _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
        ) async throws(TresorError) -> StoreOutcome {
            try await entries(of: tresor, from: sequence, limit: 1).first == entry ? .done : .conflict
        }

        func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
            guard let epoch else {
                return try await column(
                    SQL(
                        "SELECT wrap FROM wraps WHERE tresor = $1 AND account = $2 ORDER BY epoch, since, putter",
                        [.digest(tresor.digest), .digest(user.digest)]))
            }
            return try await column(
                SQL(
                    """
                    SELECT wrap FROM wraps WHERE tresor = $1 AND account = $2 AND epoch = $3 ORDER BY since, putter
                    """,
                    [.digest(tresor.digest), .digest(user.digest), .number(epoch)]))
        }

        func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
            let count = SQL(
                "UPDATE tresors SET bytes = bytes + $2 WHERE tresor = $1",
                [.digest(tresor.digest), .number(Self.size(wraps))])
            try await change(wraps.flatMap { storing($0, in: tresor) } + [count])
        }

        private static func size(_ wraps: [StoredWrap]) -> UInt64 { UInt64(wraps.reduce(0) { $0 + $1.bytes.count }) }

        func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
            try await column(
                SQL("SELECT DISTINCT tresor FROM wraps WHERE account = $1 ORDER BY tresor", [.digest(user.digest)])
            ).compactMap(Hash256.init).map(TresorID.init)
        }
    }

    extension OperatorsHand {
        func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
            let gone = [SQLValue.digest(tresor.digest)]
            try await change([
                SQL("UPDATE tresors SET deleted = 0, bytes = 0 WHERE tresor = $1", gone),
                SQL("DELETE FROM entries WHERE tresor = $1", gone), SQL("DELETE FROM wraps WHERE tresor = $1", gone),
                SQL("DELETE FROM access WHERE tresor = $1", gone), SQL("DELETE FROM blobs WHERE tresor = $1", gone),
            ])
        }

        func putBlob(
            _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
        ) async throws(TresorError) {
            try await change([
                SQL(
                    """
                    INSERT INTO blobs (tresor, hash, part, bytes, account) VALUES ($1, $2, $3, $4, $1)
                    ON CONFLICT (tresor, hash, part) DO UPDATE SET bytes = $4
                    """,
                    [.digest(tresor.digest), .digest(hash), .integer(Int64(part)), .bytes(bytes)])
            ])
        }

        func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
            try await column(
                SQL(
                    "SELECT bytes FROM blobs WHERE tresor = $1 AND hash = $2 AND part = $3",
                    [.digest(tresor.digest), .digest(hash), .integer(Int64(part))])
            ).first
        }

        func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
            var found: [[UInt8]?] = []
            for hash in hashes {
                let parts = try await column(
                    SQL(
                        "SELECT bytes FROM blobs WHERE tresor = $1 AND hash = $2 ORDER BY part",
                        [.digest(tresor.digest), .digest(hash)]))
                found.append(parts.isEmpty ? nil : parts.flatMap(\.self))
            }
            return found
        }

        func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
            try await change(
                hashes.map {
                    SQL("DELETE FROM blobs WHERE tresor = $1 AND hash = $2", [.digest(tresor.digest), .digest($0)])
                })
        }

        func putServerShare(
            _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
        ) async throws(TresorError) {
            try await change([
                SQL(
                    """
                    INSERT INTO server_shares (account, device, share, device_key) VALUES ($1, $2, $3, $4)
                    ON CONFLICT (account, device) DO UPDATE SET share = $3, device_key = $4
                    """,
                    [.digest(user.digest), .bytes(device.bytes), .bytes(share), .digest(deviceKey)])
            ])
        }

        func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
            try await column(
                SQL(
                    "SELECT share FROM server_shares WHERE account = $1 AND device = $2",
                    [.digest(user.digest), .bytes(device.bytes)])
            ).first
        }

        func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
            guard devices?.isEmpty != true else { return }
            try await change(ServerShares.deletion(of: devices ?? [], of: user))
        }

        func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
            let owner = (try? IdentityFile(copy))?.chain.user.digest ?? locator
            try await change([
                SQL(
                    """
                    INSERT INTO kit_copies (locator, account, copy) VALUES ($1, $2, $3)
                    ON CONFLICT (locator) DO UPDATE SET copy = $3
                    """,
                    [.digest(locator), .digest(owner), .bytes(copy)])
            ])
        }

        func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
            try await column(SQL("SELECT copy FROM kit_copies WHERE locator = $1", [.digest(locator)])).first
        }

        func deleteKitCopy(locator: Hash256) async throws(TresorError) {
            try await change([SQL("DELETE FROM kit_copies WHERE locator = $1", [.digest(locator)])])
        }
    }
#endif
