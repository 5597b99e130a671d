// SPDX-License-Identifier: Apache-2.0

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Valid objects of every kind, made at start: the beginning of the corpora.
struct Samples: @unchecked Sendable {
    static let shared: Samples = {
        do { return try Samples() } catch { fatalError("samples: \(error)") }
    }()

    let anna: Identity
    let house: Identity
    let renewed: Identity
    let identityFiles: [[UInt8]]
    let entries: [[UInt8]]
    let wraps: [[UInt8]]
    let state: LogState
    let keys: [UInt64: EpochKeys]
    let file: SealedFile
    let files: [[UInt8]]
    let payload: [UInt8]
    let contents: [[UInt8]]
    let kit: [UInt8]
    let keptWraps: [UInt8]
    let marks: [UInt8]
    let cleanupJournal: [UInt8]
    let export: [UInt8]
    let notedStores: [UInt8]
    let knownServices: [UInt8]

    init() throws {
        let time: UInt64 = 1_777_730_400
        let anna = try Identity.make(handle: Name(typed: "anna"), time: time)
        let house = try Identity.make(handle: Name(typed: "dr-house"), time: time)
        let (renewed, sealedSeed) = try house.renewCard(time: time + 1)
        let ways = try SampleWays(of: renewed, previous: sealedSeed, time: time)
        identityFiles = ways.files
        kit = ways.words
        var log = try SampleLog(founder: anna)
        try log.live(with: house, renewed: renewed)
        entries = log.entries
        state = log.state
        keys = log.keys
        guard let first = log.keys[1], let newest = log.keys[log.state.epoch] else { throw TresorError.failed(.other) }
        wraps = try [
            Wrap(first, of: state.tresor, for: house.chain.newest, user: house.user, history: .all).bytes,
            Wrap(newest, of: state.tresor, for: renewed.chain.newest, user: renewed.user, history: .from(epoch: 2))
                .bytes,
        ]
        let contents: [[UInt8]] = [[], Array("{\"activities\": []}".utf8)]
        let sealed = try contents.map { content in
            try FileSealer.sealFile(
                content, type: Name(text: "application/json"), record: Name(text: "plan.json"), keys: newest,
                state: log.state, author: anna, time: time)
        }
        file = sealed[1]
        files = sealed.map(\.bytes) + sealed.map(\.armoured)
        payload = try FilePayload.encode(
            FileFields(
                Authorship(header: file.header, author: anna.user, generation: 0, time: time),
                type: Name(text: "application/json"), record: Name(text: "plan.json"), origin: nil),
            content: contents[1], signedBy: anna)
        var kept = KeptWraps()
        for (index, wrap) in wraps.enumerated() { kept[state.tresor, UInt64(index + 1)] = wrap }
        keptWraps = kept.bytes
        export = try TresorExport(
            tresor: state.tresor, entries: entries, cards: [anna.chain, renewed.chain],
            wraps: wraps.map { try UnverifiedWrap($0) }
        ).bytes
        var noted = NotedStores()
        for name in [StoreName(Array("/srv/clinic.db".utf8))].compactMap(\.self) {
            _ = noted.note(name, of: state.tresor)
        }
        notedStores = noted.bytes
        var known = KnownServices()
        known[.zero] = .zero
        knownServices = known.bytes
        var marked = Marks()
        marked[state.tresor] = .confirmed
        marks = marked.bytes
        var note = CleanupJournal()
        note.kits = [CleanupJournal.Kit(user: anna.user, locator: .zero)]
        note.devices = [CleanupJournal.Device(user: anna.user, id: try .random())]
        note.generations = [1]
        cleanupJournal = note.bytes
        self.contents = contents
        self.anna = anna
        self.house = house
        self.renewed = renewed
    }
}

/// Identity files with every key slot. The keys are made one by one, because the optimizer of Swift 6.3 does not accept
/// noncopyable temporaries here.
struct SampleWays {
    let files: [[UInt8]]
    let words: [UInt8]

    init(of identity: Identity, previous: [UInt8], time: UInt64) throws {
        let kit = try RecoveryKit()
        let words = try kit.words()
        self.words = words.span.publicBytes
        let kitSlot = try Self.kitSlot(kit, identity, time)
        let slots = [try Self.passwordSlot(identity, time), kitSlot, try Self.deviceSlot(identity, time)]
        files = [
            try IdentityFile(of: identity, previous: [previous], slots: slots).bytes,
            try IdentityFile(of: identity, previous: [previous], slots: [kitSlot]).bytes,
        ]
    }

    private static func kitSlot(_ kit: borrowing RecoveryKit, _ identity: Identity, _ time: UInt64) throws -> Slot {
        let key = try kit.slotKey()
        let locator = try kit.locator()
        return try identity.seal(under: key, id: .random(), kind: .kit(locator: locator), since: time)
    }

    private static func passwordSlot(_ identity: Identity, _ time: UInt64) throws -> Slot {
        let key = try SecretKey<SlotUse>()
        let salt = try randomBytes(16)
        return try identity.seal(under: key, id: .random(), kind: .password(cost: .floor, salt: salt), since: time)
    }

    private static func deviceSlot(_ identity: Identity, _ time: UInt64) throws -> Slot {
        let device = try DeviceShare(user: identity.user)
        let share = try SecretBytes(randomCount: 32)
        let key = try device.slotKey(serverShare: share)
        let name = try Name(typed: "ward 3")
        return try identity.seal(under: key, id: device.id, kind: .device(name: name, until: time + 9), since: time)
    }
}

/// A log with every kind of body.
struct SampleLog {
    private let founder: Identity
    private(set) var entries: [[UInt8]] = []
    private(set) var state: LogState
    private(set) var keys: [UInt64: EpochKeys] = [:]

    init(founder: Identity) throws {
        self.founder = founder
        let root = try Root.make(founder: founder.chain)
        let tresor = try root.tresorID()
        let first = try EpochKeys(epoch: 1)
        let name = try SealedName(Name(typed: "plans"), under: first.content, tresor: tresor, epoch: 1, sequence: 0)
        let genesis = try Entry(
            tresor: tresor, sequence: 0, previous: .zero, author: founder, time: 1,
            body: .genesis(
                GenesisBody(
                    root: root, founder: founder.chain, approvers: [], sealedName: name,
                    epoch: first.statement(of: tresor, linking: []))))
        entries = [genesis.bytes]
        keys = [1: first]
        state = try Fold.state(of: entries, tresor: tresor)
    }

    mutating func live(with house: Identity, renewed: Identity) throws {
        try add(
            .grant(GrantBody(people: [house.chain], role: .writer, notAfter: nil, fromNow: nil)), by: founder)
        try add(.renew(RenewBody(renewed.chain.newest)), by: house)
        try add(.epoch(EpochBody(next())), by: founder)
        try add(.role(RoleBody(user: house.user, role: .reader, notAfter: 9_999_999)), by: founder)
        try add(.rename(RenameBody(name("other"))), by: founder)
        try add(.remove(RemoveBody(users: [house.user], epoch: next())), by: founder)
        let epoch = try next()
        let number = epoch.number
        let fromNow = GrantBody.FromNow(epoch: epoch, sealedName: try name("third", epoch: number))
        try add(
            .grant(GrantBody(people: [renewed.chain], role: .reader, notAfter: nil, fromNow: fromNow)),
            by: founder)
        try add(.leave, by: renewed)
        let blob = try Blob(of: [1, 2, 3])
        try add(.commit(CommitBody(epoch: state.epoch, blobs: [blob])), by: founder)
        try add(.checkpoint(CheckpointBody(upto: 1, epoch: state.epoch, volumes: [blob])), by: founder)
        try add(.additive(AdditiveBody(type: 200, [1, 2, 3])), by: founder)
        try add(.epoch(EpochBody(next())), by: founder)
        try wait(for: renewed)
    }

    /// Somebody waits, is refused, waits again and is approved.
    private mutating func wait(for person: Identity) throws {
        let approver = try Identity.make(handle: Name(typed: "clinic"), time: 1)
        try add(.approvers(ApproversBody([Approver(approver.chain)])), by: founder)
        for isApproved in [false, true] {
            try add(
                .grant(GrantBody(people: [person.chain], role: .reader, notAfter: nil, fromNow: nil)),
                by: founder)
            let grant = state.head.hash
            guard isApproved, let keys = keys[state.epoch] else {
                try add(.refuse(RefuseBody(grant: grant)), by: approver)
                continue
            }
            let released = try keys.approvalKey(of: state.tresor).key(of: person.user)
            let release = try Release(
                SecretBytes(copying: released.span), grant: grant, epoch: state.epoch, of: state.tresor,
                for: person.chain.newest, user: person.user)
            try add(.approve(ApproveBody(grant: grant, epoch: state.epoch, releases: [release])), by: approver)
        }
    }

    private mutating func next() throws -> Epoch {
        let next = try EpochKeys(epoch: state.epoch + 1)
        guard let present = keys[state.epoch] else { throw TresorError.failed(.other) }
        keys[next.epoch] = next
        return try next.statement(of: state.tresor, linking: [present])
    }

    private func name(_ text: String, epoch: UInt64? = nil) throws -> SealedName {
        let epoch = epoch ?? state.epoch
        guard let keys = keys[epoch] else { throw TresorError.failed(.other) }
        return try SealedName(
            Name(typed: text), under: keys.content, tresor: state.tresor, epoch: epoch,
            sequence: state.head.sequence + 1)
    }

    private mutating func add(_ body: EntryBody, by author: Identity) throws {
        let entry = try Entry(
            tresor: state.tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: author, time: 2,
            body: body)
        entries.append(entry.bytes)
        state = try Fold.state(of: entries, tresor: state.tresor)
    }
}
