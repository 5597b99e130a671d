// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
@testable import Tresor
@testable import TresorCore

/// A log under construction that signs any body with any keys. Its epochs commit to nothing.
struct Chronicle {
    let founder: Identity
    let tresor: TresorID
    let root: Root
    private(set) var entries: [[UInt8]] = []
    private(set) var state: LogState
    var time: UInt64 = 1_777_730_400

    init(founder: Identity) throws {
        self.founder = founder
        root = try Root.make(founder: founder.chain)
        tresor = try root.tresorID()
        let body = EntryBody.genesis(
            GenesisBody(
                root: root, founder: founder.chain, approvers: [], sealedName: try Self.anyName(),
                epoch: try Self.epoch(1)))
        let entry = try Entry(
            tresor: tresor, sequence: 0, previous: .zero, author: founder, time: time, body: body)
        entries = [entry.bytes]
        state = try Fold.state(of: entries, tresor: tresor)
    }

    static func epoch(_ number: UInt64, links: Int? = nil) throws -> Epoch {
        let links = links ?? (number == 1 ? 0 : 1)
        let size = links == 0 ? 0 : TC1.sealedByteCount(links * Link.byteCount)
        return Epoch(
            number: number, contentCommitment: try anyDigest(), historyCommitment: try anyDigest(),
            backLink: [UInt8](repeating: 7, count: size))
    }

    static func anyName() throws -> SealedName {
        var decoder = ByteDecoder(try randomBytes(SealedName.byteCount))
        return try SealedName(from: &decoder)
    }

    static func grant(
        _ people: [CardChain], _ role: Role, notAfter: UInt64? = nil, fromNow epoch: UInt64? = nil
    ) throws -> EntryBody {
        let fromNow = try epoch.map { number throws in
            GrantBody.FromNow(epoch: try Self.epoch(number), sealedName: try anyName())
        }
        return .grant(GrantBody(people: people, role: role, notAfter: notAfter, fromNow: fromNow))
    }

    func nextEpoch() throws -> Epoch { try Self.epoch(state.epoch + 1) }

    /// An entry that would be the next.
    func entry(
        _ body: EntryBody, by author: Identity, generation: UInt32? = nil, sequence: UInt64? = nil,
        previous: Hash256? = nil, in other: TresorID? = nil, time: UInt64? = nil
    ) throws -> Entry {
        try Entry(
            tresor: other ?? tresor, sequence: sequence ?? state.head.sequence + 1,
            previous: previous ?? state.head.hash, author: author, generation: generation, time: time ?? self.time,
            body: body)
    }

    /// Appends what must be valid.
    mutating func add(_ body: EntryBody, by author: Identity, generation: UInt32? = nil) throws {
        try append(try entry(body, by: author, generation: generation))
    }

    /// Appends an entry that must be valid.
    mutating func append(_ entry: Entry) throws {
        var fold = Fold(state: state)
        try fold.apply(entry.bytes)
        guard let after = fold.state else { throw TresorError.altered }
        entries.append(entry.bytes)
        state = after
    }

    mutating func admit(_ people: Identity..., as role: Role, notAfter: UInt64? = nil, fromNow: Bool = false) throws {
        for person in people {
            try add(
                try Self.grant(
                    [person.chain], role, notAfter: notAfter, fromNow: fromNow ? state.epoch + 1 : nil),
                by: founder)
        }
    }

    /// Releases the entries and the state, so that another owner holds them alone.
    mutating func forget() throws {
        (entries, state) = ([], try Fold.state(of: [entries[0]], tresor: tresor))
    }

    /// The result of validating the next entry.
    func verdict(_ bytes: [UInt8]) -> Verdict {
        var fold = Fold(state: state)
        do throws(TresorError) {
            try fold.apply(bytes)
            return Verdict(error: nil, rule: nil, isUnchanged: false)
        } catch {
            return Verdict(error: error, rule: fold.brokenRule, isUnchanged: fold.state?.head == state.head)
        }
    }

    func verdict(_ body: EntryBody, by author: Identity, generation: UInt32? = nil, time: UInt64? = nil) throws
        -> Verdict
    {
        verdict(try entry(body, by: author, generation: generation, time: time).bytes)
    }

    /// A verdict on a first entry.
    static func firstVerdict(_ bytes: [UInt8], tresor: TresorID) -> Verdict {
        var fold = Fold(tresor: tresor)
        do throws(TresorError) {
            try fold.apply(bytes)
            return Verdict(error: nil, rule: nil, isUnchanged: false)
        } catch {
            return Verdict(error: error, rule: fold.brokenRule, isUnchanged: fold.state == nil)
        }
    }
}

/// The result of validating an entry.
struct Verdict: Equatable {
    let error: TresorError?
    let rule: Rule?
    /// Whether the state is what it was.
    let isUnchanged: Bool

    static let valid = Verdict(error: nil, rule: nil, isUnchanged: false)

    static func broken(_ rule: Rule) -> Verdict { Verdict(error: rule.error, rule: rule, isUnchanged: true) }
}

extension Identity {
    /// Signs any bytes as if they were an entry.
    func entry(_ signed: [UInt8]) throws -> [UInt8] { signed + (try sign(.entrySignature, signed)) }
}

/// People by rising user id, as a log wants them.
func rising(_ people: Identity...) -> [Identity] { people.sorted { $0.user < $1.user } }

/// The error of a body, or `nil`.
func error(_ body: () throws -> Void) -> TresorError? {
    do {
        try body()
        return nil
    } catch let error as TresorError {
        return error
    } catch {
        return .failed(.other)
    }
}
