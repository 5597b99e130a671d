// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The entries of the hostile people.
extension HostileHistory {
    /// A person who may sign at the end of the log.
    private struct Author {
        let identity: Identity
        let person: HonestPerson
        let isThief: Bool
    }

    /// The hostile members, and the thieves of seeds that the log still goes by.
    private func authors() -> [Author] {
        let members = hostile.filter { truth.members[$0.user] != nil }
        let thieves = honest.compactMap { person -> Author? in
            guard truth.members[person.user] != nil, let generation = truth.chain(of: person.user)?.newest.generation,
                let stolen = person.stolen.first(where: { $0.identity.generation == generation })
            else { return nil }
            return Author(identity: stolen.identity, person: person, isThief: true)
        }
        return members.map { Author(identity: $0.identity, person: $0, isThief: false) } + thieves
    }

    /// One entry that no honest program would sign.
    func intrigue() async throws {
        try await gatherKeys()
        let authors = authors()
        guard !authors.isEmpty else { return }
        let author = authors[draw(authors.count)]
        guard let member = truth.members[author.identity.user] else { return }
        let isWriter = member.role == .writer && member.history == .all
        if author.isThief { note("a thief's entry") }
        switch (member.role, draw(6)) {
        case (.owner, 0): try await spoilName(author)
        case (.owner, 1): try await admitAccomplice(author)
        case (.owner, 2): try await dismiss(author)
        case (.owner, _): try await withhold(author)
        case (_, 1...) where isWriter && truth.isRekeyPending: try await withhold(author)
        default: if !author.isThief { try await renewHostile(author.person) }
        }
    }

    /// The keys that they can reach and do not have yet.
    private func gatherKeys() async throws {
        for person in hostile where truth.members[person.user] != nil {
            let session = fresh(person)
            for epoch in 1...truth.epoch where hostileKeys[epoch] == nil {
                if let keys = try? await session.keyRing.keys(of: epoch, in: truth), keys.opensHistory {
                    hostileKeys[epoch] = keys
                }
            }
        }
    }

    @discardableResult private func append(
        _ body: EntryBody, by author: Identity, generation: UInt32? = nil, wraps: [StoredWrap] = [],
        removing users: [UserID] = []
    ) async throws -> Bool {
        let entry = try Entry(
            tresor: tresor, sequence: truth.head.sequence + 1, previous: truth.head.hash, author: author,
            generation: generation, time: world.clock.now, body: body)
        var fold = Fold(state: truth)
        guard (try? fold.apply(entry.bytes)) != nil else { return false }
        let change = LogChange(
            tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes, putting: wraps,
            removingWrapsOf: users)
        #expect(try await store.append(change) == .done)
        try await catchUp()
        return true
    }

    /// The next epoch, with a back-link that omits what it likes, opens nothing, or commits to keys that nobody has.
    private func nextEpoch() throws -> (keys: EpochKeys, statement: Epoch) {
        let next = try EpochKeys(epoch: truth.epoch + 1)
        let known = hostileKeys.keys.sorted(by: >)
        let odds = draw(4)
        let links = known.filter { _ in odds == 0 || draw(odds + 1) == 0 }.compactMap { hostileKeys[$0] }
        let statement = try next.statement(of: tresor, linking: links)
        switch draw(8) {
        case 0:
            let other = try EpochKeys(epoch: next.epoch).statement(of: tresor, linking: links)
            return (
                next,
                Epoch(
                    number: next.epoch, contentCommitment: statement.contentCommitment,
                    historyCommitment: statement.historyCommitment, backLink: other.backLink)
            )
        case 1: return (try EpochKeys(epoch: next.epoch), statement)
        default:
            hostileKeys[next.epoch] = next
            return (next, statement)
        }
    }

    /// Wraps for nobody, for the author alone, for some, or for everybody; some of them are spoiled.
    ///
    /// - Parameter statement: what the log says of the keys.
    private func wraps(
        _ keys: EpochKeys, _ statement: Epoch?, for people: [(chain: CardChain, history: History)], by author: Identity
    ) throws -> [StoredWrap] {
        let reach = draw(4)
        let areOthers = statement.map { (try? keys.checkKeys(against: $0, of: tresor)) == nil } ?? false
        var wraps: [StoredWrap] = []
        for (chain, history) in people {
            let isReached =
                switch reach {
                case 0: false
                case 1: chain.user == author.user
                case 2: draw(2) == 0
                default: true
                }
            guard isReached else { continue }
            var bytes = try Wrap(keys, of: tresor, for: chain.newest, user: chain.user, history: history).bytes
            let isFlipped = draw(8) == 0
            if isFlipped { bytes = flipped(bytes, bytes.count * 8 - 1) }
            if isFlipped || areOthers { spoiled.insert(bytes) }
            wraps.append(StoredWrap(user: chain.user, epoch: keys.epoch, bytes: bytes))
        }
        return wraps
    }

    private func members(without users: [UserID] = []) -> [(chain: CardChain, history: History)] {
        truth.members.filter { !users.contains($0.key) }.sorted { $0.key < $1.key }.compactMap { user, member in
            truth.chain(of: user).map { ($0, member.history) }
        }
    }

    private func withhold(_ author: Author) async throws {
        let (keys, statement) = try nextEpoch()
        let wraps = try wraps(keys, statement, for: members(), by: author.identity)
        if try await append(.epoch(EpochBody(statement)), by: author.identity, wraps: wraps) {
            note("a withheld epoch")
        }
    }

    private func dismiss(_ author: Author) async throws {
        let others = [honest[3], hostile[2], honest[2]].filter {
            truth.members[$0.user] != nil && $0.user != author.identity.user
        }
        guard let user = others.first?.user else { return try await withhold(author) }
        let (keys, statement) = try nextEpoch()
        let wraps = try wraps(keys, statement, for: members(without: [user]), by: author.identity)
        let body = EntryBody.remove(RemoveBody(users: [user], epoch: statement))
        if try await append(body, by: author.identity, wraps: wraps, removing: [user]) { note("a removal") }
    }

    /// Admits an accomplice: from now on, with an epoch and a name that nobody else opens, or as an owner.
    private func admitAccomplice(_ author: Author) async throws {
        let accomplice = hostile[2].identity.chain
        guard truth.members[accomplice.user] == nil else { return try await withhold(author) }
        note("a grant")
        guard draw(2) == 0 else {
            let grant = GrantBody(people: [accomplice], role: .owner, notAfter: nil, fromNow: nil)
            let keys = hostileKeys[truth.epoch]
            let statement = truth.statement(of: truth.epoch)
            let wraps =
                try keys.map { try self.wraps($0, statement, for: [(accomplice, .all)], by: author.identity) } ?? []
            try await append(.grant(grant), by: author.identity, wraps: wraps)
            return
        }
        let (keys, statement) = try nextEpoch()
        let name = try SealedName(
            Name(typed: "theirs"), kind: .empty, under: keys.content, tresor: tresor, epoch: keys.epoch,
            sequence: truth.head.sequence + 1)
        let grant = GrantBody(
            people: [accomplice], role: .reader, notAfter: nil,
            fromNow: GrantBody.FromNow(epoch: statement, sealedName: name))
        let people = members() + [(accomplice, .from(epoch: keys.epoch))]
        try await append(
            .grant(grant), by: author.identity, wraps: try wraps(keys, statement, for: people, by: author.identity))
    }

    private func spoilName(_ author: Author) async throws {
        if try await append(.rename(RenameBody(Chronicle.anyName())), by: author.identity) { note("a bad name") }
    }

    /// Marks the tresor, so that a writer may begin an epoch.
    private func renewHostile(_ person: HonestPerson) async throws {
        let home = try #require(person.session.client.home as? MemoryHome)
        let file = try person.session.client.identityFileBlocking()
        let (next, sealed) = try person.identity.renewCard(time: world.clock.now)
        let generation = try #require(truth.chain(of: person.user)).newest.generation
        guard generation + 1 == next.generation,
            try await append(.renew(RenewBody(next.chain.newest)), by: next, generation: generation)
        else { return }
        note("a renewal")
        person.session = try await world.settle(next, previous: [sealed] + file.previous, home: home)
    }
}

/// The further acts of thieves of old seeds.
extension HostileHistory {
    func steal() async throws {
        let robbed = honest.filter { !$0.stolen.isEmpty }
        guard !robbed.isEmpty else { return try await intrigue() }
        let victim = robbed[draw(robbed.count)]
        let thief = victim.stolen[draw(victim.stolen.count)]
        switch draw(4) {
        case 0: try await setTrap(victim, thief)
        case 1: try await signLate(victim, thief)
        case 2: try await showOldCard(victim, thief)
        default: try await sealWithOldSeed(victim, thief)
        }
    }

    /// A tresor founded with the old seed and shared with everybody; with the newest card in its log, because cards are
    /// public.
    private func setTrap(_ victim: HonestPerson, _ thief: Session) async throws {
        note("a trap")
        // No one compares safety numbers with a thief.
        try thief.client.home.delete(.pins)
        let trap = try await thief.tresors.create(Name(typed: "trap \(forgeries.count)")).tresor
        var forgery = Forgery(victim: victim, generation: thief.identity.generation, tresor: trap)
        let accomplice = hostile[2]
        let others = honest.filter { $0 !== victim }.map(\.identity.chain)
        let owner = Act.share(with: [accomplice.identity.chain], role: .owner, fromNow: false, notAfter: nil)
        let reader = Act.share(with: others, role: .writer, fromNow: false, notAfter: nil)
        for act in [owner, reader] { try await thief.tresors.perform(act, on: trap, acceptingUnverified: true) }
        forgery.file = try await thief.seal("dose", in: trap)
        forgeries.append(forgery)
        guard draw(2) == 0 else { return }
        note("a trap with the new card")
        var entries = try await log(trap, in: store)
        // The old seed signs the first, an owner who helps the others.
        for generation in (thief.identity.generation + 1)...victim.identity.generation {
            let state = try Fold.state(of: entries, tresor: trap)
            let card = try #require(victim.identity.chain.card(generation: generation))
            let isFirst = generation == thief.identity.generation + 1
            let entry = try Entry(
                tresor: trap, sequence: state.head.sequence + 1, previous: state.head.hash,
                author: isFirst ? thief.identity : accomplice.identity, time: world.clock.now,
                body: .renew(RenewBody(card)))
            let change = LogChange(
                tresor: trap, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes)
            #expect(try await store.append(change) == .done)
            entries.append(entry.bytes)
        }
    }

    /// An entry with a seed that the log has superseded: no one who sees it trusts it.
    private func signLate(_ victim: HonestPerson, _ thief: Session) async throws {
        guard let chain = truth.chain(of: victim.user), chain.newest.generation > thief.identity.generation else {
            return try await setTrap(victim, thief)
        }
        note("a late entry")
        let (_, statement) = try nextEpoch()
        hostileKeys[statement.number] = nil
        let entry = try Entry(
            tresor: tresor, sequence: truth.head.sequence + 1, previous: truth.head.hash, author: thief.identity,
            time: world.clock.now, body: .epoch(EpochBody(statement)))
        evil.append(entry.bytes)
        for person in honest {
            let home = person.session.home
            let refused = await failure { _ = try await fresh(person).client.logs.state(of: tresor) }
            #expect(refused == .noAccess, place("a late entry: \(String(describing: refused))"))
            #expect(person.session.home == home, place)
        }
        evil.behave()
    }

    private func showOldCard(_ victim: HonestPerson, _ thief: Session) async throws {
        note("an old card")
        let observer = honest[draw(honest.count)]
        guard observer !== victim,
            try observer.hasCompared(victim, beyond: thief.identity.generation)
        else { return }
        evil.late(thief.identity.chain.bytes)
        let person = try? await observer.session.client.people.person(victim.user)
        evil.behave()
        // The compared card counts in the place of an older one (SPEC §7.5).
        let believed = person.flatMap { $0.trust.isVerified ? $0.chain.newest.generation : nil }
        #expect(believed != thief.identity.generation, place("an old card is believed"))
        let act = Act.share(with: [thief.identity.chain], role: .reader, fromNow: false, notAfter: nil)
        #expect(await failure { try await fresh(observer).tresors.perform(act, on: tresor) } != nil, place)
    }

    /// A file that names the head of today, and the old generation.
    private func sealWithOldSeed(_ victim: HonestPerson, _ thief: Session) async throws {
        try await gatherKeys()
        guard let keys = hostileKeys[truth.epoch] else { return try await setTrap(victim, thief) }
        let file = try FileSealer.sealFile(
            [1], type: .empty, record: .empty, keys: keys, state: truth, author: thief.identity, time: world.clock.now)
        forgeries.append(Forgery(victim: victim, generation: thief.identity.generation, file: file))
    }
}
