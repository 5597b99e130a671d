// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The keys of an epoch, wrapped to the card of one member (SPEC §9.6): made here, or judged by a log that calls for it.
/// It carries no signature: the commitments in the log authenticate its content.
package struct Wrap: Hashable, Sendable {
    /// The maximum size in bytes: 1359.
    package static let maximumByteCount = 1359
    /// The maximum number of wraps of a person for one epoch that a service keeps, and of which a reader opens one after
    /// the other: 16.
    package static let maximumCount = 16

    /// The wrap as everybody else has it, who has not judged it.
    package let unverified: UnverifiedWrap

    package var tresor: TresorID { unverified.tresor }
    package var epoch: UInt64 { unverified.epoch }
    package var user: UserID { unverified.user }
    package var bytes: [UInt8] { unverified.bytes }

    /// Takes a wrap that a log calls for.
    fileprivate init(judged wrap: UnverifiedWrap) { unverified = wrap }

    /// Wraps an epoch's keys for a member.
    ///
    /// - Parameter secret: TK, or TK ‖ HK; one buffer serves many members.
    /// - Throws: ``TresorError/noAccess`` if HK is to be wrapped and missing.
    package init(
        _ secret: Span<UInt8>, epoch: UInt64, of tresor: TresorID, for card: Card, user: UserID,
        history: History
    ) throws(TresorError) {
        let count = history == .all ? 64 : 32
        guard count <= secret.count else { throw .noAccess }
        self.init(
            epoch: epoch, of: tresor, for: card, user: user,
            wrapped: try XWing.hpkeWrap(
                secret.extracting(first: count), for: card.kemKey,
                info: UnverifiedWrap.info(tresor: tresor, epoch: epoch, user: user, card: card)))
    }

    /// Wraps an epoch's keys for one member.
    package init(
        _ keys: EpochKeys, of tresor: TresorID, for card: Card, user: UserID, history: History
    ) throws(TresorError) {
        let secret = try keys.secret()
        try self.init(
            secret.span, epoch: keys.epoch, of: tresor, for: card, user: user, history: history)
    }

    /// Wraps the keys of an epoch for a person who waits: sealed under the person's approval key, so that the card alone
    /// does not open them (SPEC §9.11).
    ///
    /// - Throws: ``TresorError/noAccess`` without HK, from which the approval key comes.
    package init(
        waiting keys: EpochKeys, of tresor: TresorID, for card: Card, user: UserID, history: History
    ) throws(TresorError) {
        let secret = try keys.secret()
        let plaintext = try keys.approvalKey(of: tresor).key(of: user).seal(
            secret.span.extracting(first: history == .all ? 64 : 32), epoch: keys.epoch, of: tresor, user: user)
        self.init(
            epoch: keys.epoch, of: tresor, for: card, user: user,
            wrapped: try XWing.hpkeWrap(
                plaintext.span, for: card.kemKey,
                info: UnverifiedWrap.info(tresor: tresor, epoch: keys.epoch, user: user, card: card)))
    }

    /// Wraps the approval key of an epoch for an approver (SPEC §9.11).
    package init(
        approval key: borrowing ApprovalKey, of tresor: TresorID, for card: Card, user: UserID
    ) throws(TresorError) {
        self.init(
            epoch: key.epoch, of: tresor, for: card, user: user,
            wrapped: try XWing.hpkeWrap(
                key.span, for: card.kemKey,
                info: UnverifiedWrap.info(.approvalWrap, tresor: tresor, epoch: key.epoch, user: user, card: card)))
    }

    private init(epoch: UInt64, of tresor: TresorID, for card: Card, user: UserID, wrapped: XWing.Wrapped) {
        unverified = UnverifiedWrap(epoch: epoch, of: tresor, for: card, user: user, wrapped: wrapped)
    }
}

/// The bytes that somebody gives as a wrap. What it names is a claim, until it opens or a log calls for it.
package struct UnverifiedWrap: Hashable, Sendable {
    /// TK, or an approver's key; TK and HK; the two of a waiting person, sealed under their approval key.
    private static let ciphertextCounts = [32 + 16, 64 + 16, 32 + 72 + 16, 64 + 72 + 16]

    package let tresor: TresorID
    package let epoch: UInt64
    package let user: UserID
    package let generation: UInt32
    let wrapped: XWing.Wrapped

    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.magic(.wrap)
        try decoder.suite()
        tresor = TresorID(try decoder.digest())
        epoch = try decoder.integer()
        user = UserID(try decoder.digest())
        generation = try decoder.integer()
        let encapsulated = try decoder.raw(XWing.encapsulatedByteCount)
        let ciphertext = try decoder.vector16(0...152)
        try decoder.end()
        guard Self.ciphertextCounts.contains(ciphertext.count) else { throw .altered }
        wrapped = XWing.Wrapped(encapsulated: encapsulated, ciphertext: ciphertext)
    }

    /// Whether it claims to contain HK too.
    package var opensHistory: Bool {
        [Self.ciphertextCounts[1], Self.ciphertextCounts[3]].contains(wrapped.ciphertext.count)
    }

    /// Whether its keys are sealed under an approval key too.
    package var isWaiting: Bool { wrapped.ciphertext.count >= Self.ciphertextCounts[2] }

    fileprivate init(epoch: UInt64, of tresor: TresorID, for card: Card, user: UserID, wrapped: XWing.Wrapped) {
        self.tresor = tresor
        self.epoch = epoch
        self.user = user
        generation = card.generation
        self.wrapped = wrapped
    }

    /// Checks that the wrap names this person, epoch and card, and that they have its seed. Opens nothing.
    ///
    /// - Throws: ``TresorError/altered``; ``TresorError/noAccess`` without the seed of its generation.
    package func check(
        for identity: Identity, of tresor: TresorID, statement: Epoch, card: Card
    ) throws(TresorError) {
        let isHere =
            tresor == self.tresor && epoch == statement.number && user == identity.user
            && generation == card.generation
        guard isHere else { throw .altered }
        guard generation <= identity.generation else { throw .noAccess }
    }

    /// Returns the entry from which on a log calls for this wrap: its receiver is a member, waits or approves then, its
    /// epoch has begun and is theirs, and the log has the card. `nil` if the log does not call for it at its end.
    ///
    /// Whether the wrap opens, only its receiver can tell.
    package func firstEntry(in state: LogState) -> UInt64? {
        guard tresor == state.tresor, epoch >= 1, epoch <= state.epoch, let place = place(in: state),
            state.chain(of: user)?.card(generation: generation) != nil,
            let known = state.generations[user]?.first(where: { $0.generation >= generation })
        else { return nil }
        return max(place, state.epochs[Int(epoch - 1)].sequence, known.sequence)
    }

    /// Whether it has the size of the wraps that a person gets. A member who waited may still have those of that time.
    package func isOfKind(of user: UserID, in state: LogState) -> Bool {
        if let member = state.members[user] {
            return opensHistory == (member.history == .all) && (!isWaiting || member.approvedBy != nil)
        }
        if let waiting = state.waiting[user] { return isWaiting && opensHistory == (waiting.history == .all) }
        return !isWaiting && !opensHistory
    }

    /// The entry since which its receiver has the place in the log that calls for such a wrap.
    private func place(in state: LogState) -> UInt64? {
        if let person = state.members[user] ?? state.waiting[user] {
            guard opensHistory == (person.history == .all), epoch >= person.history.firstEpoch else { return nil }
            guard state.members[user] != nil else { return isWaiting ? person.since : nil }
            guard isWaiting else { return person.since }
            // A wrap from the time in which the person waited still opens with the approval.
            let mayWait = person.approvedBy != nil && epoch <= state.epoch(at: person.since)
            return mayWait ? state.grant(of: user, at: person.since) : nil
        }
        guard state.approvers.contains(user), !isWaiting, !opensHistory, !state.waiting.isEmpty else { return nil }
        return state.approversSince
    }

    /// Whether a log calls for this wrap and its receiver needs it: a member with full history that of the current epoch, a
    /// member *from now* those of each epoch since, an approver those of people who wait, each for the newest card.
    package func isNeeded(in state: LogState) -> Bool {
        isNeeded(in: state, approving: state.isIn(user) ? nil : state.approvalEpochs())
    }

    /// The same, for many wraps: all who wait are looked through once for all of them.
    ///
    /// - Parameter epochs: those of ``LogState/approvalEpochs(without:)``.
    package func isNeeded(in state: LogState, approving epochs: ClosedRange<UInt64>?) -> Bool {
        guard firstEntry(in: state) != nil, generation == state.chain(of: user)?.newest.generation else { return false }
        let history = (state.members[user] ?? state.waiting[user])?.history
        return (history?.epochsToRelease(at: state.epoch) ?? epochs)?.contains(epoch) ?? false
    }

    /// The wrap, if a log calls for it at its end, and the entry from which on it does.
    package func called(in state: LogState) -> (wrap: Wrap, firstEntry: UInt64)? {
        firstEntry(in: state).map { (wrap: Wrap(judged: self), firstEntry: $0) }
    }

    /// The wrap, if a log calls for it and its receiver needs it.
    package func needed(in state: LogState) -> Wrap? { isNeeded(in: state) ? Wrap(judged: self) : nil }

    /// The same, for many wraps.
    ///
    /// - Parameter epochs: those of ``LogState/approvalEpochs(without:)``.
    package func needed(in state: LogState, approving epochs: ClosedRange<UInt64>?) -> Wrap? {
        isNeeded(in: state, approving: epochs) ? Wrap(judged: self) : nil
    }

    /// Opens a waiting wrap as far as its receiver does alone: the sealed keys.
    ///
    /// - Throws: the errors of ``check(for:of:statement:card:)``; ``TresorError/altered`` for any other fault.
    package func sealedKeys(
        as identity: Identity, of tresor: TresorID, statement: Epoch, card: Card
    ) throws(TresorError) -> SecretBytes {
        try check(for: identity, of: tresor, statement: statement, card: card)
        guard isWaiting else { throw .altered }
        return try identity.unwrap(
            wrapped, generation: generation,
            info: Self.info(tresor: tresor, epoch: epoch, user: user, card: card))
    }

    /// Opens the sealed keys of a waiting wrap. They open with the approval key of its receiver alone.
    ///
    /// - Throws: ``TresorError/altered``.
    package func openWaiting(
        _ sealed: borrowing SecretBytes, of tresor: TresorID, statement: Epoch, history: History,
        key: borrowing SecretKey<WaitingUse>
    ) throws(TresorError) -> EpochKeys {
        let secret = try key.open(sealed.span, epoch: epoch, of: tresor, user: user)
        return try Self.keys(secret, history: history, of: tresor, statement: statement)
    }

    /// Opens the wrap of an approver: the approval key of the epoch. Nothing in the log commits to it.
    ///
    /// - Throws: as ``sealedKeys(as:of:statement:card:)``.
    package func openApproval(
        as identity: Identity, of tresor: TresorID, statement: Epoch, card: Card
    ) throws(TresorError) -> ApprovalKey {
        try check(for: identity, of: tresor, statement: statement, card: card)
        let secret = try identity.unwrap(
            wrapped, generation: generation,
            info: Self.info(.approvalWrap, tresor: tresor, epoch: epoch, user: user, card: card))
        return ApprovalKey(try SecretKey(secret), epoch: epoch, of: tresor)
    }

    private static func keys(
        _ secret: borrowing SecretBytes, history: History, of tresor: TresorID, statement: Epoch
    ) throws(TresorError) -> EpochKeys {
        let keys = try EpochKeys(epoch: statement.number, unwrapped: secret.span)
        guard keys.opensHistory == (history == .all) else { throw .altered }
        try keys.checkKeys(against: statement, of: tresor)
        return keys
    }

    /// Opens the wrap and compares its content with the log.
    ///
    /// - Parameters:
    ///   - statement: the statement of the epoch in the log.
    ///   - card: the card of the member, from the log, of the generation in the wrap.
    ///   - history: the history that the log grants the member.
    /// - Throws: the errors of ``check(for:of:statement:card:)``; ``TresorError/altered`` for any other fault.
    package func openWrap(
        as identity: Identity, of tresor: TresorID, statement: Epoch, card: Card, history: History
    ) throws(TresorError) -> EpochKeys {
        try check(for: identity, of: tresor, statement: statement, card: card)
        let secret = try identity.unwrap(
            wrapped, generation: generation,
            info: Self.info(tresor: tresor, epoch: epoch, user: user, card: card))
        return try Self.keys(secret, history: history, of: tresor, statement: statement)
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.raw(Magic.wrap.bytes)
        encoder.integer(Format.suite)
        encoder.digest(tresor.digest)
        encoder.integer(epoch)
        encoder.digest(user.digest)
        encoder.integer(generation)
        encoder.raw(wrapped.encapsulated)
        encoder.vector16(wrapped.ciphertext)
        return encoder.bytes
    }

    fileprivate static func info(
        _ label: DomainLabel = .epochWrap, tresor: TresorID, epoch: UInt64, user: UserID, card: Card
    ) -> [UInt8] {
        label.message(
            tresor.digest.bytes + bigEndianBytes(epoch) + user.digest.bytes + card.hash.bytes)
    }
}
