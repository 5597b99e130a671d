// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// A broken rule.
struct Violation: Error {
    let rule: Rule
}

/// A validator of one entry against the state before it, with the rules that several bodies share (SPEC §9.3).
struct EntryValidator {
    let entry: Entry
    let hash: Hash256
    private let signature: Fold.SignatureCheck?

    /// R3 to R6: the entry's place in the chain.
    init(
        entry: Entry, tresor: TresorID, head: Head?, hash: Hash256? = nil, signature: Fold.SignatureCheck? = nil
    ) throws(Violation) {
        self.entry = entry
        self.signature = signature
        guard let hash = try? hash ?? entry.hash() else { throw Violation(rule: .r2) }
        self.hash = hash
        try require(.r3, entry.tresor == tresor)
        try require(.r4, entry.sequence == (head.map { $0.sequence &+ 1 } ?? 0))
        try require(.r5, entry.previous == (head?.hash ?? .zero))
        try require(.r6, (entry.bodyType == GenesisBody.type) == (head == nil))
    }

    /// For an entry of a verified log, whose place is known.
    init(accepted entry: Entry, hash: Hash256) {
        self.entry = entry
        self.hash = hash
        signature = nil
    }

    /// The sequence number of the entry before.
    var before: UInt64 { entry.sequence &- 1 }

    func require(_ rule: Rule, _ condition: @autoclosure () -> Bool) throws(Violation) {
        if !condition() { try refuse(rule) }
    }

    /// The entry breaks the rule.
    func refuse(_ rule: Rule) throws(Violation) {
        throw Violation(rule: rule)
    }

    /// Returns the body after the state before has confirmed its author and its content.
    ///
    /// - Returns: `nil` only in tests that disable a rule.
    func acceptedBody(in state: LogState?) throws(Violation) -> EntryBody? {
        guard let state else { return try firstBody() }
        let author = try author(in: state)
        guard let body = try body() else { return nil }
        if let author { try require(.r15, body.isPermitted(to: author, of: entry, in: state)) }
        // Any other rule that an additive body breaks makes it void, see `voidRule`.
        if !body.isAdditive { try body.check(self, in: state) }
        return body
    }

    /// The rule that makes an accepted additive body void; `nil` for a body with an effect.
    ///
    /// - Parameter state: that before the entry, or a later one whose floor is that before the entry.
    func voidRule(of body: EntryBody, in state: LogState) -> Rule? {
        guard body.isAdditive else { return nil }
        do throws(Violation) {
            try body.check(self, in: state)
            return nil
        } catch {
            return error.rule
        }
    }

    /// R1, R2, R7 to R9, R12, R34: the body of the first entry.
    private func firstBody() throws(Violation) -> EntryBody? {
        guard let body = try body() else { return nil }
        guard case .genesis(let genesis) = body else { throw Violation(rule: .r6) }
        try genesis.checkFirst(self)
        return body
    }

    /// R1, R2.
    ///
    /// - Returns: `nil` only in tests that disable the rule.
    private func body() throws(Violation) -> EntryBody? {
        do throws(TresorError) {
            return try entry.body
        } catch {
            try refuse(error == .unsupported ? .r1 : .r2)
            return nil
        }
    }

    /// R11 to R14, R16.
    ///
    /// - Returns: `nil` only in tests that disable the rule.
    private func author(in state: LogState) throws(Violation) -> Author? {
        guard let chain = state.chains[entry.author], let card = chain.card(generation: entry.generation) else {
            try refuse(.r11)
            return state.author(entry.author)
        }
        try require(.r12, isSigned(by: card))
        guard let author = state.author(entry.author), mayWrite(author) else {
            try refuse(.r13)
            return nil
        }
        try require(.r14, entry.generation == chain.newest.generation)
        let isInTime = author.notAfter.map { entry.time <= $0 } ?? true
        try require(.r16, entry.bodyType == LeaveBody.type || isInTime)
        return author
    }

    /// R13: whether such an author writes entries of this type at all.
    private func mayWrite(_ author: Author) -> Bool {
        switch entry.bodyType {
        case ApproveBody.type, RefuseBody.type: author == .approver
        case RenewBody.type: true
        case LeaveBody.type: author != .approver
        default: if case .member = author { true } else { false }
        }
    }

    /// Whether a card verifies the signature of the entry.
    func isSigned(by card: Card) -> Bool {
        if let signature, signature.key == card.signingKey { return signature.holds }
        return entry.isSigned(by: card.signingKey)
    }

    /// R17.
    func requireRising(_ users: [UserID]) throws(Violation) {
        try require(.r17, !users.isEmpty && zip(users, users.dropFirst()).allSatisfy { $0 < $1 })
    }

    /// R34.
    ///
    /// - Parameter mayApprove: whether a person is no member and does not wait, and the chain contains what the log knows.
    func requireApprovers(_ chains: [CardChain], _ mayApprove: (CardChain) -> Bool) throws(Violation) {
        try require(.r34, chains.count <= Approver.maximumCount)
        try require(.r34, zip(chains, chains.dropFirst()).allSatisfy { $0.user < $1.user })
        try require(.r34, chains.allSatisfy(mayApprove))
    }

    /// R23.
    func requireNext(_ epoch: Epoch, in state: LogState) throws(Violation) {
        try require(.r23, epoch.number == state.epoch + 1 && !epoch.backLink.isEmpty)
    }

    /// R49: a log does not grow with people for ever. Each state of it holds all of them.
    func requireRoom(for users: [UserID], in state: LogState) throws(Violation) {
        try require(.r49, state.hasRoom(for: users))
    }

    /// R48: an epoch whose keys the log already had changes nothing.
    func requireFresh(_ epoch: Epoch, in state: LogState) throws(Violation) {
        let isFresh = state.commitments.isDisjoint(with: [epoch.contentCommitment, epoch.historyCommitment])
        try require(.r48, isFresh)
    }
}
