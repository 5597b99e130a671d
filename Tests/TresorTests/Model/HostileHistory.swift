// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A tresor of anna's, in which honest people can continue whatever the others sign.
///
/// After each step: no owner was stopped; what an honest member could read they can read, with the store and without
/// it; a key that an honest owner drew reaches every member, and no card that this owner knows to be superseded; and
/// nobody who compared newer keys believes the old ones.
final class HostileHistory {
    /// The events that must happen in a hundred histories.
    static let events = [
        "seal", "share", "share from now", "revoke", "rotate", "rename", "rename first", "renew",
        "tell", "compare", "replace a pin", "a writer's file", "a withheld epoch", "a grant", "a removal", "a bad name",
        "a renewal", "a thief's entry", "a late entry", "a trap", "a trap with the new card", "an old card",
    ]

    let store = StageStores.make()
    let evil: EvilStore
    /// The store without any wraps.
    private let bare: EvilStore
    let world: World
    let tresor: TresorID
    private let seed: UInt64
    private var stepNumber = 0
    var dice: Dice
    /// Anna, who made the tresor; another owner; a writer; a person who is added and removed.
    let honest: [HonestPerson]
    /// An owner, a writer, and a person whom they add.
    let hostile: [HonestPerson]
    /// The keys that the hostile have between them.
    var hostileKeys: [UInt64: EpochKeys] = [:]
    var forgeries: [Forgery] = []
    /// The wraps by the hostile that do not open, or give other keys than the log says.
    var spoiled: Set<[UInt8]> = []
    private(set) var tally: [String: Int] = [:]
    private(set) var truth: LogState
    /// The epochs that an honest owner or writer began.
    private var honestEpochs: Set<UInt64> = []

    init(_ seed: UInt64) async throws {
        self.seed = seed
        dice = Dice(seed: seed)
        evil = EvilStore(store)
        bare = EvilStore(evil)
        bare.showWraps { _, _, _ in [] }
        world = World(store: evil)
        // The roles do not depend on the order of user ids, which no seed decides.
        let names = ["a", "b", "c", "d", "e", "f", "g"]
        var people: [HonestPerson] = []
        let identities = try names.map { try identity($0) }.sorted { $0.user < $1.user }
        for identity in identities.shuffled(using: &dice) {
            people.append(HonestPerson(try await world.settle(identity)))
        }
        for one in people { for other in people { try one.compare(other.identity.chain) } }
        honest = Array(people[..<4])
        hostile = Array(people[4...])
        let anna = people[0].session
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [people[1].session, people[4].session], as: .owner)
        try await anna.share(tresor, with: [people[2].session, people[5].session], as: .writer)
        truth = try Fold.state(of: await log(tresor, in: store), tresor: tresor)
        honestEpochs = [1]
        // A service shows a stranger no log.
        let readers = StoreKind.current.judges ? honest.filter { truth.members[$0.user] != nil } : honest
        for person in readers { _ = try await person.session.client.logs.state(of: tresor) }
    }

    /// The place of the event, and the way to repeat it.
    var place: Comment { "TRESOR_SEED=\(seed), step \(stepNumber)" }

    func place(_ what: String) -> Comment { "TRESOR_SEED=\(seed), step \(stepNumber): \(what)" }

    func note(_ event: String) { tally[event, default: 0] += 1 }

    func fresh(_ person: HonestPerson) -> Session { world.session(of: person.session) }

    func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &dice) }

    /// The log as it is, whatever the store shows.
    @discardableResult func catchUp() async throws -> LogState {
        let entries = try await log(tresor, in: store)
        var fold = Fold(state: truth)
        for entry in entries.dropFirst(truth.hashes.count) { try fold.apply(entry) }
        if let state = fold.state { truth = state }
        return truth
    }

    /// The acts of an honest person, which must succeed.
    private func must(_ event: String, _ body: () async throws -> Void) async throws {
        note(event)
        let error = await failure(body)
        #expect(error == nil, place("\(event): \(String(describing: error))"))
        try await catchUp()
    }

    func step() async throws {
        stepNumber += 1
        world.clock.advance(by: 60)
        let person = honest[draw(honest.count)]
        switch draw(12) {
        case 0..<5: for _ in 0...draw(3) { try await intrigue() }
        case 5: try await renew(person)
        case 6: try compareAll(person)
        case 7: try replacePin(of: person)
        case 8, 9: try await steal()
        default: try await writeAsWriter(honest[2])
        }
        try await act(honest[draw(2)])
        try await judge([honest[draw(honest.count)]])
        if let last = forgeries.last { try await check(last) }
    }

    /// All tell the log of their keys and compare; then every owner does everything.
    func finish() async throws {
        stepNumber += 1
        for person in honest { try compareAll(person) }
        for person in honest { try await tell(person) }
        for owner in honest[..<2] {
            for deed in Deed.allCases { try await act(owner, deed) }
        }
        try await judge(honest)
        for forgery in forgeries { try await check(forgery) }
        let late = HonestPerson(try await world.quick("late"))
        for person in honest { try late.compare(person.identity.chain) }
        let owner = honest[draw(2)]
        try owner.compare(late.identity.chain)
        try await act(owner, .rotate)
        try await must("share") { try await fresh(owner).share(tresor, with: [late.session]) }
        // One more epoch repairs for everybody what an earlier author spoiled or kept.
        let found = await readable(by: late, seeing: evil)
        #expect(await readable(by: owner, seeing: evil) == found, place)
    }

    // MARK: What honest people do

    enum Deed: CaseIterable { case seal, share, revoke, rotate, rename }

    private func act(_ owner: HonestPerson, _ deed: Deed? = nil) async throws {
        try await tell(owner)
        let founder = truth.chain(of: truth.founder)?.newest.generation ?? 0
        guard truth.members[owner.user]?.role == .owner, try owner.trusts(honest[0], upTo: founder) else { return }
        let askedCount = evil.everyChange.count
        let epoch = truth.epoch
        switch deed ?? Deed.allCases[draw(Deed.allCases.count)] {
        case .seal: try await must("seal") { _ = try await fresh(owner).seal("x", in: tresor) }
        case .share: try await share(by: owner)
        case .revoke: try await revoke(by: owner)
        case .rotate: try await must("rotate") { try await fresh(owner).tresors.perform(.rotate, on: tresor) }
        case .rename: try await rename(by: owner)
        }
        honestEpochs.formUnion((epoch + 1)..<(truth.epoch + 1))
        try checkWraps(evil.everyChange.dropFirst(askedCount), by: owner)
    }

    private func rename(by owner: HonestPerson) async throws {
        let name = try Name(typed: "name \(draw(99))")
        try await must("rename") { try await fresh(owner).tresors.perform(.rename(name), on: tresor) }
    }

    private func share(by owner: HonestPerson) async throws {
        let choices: [(HonestPerson, Role)] = [
            (honest[3], draw(2) == 0 ? .reader : .writer), (honest[2], .writer), (hostile[0], .owner),
            (hostile[1], .writer),
        ]
        let out = choices.filter { truth.members[$0.0.user] == nil }
        guard !out.isEmpty else { return try await rename(by: owner) }
        let (person, role) = out[draw(out.count)]
        try owner.compare(person.identity.chain)
        guard person === honest[3], draw(2) == 0 else {
            return try await must("share") { try await fresh(owner).share(tresor, with: [person.session], as: role) }
        }
        // A name that an owner spoiled, or sealed under a key that this one does not have, has to be given anew.
        let isNamed = await failure { _ = try await fresh(owner).tresors.name(in: truth) } == nil
        if !isNamed {
            let refused = await failure {
                try await fresh(owner).share(tresor, with: [person.session], as: role, fromNow: true)
            }
            #expect(refused == .altered, place("share from now: \(String(describing: refused))"))
            note("rename first")
            try await catchUp()
            try await rename(by: owner)
        }
        try await must("share from now") {
            try await fresh(owner).share(tresor, with: [person.session], as: role, fromNow: true)
        }
    }

    private func revoke(by owner: HonestPerson) async throws {
        let people = [honest[2], honest[3]] + hostile
        let members = people.filter { truth.members[$0.user] != nil }
        guard !members.isEmpty else { return try await rename(by: owner) }
        let user = members[draw(members.count)].user
        try await must("revoke") { try await fresh(owner).tresors.perform(.revoke([user]), on: tresor) }
        #expect(truth.members[user] == nil, place)
    }

    /// A writer can do nothing where an owner has to act first. A missing wrap is `no_access`, a spoiled one `altered`
    /// (SPEC §9.6); what is wrong with the cards comes before both (SPEC §10.4).
    private func writeAsWriter(_ writer: HonestPerson) async throws {
        try await tell(writer)
        guard truth.members[writer.user] != nil else { return }
        let epoch = truth.epoch
        let wrap = try await store.wraps(of: writer.user, in: tresor, epoch: epoch).first
        let wanted: TresorError? = if let wrap { spoiled.contains(wrap) ? .altered : nil } else { .noAccess }
        let refused = await failure { _ = try await fresh(writer).seal("x", in: tresor) }
        #expect([wanted, .unverified].contains(refused), place("a writer: \(String(describing: refused))"))
        if refused == nil { note("a writer's file") }
        try await catchUp()
        honestEpochs.formUnion((epoch + 1)..<(truth.epoch + 1))
    }

    /// New keys; the old ones are stolen, and other people compare the new ones at once or later.
    private func renew(_ person: HonestPerson) async throws {
        note("renew")
        let home = try #require(person.session.client.home as? MemoryHome)
        // The operator of a service is in league with the thief.
        let way = StageStores.inLeague(world.store)
        person.stolen.append(world.session(of: person.session, home: home.copy(), seeing: way))
        let file = try person.session.client.identityFileBlocking()
        let (next, sealed) = try person.identity.renewCard(time: world.clock.now)
        person.session = try await world.settle(next, previous: [sealed] + file.previous, home: home)
        if draw(2) == 0 { try await tell(person) }
        for other in honest + hostile where draw(2) == 0 { try other.compare(next.chain) }
    }

    /// Records a person's newest card in the log, if it is missing.
    private func tell(_ person: HonestPerson) async throws {
        guard truth.members[person.user] != nil, truth.chain(of: person.user) != person.identity.chain else { return }
        try compareAll(person)
        try await must("tell") { _ = try await fresh(person).renewal.renew(in: tresor) }
        #expect(truth.chain(of: person.user) == person.identity.chain, place)
    }

    private func compareAll(_ person: HonestPerson) throws {
        note("compare")
        for other in honest { try person.compare(other.identity.chain) }
    }

    /// Another person takes a name, and a pin with it.
    private func replacePin(of person: HonestPerson) throws {
        let observer = honest[draw(honest.count)]
        guard observer !== person, person !== honest[0] else { return }
        note("replace a pin")
        let impostor = try Identity.make(handle: person.identity.chain.handle, time: world.clock.now)
        try observer.compare(impostor.chain)
    }

    // MARK: What must hold

    /// No key went to a card that its author knows to be superseded.
    private func checkWraps(_ changes: ArraySlice<LogChange>, by author: HonestPerson) throws {
        let pins = try author.session.client.pins()
        for stored in changes.flatMap(\.putting) {
            guard let pin = pins[stored.user], !pin.isReplaced else { continue }
            #expect(
                try UnverifiedWrap(stored.bytes).generation >= pin.chain.newest.generation, place("a superseded card"))
        }
    }

    private func judge(_ people: [HonestPerson]) async throws {
        try await catchUp()
        for person in people {
            guard let member = truth.members[person.user] else {
                (person.since, person.readable, person.kept) = (nil, [], [])
                continue
            }
            if person.since != member.since { (person.since, person.readable, person.kept) = (member.since, [], []) }
            try await judge(person, member)
        }
    }

    private func judge(_ person: HonestPerson, _ member: Member) async throws {
        let session = fresh(person)
        let unread = await failure { _ = try await session.client.logs.state(of: tresor) }
        #expect(unread == nil, place("reading: \(String(describing: unread))"))
        _ = await failure { _ = try await session.tresors.name(in: truth) }
        let readable = await readable(by: person, seeing: evil)
        #expect(readable.isSuperset(of: person.readable), place("lost: \(person.readable.subtracting(readable))"))
        let kept = await self.readable(by: person, seeing: bare)
        #expect(kept.isSuperset(of: person.kept), place("lost at home: \(person.kept.subtracting(kept))"))
        (person.readable, person.kept) = (readable, kept)
        for epoch in honestEpochs where truth.epochs[Int(epoch) - 1].sequence >= member.since {
            #expect(readable.contains(epoch), place("epoch \(epoch) of an honest author"))
        }
    }

    /// The epochs whose keys a person gets.
    private func readable(by person: HonestPerson, seeing view: EvilStore) async -> Set<UInt64> {
        let session = world.session(of: person.session, seeing: view)
        var found: Set<UInt64> = []
        for epoch in 1...truth.epoch {
            if await failure({ _ = try await session.keyRing.keys(of: epoch, in: truth) }) == nil {
                found.insert(epoch)
            }
        }
        return found
    }

    /// No one who compared newer keys trusts signatures of older ones.
    private func check(_ forgery: Forgery) async throws {
        for person in honest where try person.hasCompared(forgery.victim, beyond: forgery.generation) {
            if let file = forgery.file {
                let opened = try? await fresh(person).files.open(file)
                #expect(opened?.author.status != .current, place("a thief's file is current"))
            }
            guard let trap = forgery.tresor else { continue }
            let session = fresh(person)
            guard let state = try? await session.client.logs.state(of: trap) else { continue }
            let trust = try? session.client.trust.founderTrust(in: state)
            #expect(trust?.isVerified != true, place("a thief's tresor is believed"))
            let count = try await log(trap, in: store).count
            #expect(await failure { _ = try await session.seal("x", in: trap) } != nil, place)
            _ = await failure { _ = try await session.renewal.renew(in: trap) }
            #expect(try await log(trap, in: store).count == count, place("a thief's tresor is signed"))
        }
    }
}
