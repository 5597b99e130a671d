// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The kit copies. Anyone who has the kit knows the locator. Each belongs to an active account.
    struct KitCopies: Sendable {
        let context: ServiceContext

        func copy(_ request: KitCopyRequest) async throws(TresorError) -> KitCopyAnswer {
            let found = try await context.engine.read(
                SQL("SELECT copy FROM kit_copies WHERE locator = $1", [.digest(request.locator)]))
            let copy = try found.first?.bytes(0) ?? []
            return KitCopyAnswer(copy: Mailboxes(context: context).isOver(copy) ? [] : copy)
        }

        /// Stores a copy of the caller.
        ///
        /// - Throws: ``TresorError/noAccess`` for a locator under which somebody else has a copy.
        func put(_ request: PutKitCopyRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            let greatest = context.settings.quotas.kitCopies
            let mailboxes = Mailboxes(context: context)
            try mailboxes.check(request.copy)
            return try await context.change(for: caller, erasing: true) { (transaction) throws(TresorError) in
                let (locator, user) = (SQLValue.digest(request.locator), SQLValue.digest(caller.user.digest))
                let found = try transaction.rows(of: [
                    Account.holding(caller.user), Account.open(caller.user),
                ])
                // It may have been closed after the request was authenticated.
                guard !found[1].isEmpty else { throw .noAccess }
                // Mailboxes that give way are dropped before the rest is counted.
                try mailboxes.dropOthers(for: request, of: caller, in: transaction)
                let counts = try transaction.rows(of: [
                    SQL("SELECT count(*) FROM kit_copies WHERE account = $1 AND locator <> $2", [user, locator])
                ])
                guard let count = counts[0].first, try count.number(0) < greatest else { throw .failed(.full) }
                let changed = try transaction.run([
                    SQL(
                        """
                        INSERT INTO kit_copies (locator, account, copy) VALUES ($1, $2, $3)
                        ON CONFLICT (locator) DO UPDATE SET copy = $3 WHERE kit_copies.account = $2
                        """,
                        [locator, user, .bytes(request.copy)])
                ])
                guard changed == [1] else { throw .noAccess }
                return DoneAnswer()
            }
        }

        /// Deletes a copy of the caller; nothing for a locator without one.
        func delete(_ request: DeleteKitCopyRequest, by caller: Caller) async throws(TresorError) -> DoneAnswer {
            try await context.change(for: caller, erasing: true) { (transaction) throws(TresorError) in
                _ = try transaction.run([
                    SQL(
                        "DELETE FROM kit_copies WHERE locator = $1 AND account = $2",
                        [.digest(request.locator), .digest(caller.user.digest)])
                ])
                return DoneAnswer()
            }
        }
    }
#endif
