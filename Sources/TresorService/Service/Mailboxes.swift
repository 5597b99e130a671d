// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto

    /// The mailboxes of people who add a machine (SPEC §8.6). They lie among the kit copies: a person opens one, answers in
    /// it and deletes it in their own name. Somebody in nobody's name can put one thing into it, an offer of exact length.
    struct Mailboxes: Sendable {
        let context: ServiceContext

        private static let magic = SQLValue.bytes(Magic.deviceMailbox.bytes)

        /// Puts an offer into an open mailbox. The first one stands; the same one again changes nothing.
        ///
        /// A stranger begins no change where no mailbox is: that is read first.
        func put(_ request: PutOfferRequest) async throws(TresorError) -> PutOfferAnswer {
            let now = context.now
            let seen = try await context.engine.read(
                SQL("SELECT copy FROM kit_copies WHERE locator = $1", [.digest(request.locator)]))
            guard let copy = try seen.first?.bytes(0), let present = try? DeviceMailbox(copy), !present.isOver(at: now)
            else { return PutOfferAnswer(nil) }
            guard let changed = present.taking(request.offer) else { return PutOfferAnswer(.conflict) }
            guard changed != present else { return PutOfferAnswer(.done) }
            return try await context.engine.write { (transaction) throws(TresorError) in
                let found = try transaction.rows(of: [
                    SQL("SELECT copy FROM kit_copies WHERE locator = $1", [.digest(request.locator)])
                ])
                guard let bytes = try found[0].first?.bytes(0), let mailbox = try? DeviceMailbox(bytes),
                    !mailbox.isOver(at: now)
                else { return PutOfferAnswer(nil) }
                guard let taken = mailbox.taking(request.offer) else { return PutOfferAnswer(.conflict) }
                guard taken != mailbox else { return PutOfferAnswer(.done) }
                // Another offer may come at the same time.
                let changed = try transaction.run([
                    SQL(
                        "UPDATE kit_copies SET copy = $2 WHERE locator = $1 AND copy = $3",
                        [.digest(request.locator), .bytes(taken.bytes), .bytes(bytes)])
                ])
                return PutOfferAnswer(changed == [1] ? .done : .conflict)
            }
        }

        /// Whether bytes are a mailbox whose time is over: nobody is given it any more.
        func isOver(_ copy: [UInt8]) -> Bool {
            guard DeviceMailbox.begins(copy), let mailbox = try? DeviceMailbox(copy) else { return false }
            return mailbox.isOver(at: context.now)
        }

        /// Judges what a person puts: a mailbox reads, and is open no longer than a code is good by a clock that differs.
        ///
        /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
        func check(_ copy: [UInt8]) throws(TresorError) {
            guard DeviceMailbox.begins(copy) else { return }
            guard try DeviceMailbox(copy).until <= context.now + DeviceCode.duration + DeviceOffer.clockWindow else {
                throw .altered
            }
        }

        /// Deletes the other mailboxes of a person who puts one: each has one at a time.
        func dropOthers(
            for request: PutKitCopyRequest, of caller: Caller, in transaction: any SQLTransaction
        ) throws(TresorError) {
            guard DeviceMailbox.begins(request.copy) else { return }
            _ = try transaction.run([
                SQL(
                    "DELETE FROM kit_copies WHERE account = $1 AND locator <> $2 AND substr(copy, 1, 8) = $3",
                    [.digest(caller.user.digest), .digest(request.locator), Self.magic])
            ])
        }

        /// Deletes the mailboxes whose time is over.
        func sweep() async throws(TresorError) {
            let now = context.now
            let last = bigEndianBytes(now - min(now, DeviceOffer.clockWindow))
            // Behind magic, version and suite stands the time, whose bytes are in the order of numbers.
            let parameters = [Self.magic, SQLValue.bytes(last)]
            // Erasing takes time, also where there is nothing to erase.
            let found = try await context.engine.read(
                SQL(
                    "SELECT locator FROM kit_copies WHERE substr(copy, 1, 8) = $1 AND substr(copy, 11, 8) < $2 LIMIT 1",
                    parameters))
            guard !found.isEmpty else { return }
            try await context.engine.write(erasing: true) { (transaction) throws(TresorError) in
                _ = try transaction.run([
                    SQL(
                        "DELETE FROM kit_copies WHERE substr(copy, 1, 8) = $1 AND substr(copy, 11, 8) < $2",
                        parameters)
                ])
            }
        }
    }
#endif
