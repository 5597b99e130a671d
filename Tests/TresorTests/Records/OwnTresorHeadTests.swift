// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Heads that another device verified, and what former keys said (SPEC §19.8).
@Suite struct OwnTresorHeadTests {
    let evil = EvilStore(MemoryStore())
    let world: World
    let anna: Session
    let house: Session
    let desk: Session
    let plans: TresorID

    init() async throws {
        world = World(store: evil)
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        desk = try world.device(of: anna)
        plans = try await anna.tresors.create(Name(typed: "plans")).tresor
    }

    private func note(_ text: String, by device: Session) async throws {
        let records = device.records(in: plans)
        try await records.put("note", Array(text.utf8))
        _ = try await records.sync()
    }

    /// Lets the store show only so many entries of the tresor.
    private func freeze(_ count: Int) async throws {
        let genesis = try #require(try await log(plans, in: evil.truth).first)
        evil.show { $0.first == genesis ? Array($0.prefix(count)) : $0 }
    }

    @Test func A225_anOlderLogIsAForkForADeviceThatNeverSawMore() async throws {
        try await note("one", by: anna)
        try await desk.exchange()
        try await note("two", by: anna)
        try await anna.exchange()
        try await freeze(2)
        let exchange = try await desk.exchange()
        #expect(exchange.errors == [plans: .forked])
        #expect(desk.evidenceCount == 1)
        // From now on every reading demands it, in whatever act.
        #expect(await failure { _ = try await desk.client.logs.state(of: plans) } == .forked)
        #expect(await failure { _ = try await desk.seal("more", in: plans) } == .forked)
        let findings = try await desk.client.audit.check([plans])
        let forks = findings.compactMap { finding in
            if case .forked(let seen, let shown, _) = finding.remark {
                [seen.sequence, shown?.sequence ?? 0]
            } else {
                nil
            }
        }
        #expect(forks == [[2, 1]])
        evil.behave()
        #expect(try await desk.exchange().errors.isEmpty)
        #expect(try desk.client.heads().told.isEmpty)
    }

    @Test func aNewDeviceIsNotShownAnOlderLogEither() async throws {
        for text in ["one", "two"] { try await note(text, by: anna) }
        try await anna.exchange()
        try await freeze(2)
        #expect(try await desk.exchange().errors == [plans: .forked])
    }

    @Test func anotherHistoryIsAForkWhoeverSawMore() async throws {
        try await note("one", by: anna)
        try await anna.exchange()
        // The desk is shown another second entry, and more of that branch than anna has of hers.
        let genesis = try #require(try await log(plans, in: evil.truth).first)
        var entries = [genesis]
        for _ in 0..<3 {
            let state = try Fold.state(of: entries, tresor: plans)
            let entry = try Entry(
                tresor: plans, sequence: state.head.sequence + 1, previous: state.head.hash, author: anna.identity,
                time: world.clock.now, body: .additive(AdditiveBody(type: 200, [1])))
            entries.append(entry.bytes)
        }
        let shown = entries
        evil.show { $0.first == genesis ? shown : $0 }
        let exchange = try await desk.exchange()
        #expect(exchange.errors.isEmpty && exchange.report.denied.map(\.tresor) == [plans])
        let denial = try #require(exchange.report.denied.first)
        #expect(denial.said != denial.present && !denial.isBehind)
        #expect(await failure { _ = try await desk.client.logs.state(of: plans) } == .forked)
    }

    @Test func headsThatAreNotAboveOnesOwnChangeNothing() async throws {
        try await note("one", by: anna)
        try await anna.exchange()
        try await note("two", by: anna)
        let before = anna.home[.heads]
        try await anna.exchange()
        #expect(try anna.client.heads().told.isEmpty && anna.home[.heads] != before)
        let heads = try #require(anna.home[.heads])
        #expect(try PinnedHeads(heads).bytes == heads)
    }

    /// A224: the thief of an old seed writes into the own tresor of that seed.
    @Test func A224_formerKeysSayNothing() async throws {
        try anna.client.people.pinBlocking(house.identity.chain)
        try await anna.exchange()
        try await desk.exchange()
        let home = try #require(anna.client.home as? MemoryHome)
        let thief = world.session(of: anna, home: home.copy())
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await renewed.renewal.finishInEachTresor().allSatisfy { $0.error == nil })
        let mallory = try identity("mallory")
        try thief.client.people.pinBlocking(mallory.chain)
        let planted = try await thief.exchange()
        #expect(planted.report.held == nil)
        let trap = try await thief.tresors.create(.own, kind: .own, isOwn: true)
        try await renewed.exchange()
        #expect(try renewed.occasion(of: mallory.user) == nil && renewed.occasion(of: house.user) == .number)
        // A home with the newest keys goes by what these say. It took the planted pin while it was an old copy.
        try await desk.exchange()
        #expect(try desk.occasion(of: mallory.user) == .known)
        let deskHome = try #require(desk.client.home as? MemoryHome)
        let newest = try renewed.client.home.read(.identity)
        try deskHome.replace(.identity, with: #require(newest))
        let restored = world.session(of: renewed, home: deskHome)
        // The word of former keys counts no more, before any exchange.
        #expect(try restored.people.trustBlocking(in: mallory.chain) == .unverified)
        // An act about somebody else leaves it for the exchange to say that it ended.
        try restored.client.people.pinBlocking(identity("cuddy").chain)
        let outcome = try await restored.exchange().outcome
        #expect(outcome.ended == [mallory.chain])
        #expect(try restored.occasion(of: mallory.user) == nil && restored.occasion(of: house.user) == .known)
        let counted = try await restored.ownTresors().filter { try OwnTresors(session: restored).counts($0) }
        #expect(counted.count == 1 && counted.first?.tresor != trap.tresor)
    }

    /// A224: the thief makes an own tresor whose log has another card of the newest generation.
    @Test func A224_noForkOfAThiefEndsTheExchange() async throws {
        let home = try #require(anna.client.home as? MemoryHome)
        let thief = world.session(of: anna, home: home.copy())
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        _ = try await renewed.renewal.finishInEachTresor()
        let trap = try await thief.tresors.create(.own, kind: .own, isOwn: true)
        let other = try thief.identity.renewCard(time: 77).identity
        try await world.append(.renew(RenewBody(other.chain.newest)), by: thief.identity, to: trap.tresor, in: evil)
        let entries = try await log(trap.tresor, in: evil.truth)
        let state = try Fold.state(of: entries, tresor: trap.tresor)
        #expect(error { _ = try renewed.client.trust.founderTrust(in: state) } == .forked)
        let counts = try OwnTresors(session: renewed).counts(state)
        #expect(!counts)
        try renewed.client.people.pinBlocking(house.identity.chain)
        #expect(try await renewed.exchange().report.isMade)
    }

    /// Heads that a former card told may be those of a thief.
    @Test func aRenewalForgetsToldHeads() async throws {
        try await note("one", by: anna)
        try await anna.exchange()
        var exchange = try await OwnTresorSync(of: try await desk.tresors.all(readingStrangers: false), desk)
        _ = try await exchange.receive()
        try desk.client.home.exclusively { () throws(TresorError) in
            var heads = try desk.client.heads()
            heads.tell(Head(sequence: 99, hash: .zero), of: plans)
            try desk.client.home.replace(.heads, with: heads.bytes)
        }
        let renewed = try await desk.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try renewed.client.heads().told.isEmpty)
        #expect(try await renewed.client.logs.state(of: plans).entryCount == 2)
    }

    /// A renewal that ends behind the new identity, before it lets known pins rest on the new card.
    @Test func anInterruptedRenewalLosesNobody() async throws {
        try anna.client.people.pinBlocking(house.identity.chain)
        try await anna.exchange()
        try await desk.exchange()
        let home = try #require(desk.client.home as? MemoryHome)
        let pins = try #require(home.read(.pins))
        let renewed = try await desk.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try renewed.occasion(of: house.user) == .known)
        try home.replace(.pins, with: pins)
        #expect(try renewed.occasion(of: house.user) == nil)
        let stopped = world.session(of: renewed, home: home.copy())
        #expect(try await stopped.exchange().outcome.ended.isEmpty)
        #expect(try stopped.occasion(of: house.user) == .known)
        _ = try await renewed.renewal.finishInEachTresor()
        #expect(try renewed.occasion(of: house.user) == .known)
    }

    /// The pins of a home are damaged: the person makes new keys nevertheless.
    @Test func pinsThatDoNotReadHoldUpNoRenewal() async throws {
        try anna.client.home.replace(.pins, with: [1, 2, 3])
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        _ = try await renewed.renewal.finishInEachTresor()
        #expect(try await evil.truth.card(of: anna.user) == renewed.identity.chain.bytes)
    }

    /// A tresor that is gone has no head that anybody demands.
    @Test func aDeletionOfATresorTakesItsHeadAway() async throws {
        try await note("one", by: anna)
        try await anna.exchange()
        let own = try #require(try await anna.ownTresors().first)
        let name = try Name(text: "tresor/head/\(plans)")
        #expect(try await anna.records(in: own.tresor).view().table.shown(of: name) != nil)
        let deletion = Deletion(session: anna)
        try await deletion.perform(try await deletion.plan(plans))
        try await OwnTresorSync.forget(plans, anna)
        for device in [anna, desk] { try await device.exchange() }
        for device in [anna, desk] {
            #expect(try await device.records(in: own.tresor).view().table.shown(of: name) == nil)
        }
    }

    @Test func aTresorThatIsNotListedKeepsItsToldHead() throws {
        var heads = PinnedHeads()
        let (one, two) = (Head(sequence: 1, hash: .zero), Head(sequence: 2, hash: .zero))
        heads.takeHeads([plans: [one]])
        heads.takeHeads([plans: [one, two]], among: [])
        #expect(heads.told == [plans: one])
        heads.takeHeads([:], among: [], keeping: true)
        #expect(heads.told == [plans: one])
        heads.takeHeads([:], among: [])
        #expect(heads.told.isEmpty)
    }

    @Test func aRenewalTakesAlongWhatThisHomeKnows() async throws {
        try anna.client.people.pinBlocking(house.identity.chain)
        try await anna.exchange()
        try await desk.exchange()
        // The other device is lost, and the person makes new keys on this one.
        let renewed = try await desk.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        _ = try await renewed.renewal.finishInEachTresor()
        let exchange = try await renewed.exchange()
        #expect(exchange.outcome.ended.isEmpty && exchange.report.isMade)
        let phone = try world.device(of: renewed)
        try await phone.exchange()
        #expect(try phone.occasion(of: house.user) == .known)
    }
}
