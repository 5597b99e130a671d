// SPDX-License-Identifier: Apache-2.0

/// The validation of logs (SPEC §9.4). It takes entries in order, checks each against the state before it by the rules
/// of SPEC §9.3, and computes the state. It has no clock and does no I/O. It accepts unknown bodies only if they cannot
/// change the state.
public struct Fold: Sendable {
    /// The tresor of the log.
    public let tresor: TresorID
    /// The state after the last entry; `nil` before the genesis.
    public private(set) var state: LogState?
    /// The rule that the refused entry broke.
    package internal(set) var brokenRule: Rule?

    /// Begins with an empty log.
    public init(tresor: TresorID) { self.tresor = tresor }

    /// Continues from a folded state.
    public init(state: LogState) {
        tresor = state.tresor
        self.state = state
    }

    private static let pageCount = 1024

    /// Folds a whole log.
    ///
    /// - Throws: the error of the first broken rule; ``TresorError/altered`` for no entries.
    public static func state(of entries: [[UInt8]], tresor: TresorID) throws(TresorError) -> LogState {
        var fold = Fold(tresor: tresor)
        for start in stride(from: 0, to: entries.count, by: pageCount) {
            try fold.apply(Array(entries[start..<min(start + pageCount, entries.count)]))
        }
        guard let state = fold.state else { throw .altered }
        return state
    }

    /// Takes one entry. An error leaves the state unchanged.
    ///
    /// - Throws: the error of the broken rule.
    public mutating func apply(_ bytes: [UInt8]) throws(TresorError) {
        let entry: Entry
        do throws(TresorError) {
            entry = try Entry(bytes)
        } catch {
            let rule: Rule = error == .unsupported ? .r1 : .r2
            brokenRule = rule
            throw rule.error
        }
        try apply(entry)
    }

    /// Takes one entry with known hash or signature check.
    mutating func apply(_ entry: Entry, hash: Hash256? = nil, signature: SignatureCheck? = nil) throws(TresorError) {
        do throws(Violation) {
            let validator = try EntryValidator(
                entry: entry, tresor: tresor, head: state?.head, hash: hash, signature: signature)
            // A second reference to the state would make the change copy it.
            if let body = try validator.acceptedBody(in: state) {
                if state == nil {
                    state = try validator.genesis(body)
                } else {
                    validator.apply(body, to: &state)
                }
            }
        } catch {
            brokenRule = error.rule
            throw error.rule.error
        }
    }
}

/// A broken rule.
struct Violation: Error {
    package let rule: Rule
}

/// A validator of one entry against the state before it.
struct EntryValidator {
    package let entry: Entry
    package let hash: Hash256
    private let signature: Fold.SignatureCheck?

    /// R3 to R6: the entry's place in the chain.
    package init(
        entry: Entry, tresor: TresorID, head: Head?, hash: Hash256? = nil, signature: Fold.SignatureCheck? = nil
    ) throws(Violation) {
        self.entry = entry
        self.signature = signature
        guard let hash = try? hash ?? entry.hash() else { throw Violation(rule: .r2) }
        self.hash = hash
        try require(.r3, entry.tresor == tresor)
        try require(.r4, entry.sequence == (head.map { $0.sequence &+ 1 } ?? 0))
        try require(.r5, entry.previous == (head?.hash ?? .zero))
        try require(.r6, (entry.bodyType == EntryBody.genesisType) == (head == nil))
    }

    func require(_ rule: Rule, _ condition: @autoclosure () -> Bool) throws(Violation) {
        if !condition() { try refuse(rule) }
    }

    /// The entry breaks the rule.
    package func refuse(_ rule: Rule) throws(Violation) {
        throw Violation(rule: rule)
    }

    /// Returns the body after the state before has confirmed its author and its content; for a genesis the body alone.
    ///
    /// - Returns: `nil` only in tests that disable a rule.
    func acceptedBody(in state: LogState?) throws(Violation) -> EntryBody? {
        guard let state else { return try body() }
        let author = try author(in: state)
        guard let body = try body() else { return nil }
        try check(body, by: author, in: state)
        return body
    }

    /// R1, R2.
    ///
    /// - Returns: `nil` only in tests that disable the rule.
    package func body() throws(Violation) -> EntryBody? {
        do throws(TresorError) {
            return try entry.body
        } catch {
            try refuse(error == .unsupported ? .r1 : .r2)
            return nil
        }
    }

    /// R7 to R10, R12.
    package func genesis(_ body: EntryBody) throws(Violation) -> LogState {
        guard case .genesis(let root, let founder, let approvers, let sealedName, let epoch) = body else {
            throw Violation(rule: .r6)
        }
        try require(.r7, (try? root.tresorID()) == entry.tresor)
        try require(
            .r8,
            root.founder == entry.author && founder.user == entry.author && root.cardHash == founder.newest.hash
                && entry.generation == founder.newest.generation)
        try require(.r9, epoch.number == 1 && epoch.backLink.isEmpty)
        try require(.r10, approvers.isEmpty)
        try require(.r12, isSigned(by: founder.newest))
        let member = Member(
            role: .owner, history: .all, notAfter: nil, since: 0, sinceTime: entry.time, admittedBy: entry.author)
        return LogState(
            tresor: entry.tresor, root: root, head: Head(sequence: 0, hash: hash), headTime: entry.time,
            members: [entry.author: member], epochs: [LogState.EpochRecord(epoch: epoch, sequence: 0)],
            chains: [entry.author: founder], name: LogState.NameRecord(sealed: sealedName, epoch: 1, sequence: 0),
            commitments: [epoch.contentCommitment, epoch.historyCommitment], hashes: [hash],
            changes: [entry.author: [record(.admitted(.owner))]],
            generations: [
                entry.author: [
                    LogState.GenerationRecord(sequence: 0, time: entry.time, generation: founder.newest.generation)
                ]
            ], lastTimes: [entry.author: entry.time], ownerTime: entry.time, founderGeneration: entry.generation)
    }

    /// R11 to R14, R16.
    ///
    /// - Returns: `nil` only in tests that disable the rule.
    package func author(in state: LogState) throws(Violation) -> Member? {
        guard let chain = state.chains[entry.author], let card = chain.card(generation: entry.generation) else {
            try refuse(.r11)
            return state.members[entry.author]
        }
        try require(.r12, isSigned(by: card))
        guard let author = state.members[entry.author] else {
            try refuse(.r13)
            return nil
        }
        try require(.r14, entry.generation == chain.newest.generation)
        let isInTime = author.notAfter.map { entry.time <= $0 } ?? true
        try require(.r16, entry.bodyType == EntryBody.leaveType || isInTime)
        return author
    }

    /// R15, R17 to R48.
    package func check(_ body: EntryBody, by author: Member?, in state: LogState) throws(Violation) {
        if let author { try require(.r15, permits(author, body, isRekeyPending: state.isRekeyPending)) }
        try check(body, in: state)
    }

    private func isSigned(by card: Card) -> Bool {
        if let signature, signature.key == card.signingKey { return signature.holds }
        return entry.isSigned(by: card.signingKey)
    }

    /// The permissions of SPEC §9.2.
    private func permits(_ author: Member, _ body: EntryBody, isRekeyPending: Bool) -> Bool {
        switch body {
        case .leave: return true
        case .renew(let card): return author.role == .owner || card.statedUser == entry.author.digest
        case .additive: return author.role != .reader
        case .epoch where author.role == .writer: return isRekeyPending && author.history == .all
        case .genesis, .grant, .remove, .epoch, .role, .rename: return author.role == .owner
        }
    }

    package func record(_ change: MembershipChange, notAfter: UInt64? = nil) -> LogState.ChangeRecord {
        LogState.ChangeRecord(
            sequence: entry.sequence, time: entry.time, author: entry.author, change: change, notAfter: notAfter)
    }
}
