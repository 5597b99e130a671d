// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The canonical form of a state (SPEC §9.10). It has no derived values, so its parts cannot disagree.
extension LogState {
    package func encode(into encoder: inout ByteEncoder) {
        encoder.preamble(.state)
        encoder.integer(AdditiveBody.greatestKnownType)
        encoder.raw(root.bytes)
        encoder.integer(headTime)
        encoder.integer(ownerTime)
        encoder.integer(founderGeneration)
        encoder.integer(floor)
        encoder.integer(checkpoint)
        encoder.list(approvers, counted: UInt16.self) { $0.digest($1.digest) }
        encoder.integer(approversSince)
        encoder.list(hashes) { $0.digest($1) }
        encoder.list(epochs) { encoder, record in
            record.epoch.encode(into: &encoder)
            encoder.integer(record.sequence)
        }
        encoder.raw(name.sealed.bytes)
        encoder.integer(name.sequence)
        encoder.list(rekeyMarks) { $0.integer($1.sequence) }
        encoder.list(everybody) { encode($1, into: &$0) }
    }

    private func encode(_ user: UserID, into encoder: inout ByteEncoder) {
        encoder.vector32(chains[user]?.bytes ?? [])
        encoder.list(generations[user] ?? []) { $1.encode(into: &$0) }
        encoder.list(changes[user] ?? []) { $1.encode(into: &$0) }
        encoder.integer(UInt8(lastTimes[user] == nil ? 0 : 1))
        if let time = lastTimes[user] { encoder.integer(time) }
        switch members[user]?.history ?? waiting[user]?.history {
        case .from(let epoch): encoder.integer(epoch)
        case .all, nil: encoder.integer(UInt64(0))
        }
    }

    /// - Parameter additive: the highest additive body known to the reader. The snapshot of a writer that knew fewer
    ///   may be incomplete.
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``. Reading does not prove that any log has this
    ///   state.
    package init(
        from decoder: inout ByteDecoder, knowing additive: UInt16 = AdditiveBody.greatestKnownType
    ) throws(TresorError) {
        try decoder.preamble(.state)
        guard try decoder.integer(UInt16.self) >= additive else { throw .unsupported }
        let root = try Root(from: &decoder)
        let headTime = try decoder.time()
        let ownerTime = try decoder.time()
        let founderGeneration = try decoder.integer(UInt32.self)
        let (floor, checkpoint) = (try decoder.integer(UInt64.self), try decoder.integer(UInt64.self))
        let approvers = try decoder.list(of: 0, counted: UInt16.self, byteCount: Hash256.byteCount) {
            (decoder) throws(TresorError) in UserID(try decoder.digest())
        }
        let approversSince = try decoder.integer(UInt64.self)
        let hashes = try decoder.list(of: 1, byteCount: Hash256.byteCount) { (decoder) throws(TresorError) in
            try decoder.digest()
        }
        let isCheckpoint = floor > 0 && floor < checkpoint && checkpoint < UInt64(hashes.count)
        guard isCheckpoint || (floor, checkpoint) == (0, 0) else { throw .altered }
        guard approversSince < UInt64(hashes.count) else { throw .altered }
        var order = Order(limit: UInt64(hashes.count))
        let epochs = try decoder.list(of: 1, byteCount: 84) { (decoder) throws(TresorError) in
            EpochRecord(epoch: try Epoch(from: &decoder), sequence: try order.next(from: &decoder))
        }
        try Self.check(epochs)
        let sealed = try SealedName(from: &decoder)
        order = Order(limit: UInt64(hashes.count))
        let named = try order.next(from: &decoder)
        order = Order(limit: UInt64(hashes.count))
        let marks = try decoder.list(of: 0, byteCount: 8) { (decoder) throws(TresorError) in
            try order.next(from: &decoder)
        }
        let people = try decoder.list(of: 1, byteCount: PersonRecord.leastByteCount) { (decoder) throws(TresorError) in
            try PersonRecord(from: &decoder, entryCount: UInt64(hashes.count), epoch: UInt64(epochs.count))
        }
        guard let last = hashes.last else { throw .altered }
        self.init(
            tresor: try root.tresorID(), root: root,
            head: Head(sequence: UInt64(hashes.count - 1), hash: last), headTime: headTime, members: [:],
            isRekeyPending: !marks.count.isMultiple(of: 2), epochs: epochs, chains: [:],
            name: NameRecord(
                sealed: sealed, epoch: UInt64(epochs.partitioningIndex { $0.sequence > named }), sequence: named),
            commitments: Set(epochs.flatMap { [$0.epoch.contentCommitment, $0.epoch.historyCommitment] }),
            hashes: EntryHashes(hashes), changes: [:], generations: [:], lastTimes: [:], ownerTime: ownerTime,
            founderGeneration: founderGeneration, floor: floor, checkpoint: checkpoint,
            rekeyMarks: marks.enumerated().map {
                RekeyMark(sequence: $0.element, isSet: $0.offset.isMultiple(of: 2))
            })
        (self.approvers, self.approversSince) = (approvers, approversSince)
        try take(people)
    }

    private static func check(_ epochs: [EpochRecord]) throws(TresorError) {
        guard epochs.first?.sequence == 0 else { throw .altered }
        for (index, record) in epochs.enumerated() {
            guard record.epoch.number == UInt64(index + 1), record.epoch.backLink.isEmpty == (index == 0) else {
                throw .altered
            }
        }
    }

    /// Reads the chains last, on all cores.
    private mutating func take(_ people: [PersonRecord]) throws(TresorError) {
        let read = try Cores.map(people.count, grain: 16) { (range) throws(TresorError) in
            var chains: [CardChain] = []
            for person in people[range] { chains.append(try CardChain(person.chain)) }
            return chains
        }
        var previous: UserID?
        for (person, chain) in zip(people, read) {
            if let previous, chain.user <= previous { throw .altered }
            previous = chain.user
            guard person.generations.last?.generation == chain.newest.generation else { throw .altered }
            chains[chain.user] = chain
            generations[chain.user] = person.generations
            changes[chain.user] = person.changes
            lastTimes[chain.user] = person.lastTime
            members[chain.user] = person.member
            waiting[chain.user] = person.waiting
            guard !person.changes.isEmpty || chain.user != founder else { throw .altered }
        }
        guard let newest = chains[founder]?.newest.generation, founderGeneration <= newest,
            members.count + waiting.count <= Self.maximumMemberCount, chains.count <= Self.maximumKnownCount,
            approvers.count <= Approver.maximumCount,
            zip(approvers, approvers.dropFirst()).allSatisfy({ $0 < $1 }),
            approvers.allSatisfy({ chains[$0] != nil && !isIn($0) })
        else { throw .altered }
    }
}

/// The part of a state about one person.
private struct PersonRecord: Sendable {
    /// The size of a record with a chain of one byte, one generation, no change, no time, and the history.
    static let leastByteCount = 4 + 1 + 4 + 20 + 4 + 1 + 8

    package let chain: [UInt8]
    package let generations: [LogState.GenerationRecord]
    package let changes: [LogState.ChangeRecord]
    package let lastTime: UInt64?
    package let member: Member?
    /// The person as they wait.
    package let waiting: Member?

    package init(from decoder: inout ByteDecoder, entryCount: UInt64, epoch: UInt64) throws(TresorError) {
        chain = try decoder.vector32(1...CardChain.maximumByteCount)
        var order = Order(limit: entryCount)
        var generation: UInt32 = 0
        generations = try decoder.list(of: 1, byteCount: 20) { (decoder) throws(TresorError) in
            let record = try LogState.GenerationRecord(from: &decoder, in: &order)
            guard record.generation >= generation else { throw .altered }
            generation = record.generation
            return record
        }
        order = Order(limit: entryCount)
        var last: LogState.ChangeRecord?
        changes = try decoder.list(of: 0, byteCount: 58) { (decoder) throws(TresorError) in
            let record = try LogState.ChangeRecord(from: &decoder, in: &order)
            guard record.mayFollow(last) else { throw .altered }
            last = record
            return record
        }
        switch try decoder.integer(UInt8.self) {
        case 0: lastTime = nil
        case 1: lastTime = try decoder.time()
        default: throw .altered
        }
        let from = try decoder.integer(UInt64.self)
        let isIn = last?.change.isGrant ?? false
        guard from == 0 || (isIn && from >= 2 && from <= epoch) else { throw .altered }
        let person = Self.person(changes, history: from == 0 ? .all : .from(epoch: from))
        let waits = last?.change.isAsking ?? false
        (member, waiting) = waits ? (nil, person) : (person, nil)
    }

    /// A member, or a person who waits; `nil` for who is neither.
    private static func person(_ changes: [LogState.ChangeRecord], history: History) -> Member? {
        guard let last = changes.last, let role = last.change.role,
            let index = changes.lastIndex(where: { $0.change.isAdmission || $0.change.isAsking })
        else { return nil }
        let admission = changes[index]
        let asked = index > 0 && changes[index - 1].change.isAsking ? changes[index - 1] : nil
        return Member(
            role: role, history: history, notAfter: last.notAfter, since: admission.sequence,
            sinceTime: admission.time, admittedBy: asked?.author ?? admission.author,
            approvedBy: asked == nil ? nil : admission.author)
    }
}

extension LogState.GenerationRecord {
    fileprivate func encode(into encoder: inout ByteEncoder) {
        encoder.integer(sequence)
        encoder.integer(time)
        encoder.integer(generation)
    }

    fileprivate init(from decoder: inout ByteDecoder, in order: inout Order) throws(TresorError) {
        sequence = try order.next(from: &decoder)
        time = try decoder.time()
        generation = try decoder.integer()
    }
}

extension LogState.ChangeRecord {
    fileprivate func encode(into encoder: inout ByteEncoder) {
        encoder.integer(sequence)
        encoder.integer(time)
        encoder.digest(author.digest)
        let kind: UInt8 =
            switch change {
            case .admitted: 1
            case .roleChanged: 2
            case .removed: 3
            case .left: 4
            case .asked: 5
            case .refused: 6
            }
        encoder.integer(kind)
        encoder.integer(change.role?.rawValue ?? 0)
        encoder.integer(notAfter ?? 0)
    }

    fileprivate init(from decoder: inout ByteDecoder, in order: inout Order) throws(TresorError) {
        sequence = try order.next(from: &decoder)
        time = try decoder.time()
        author = UserID(try decoder.digest())
        let kind = try decoder.integer(UInt8.self)
        let role = try decoder.integer(UInt8.self)
        let end = try decoder.time()
        switch (kind, Role(rawValue: role)) {
        case (1, let role?): change = .admitted(role)
        case (2, let role?): change = .roleChanged(role)
        case (3, nil) where role == 0 && end == 0: change = .removed
        case (4, nil) where role == 0 && end == 0: change = .left
        case (5, let role?): change = .asked(role)
        case (6, nil) where role == 0 && end == 0: change = .refused
        default: throw .altered
        }
        notAfter = end == 0 ? nil : end
    }

    /// Whether a log can make this change of a person after the last one. Who is admitted after waiting has the role and
    /// the end that were asked for.
    fileprivate func mayFollow(_ last: LogState.ChangeRecord?) -> Bool {
        let isIn = last?.change.isGrant ?? false
        let waits = last?.change.isAsking ?? false
        return switch change {
        case .asked: !isIn
        case .admitted(let role): waits ? last?.change.role == role && last?.notAfter == notAfter : !isIn
        case .roleChanged: isIn && !waits
        case .removed, .left: isIn
        case .refused: waits
        }
    }
}

extension MembershipChange {
    /// The role from then on; `nil` for a removed member.
    fileprivate var role: Role? {
        switch self {
        case .asked(let role), .admitted(let role), .roleChanged(let role): role
        case .removed, .left, .refused: nil
        }
    }
}

/// A check that sequence numbers rise strictly and lie in the log.
private struct Order {
    private var least: UInt64 = 0
    private let limit: UInt64

    package init(limit: UInt64) { self.limit = limit }

    package mutating func next(from decoder: inout ByteDecoder) throws(TresorError) -> UInt64 {
        let sequence = try decoder.integer(UInt64.self)
        guard sequence >= least, sequence < limit else { throw .altered }
        least = sequence + 1
        return sequence
    }
}
