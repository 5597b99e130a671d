// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Sees a tresor's log, all that a store was ever asked to write, and every key that anybody ever had. It reckons by
/// the naive model who may hold which key, and by trying what they do hold: each must be the other.
///
/// The author of a change meant it, though the store may have dropped it. A member after an entry that was only offered
/// may hold its keys.
struct Onlooker {
    /// The log and the naive model.
    private(set) var told: Retelling
    /// The faults found.
    private(set) var complaints: [String] = []
    /// Every epoch that anybody signed.
    private var statements: [Epoch] = []
    private var files: [(file: SealedFile, statement: Epoch)] = []
    /// The commitments of all keys that each person should ever hold.
    private var meant: [UserID: Set<Hash256>] = [:]
    private var secrets: [[UInt8]: FoundSecret] = [:]
    private var unwrapped: [UserID: Set<[UInt8]>] = [:]
    private var seenWraps: Set<StoredWrap> = []
    private var seenChanges: Set<LogChange> = []
    /// The commitments of the epochs whose wraps a store lost.
    private var lost: Set<Hash256> = []

    init(genesis: [UInt8], people: [UserID]) throws {
        told = try Retelling(genesis: genesis, people: people)
        try note(told, genesis)
    }

    var state: LogState { told.state }
    var disputes: [String] { told.disputes + complaints }

    /// Whether a file was seen that is sealed under the newest epoch.
    var hasFileOfEpoch: Bool { files.contains { $0.statement == state.statement(of: state.epoch) } }

    /// Takes a file sealed by a member.
    mutating func take(_ file: SealedFile) throws {
        files.append((file, try #require(state.statement(of: file.header.epoch))))
    }

    /// Looks at everything once more.
    ///
    /// - Parameters:
    ///   - changes: what the store was ever asked to write at once, or only what was not yet seen.
    ///   - wraps: every wrap, or only those not yet seen.
    ///   - halves: the changes of which a store kept the entry and lost the wraps, or only those not yet seen.
    ///   - identities: everybody, with all their keys.
    mutating func look(
        at log: [[UInt8]], changes: [LogChange], wraps: [StoredWrap], halves: [LogChange] = [],
        as identities: [Identity]
    ) throws {
        for change in halves {
            if let statement = try Entry(change.entry).body.nextEpoch { lost.insert(statement.historyCommitment) }
        }
        let length = told.entries.count
        if !log.starts(with: told.entries) { complaints.append("the log is another") }
        for entry in log.dropFirst(told.entries.count) {
            if let error = try told.tell(Entry(entry)) { complaints.append("\(error) in the log") }
            try note(told, entry)
        }
        if log.count > length { try told.review() }
        for change in changes where seenChanges.insert(change).inserted { try look(at: change, as: identities) }
        for stored in wraps where !seenWraps.contains(stored) { try take(stored, as: identities) }
        try reckon()
    }

    /// Continues the log from an entry of it, in another way; what is refused is left out.
    ///
    /// - Returns: what was added.
    mutating func branch(
        after count: Int, of length: Int, _ next: (NaiveLog, LogState, Int) throws -> Entry?
    ) throws -> [[UInt8]] {
        var branch = told.cut(to: count)
        for step in 0..<length {
            guard let entry = try next(branch.model, branch.state, step) else { continue }
            try branch.tell(entry)
        }
        try branch.review()
        complaints += branch.disputes
        return Array(branch.entries.dropFirst(count))
    }

    /// An entry that was offered, with what went with it.
    private mutating func look(at change: LogChange, as identities: [Identity]) throws {
        let entry = try Entry(change.entry)
        guard entry.sequence > 0 else { return }
        guard let index = told.states.firstIndex(where: { $0.head.hash == entry.previous }) else {
            complaints.append("an entry after one that is not in the log")
            return
        }
        var branch = told.cut(to: index + 2)
        if branch.entries.last != change.entry {
            branch = told.cut(to: index + 1)
            if let error = try branch.tell(entry) { complaints.append("somebody offers what is \(error)") }
            try branch.review()
            complaints += branch.disputes
            try note(branch, change.entry)
        }
        for stored in change.putting {
            for user in try take(stored, as: identities) where branch.state.members[user] == nil {
                complaints.append("a wrap goes to who is not in after entry \(entry.sequence)")
            }
        }
    }

    /// The epoch that begins with the entry; and all who are in may have what the model gives them.
    private mutating func note(_ told: Retelling, _ entry: [UInt8]) throws {
        let (state, model) = (told.state, told.model)
        if let statement = try Entry(entry).body.nextEpoch { statements.append(statement) }
        for (number, person) in model.people {
            for epoch in (person.from ?? 1)...model.epoch {
                let statement = try #require(state.statement(of: UInt64(epoch)))
                meant[told.people[number], default: []].insert(statement.contentCommitment)
                if person.from == nil { meant[told.people[number]]?.insert(statement.historyCommitment) }
            }
        }
    }

    /// - Returns: who opens it.
    @discardableResult private mutating func take(_ stored: StoredWrap, as identities: [Identity]) throws -> [UserID] {
        let wrap = try UnverifiedWrap(stored.bytes)
        guard let owner = identities.first(where: { $0.user == wrap.user }) else { throw TresorError.notFound }
        let card = try #require(owner.chain.card(generation: wrap.generation))
        seenWraps.insert(stored)
        var openers: [UserID] = []
        for identity in identities {
            let found = try wrap.secrets(for: identity, card: card)
            guard !found.isEmpty else { continue }
            openers.append(identity.user)
            unwrapped[identity.user, default: []].formUnion(found)
        }
        return openers
    }

    /// Each person holds exactly the intended keys: no more, or a key went too far; no less, or this search misses
    /// some.
    ///
    /// Where a store lost the wraps of an epoch, another owner goes on without it. People who come then get it only
    /// once its author begins an epoch (SPEC §9.9).
    private mutating func reckon() throws {
        try tryAll()
        for secret in secrets.values where secret.fulfilled.count > 1 { complaints.append("one key, two uses") }
        let commitments = statements.flatMap { [$0.contentCommitment, $0.historyCommitment] }
        if Set(commitments).count != commitments.count { complaints.append("two epochs, one key") }
        for (number, user) in told.people.enumerated() {
            let held = holding(of: user)
            let allowed = meant[user] ?? []
            for statement in statements {
                for (name, commitment) in [("TK", statement.contentCommitment), ("HK", statement.historyCommitment)]
                where held.contains(commitment) != allowed.contains(commitment) {
                    let isLost = lost.contains(statement.historyCommitment) && statement.number < state.epoch
                    if isLost, !held.contains(commitment) { continue }
                    let verb = held.contains(commitment) ? "holds" : "lacks"
                    complaints.append("\(number) \(verb) \(name) of epoch \(statement.number)")
                }
            }
        }
    }

    /// Tries every secret on everything, and those that come out of back-links too.
    private mutating func tryAll() throws {
        var waiting = Array(unwrapped.values.reduce(into: Set(secrets.keys)) { $0.formUnion($1) })
        var done: Set<[UInt8]> = []
        while let bytes = waiting.popLast() {
            guard done.insert(bytes).inserted else { continue }
            var secret = secrets[bytes] ?? FoundSecret(bytes)
            try secret.try(on: statements, files, of: told.tresor)
            secrets[bytes] = secret
            waiting += secret.linked
        }
    }

    /// The commitments of all keys to which one person's wraps lead.
    private func holding(of user: UserID) -> Set<Hash256> {
        var waiting = Array(unwrapped[user] ?? [])
        var done: Set<[UInt8]> = []
        var held: Set<Hash256> = []
        while let bytes = waiting.popLast() {
            guard done.insert(bytes).inserted, let secret = secrets[bytes] else { continue }
            held.formUnion(secret.fulfilled)
            waiting += secret.linked
        }
        return held
    }
}
