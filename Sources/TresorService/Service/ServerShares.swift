// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The server shares of trusted devices, each with the public key of its device.
    struct ServerShares: Sendable {
        let context: ServiceContext

        /// The statement that reads the public key of a device.
        static func key(_ user: UserID, _ device: DeviceID) -> SQL {
            SQL(
                "SELECT device_key FROM server_shares WHERE account = $1 AND device = $2",
                [.digest(user.digest), .bytes(device.bytes)])
        }

        func put(_ request: PutServerShareRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let greatest = context.settings.quotas.devices
            return try await context.change(for: caller, erasing: true) { (transaction) throws(TresorError) in
                let found = try transaction.rows(of: [
                    Account.holding(caller.user),
                    SQL(
                        "SELECT count(*) FROM server_shares WHERE account = $1 AND device <> $2",
                        [.digest(caller.user.digest), .bytes(request.device.bytes)]),
                    Account.open(caller.user),
                ])
                // It may have been closed after the request was authenticated.
                guard !found[2].isEmpty else { throw .noAccess }
                guard let count = found[1].first, try count.number(0) < greatest else { throw .failed(.full) }
                _ = try transaction.run([
                    SQL(
                        """
                        INSERT INTO server_shares (account, device, share, device_key) VALUES ($1, $2, $3, $4)
                        ON CONFLICT (account, device) DO UPDATE SET share = $3, device_key = $4
                        """,
                        [
                            .digest(caller.user.digest), .bytes(request.device.bytes), .bytes(request.share),
                            .digest(request.deviceKey),
                        ])
                ])
                return DoneAnswer()
            }
        }

        /// Hands out a server share. The request is spent: it is answered once, and no answer with a share is kept. A full
        /// disk keeps nobody from it: its id stays in memory then.
        ///
        /// - Throws: ``TresorError/noAccess`` for another device than the one that speaks, and for a request that is spent.
        func share(_ request: ServerShareRequest, by caller: Caller) async throws(TresorError) -> ServerShareAnswer {
            if let device = caller.device { guard device == request.device else { throw .noAccess } }
            guard !context.spent.contains(caller.request) else { throw .noAccess }
            let search = Self.search(caller.user, request.device)
            let now = context.now
            let answer: ServerShareAnswer
            do throws(TresorError) {
                answer = try await context.engine.write { (transaction) throws(TresorError) in
                    let spending = caller.request.keeping(nil, at: now).orElse(.busy)
                    let found = try transaction.run([search, spending], finishing: true)[0].rows
                    return ServerShareAnswer(share: try found.first?.bytes(0) ?? [])
                }
            } catch {
                guard error == .store(.full) else { throw error }
                return try await shareWithoutRoom(search, for: caller.request)
            }
            // A copy of the request may have been answered from memory before this one was on the disk.
            guard !context.spent.contains(caller.request) else { throw .noAccess }
            return answer
        }

        /// Hands out a server share while the disk is full.
        private func shareWithoutRoom(
            _ search: SQL, for request: RequestKey
        ) async throws(TresorError) -> ServerShareAnswer {
            try context.spent.spend(request, at: context.now)
            do throws(TresorError) {
                // A copy of the request that is on the disk after this look finds this one in memory.
                let found = try await context.engine.read([search, request.search])
                guard found[1].isEmpty else { throw .noAccess }
                return ServerShareAnswer(share: try found[0].first?.bytes(0) ?? [])
            } catch {
                // Nobody has got the share for it. A fault of the database is not to look like a spent request.
                context.spent.release(request)
                throw error
            }
        }

        /// The statement that reads a server share.
        private static func search(_ user: UserID, _ device: DeviceID) -> SQL {
            SQL(
                "SELECT share FROM server_shares WHERE account = $1 AND device = $2",
                [.digest(user.digest), .bytes(device.bytes)])
        }

        /// Deletes server shares of the caller. A device may delete its own alone.
        ///
        /// - Throws: ``TresorError/noAccess``.
        func delete(_ request: DeleteServerSharesRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            if let device = caller.device { guard request.devices == [device] else { throw .noAccess } }
            return try await context.revoke(for: caller, erasing: true) { (transaction, revoked) throws(TresorError) in
                let found = try transaction.rows(of: [
                    Account.holding(caller.user),
                    SQL(
                        "SELECT device, device_key FROM server_shares WHERE account = $1",
                        [.digest(caller.user.digest)]),
                ])
                for row in found[1] {
                    let device = try row.bytes(0)
                    guard request.devices.isEmpty || request.devices.contains(where: { $0.bytes == device }) else {
                        continue
                    }
                    revoked.append(.device(caller.user, key: try row.digest(1)))
                }
                _ = try transaction.run(Self.deletion(of: request.devices, of: caller.user))
                return DoneAnswer()
            }
        }

        /// The statements that delete the shares of these devices; of all for none.
        static func deletion(of devices: [DeviceID], of user: UserID) -> [SQL] {
            guard !devices.isEmpty else {
                return [SQL("DELETE FROM server_shares WHERE account = $1", [.digest(user.digest)])]
            }
            return devices.map { device in
                SQL(
                    "DELETE FROM server_shares WHERE account = $1 AND device = $2",
                    [.digest(user.digest), .bytes(device.bytes)])
            }
        }
    }
#endif
