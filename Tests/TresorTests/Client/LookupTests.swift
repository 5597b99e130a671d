// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The tresor that a text names (SPEC §9.12), and the reads needed to find it.
@Suite struct LookupTests {
    let world = World()
    let anna: Session
    let house: Session
    let plans: TresorID

    init() async throws {
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        try world.introduce(anna, house)
        plans = try await house.tresors.create(Name(typed: "plans")).tresor
    }

    private func found(_ text: String) async throws -> [TresorID] {
        try await house.tresors.named(text).map(\.tresor)
    }

    /// A tresor of anna's that house co-owns, and has seen.
    private func shared(_ name: String) async throws -> TresorID {
        let tresor = try await anna.tresors.create(Name(typed: name)).tresor
        try await anna.share(tresor, with: [house], as: .writer)
        _ = try await house.tresors.all()
        return tresor
    }

    // MARK: What is read

    @Test func theWorkOfAnOperationDoesNotGrowWithTheNumberOfTresors() async throws {
        _ = try await house.tresors.all()
        let alone = try await work()
        for number in 1..<100 { _ = try await house.tresors.create(Name(typed: "plan \(number)")) }
        _ = try await house.tresors.all()
        let amongMany = try await work()
        #expect(amongMany == alone)
        for (work, counts) in alone {
            for object in ["identity", "pins", "heads", "names", "wraps", "marks"] {
                #expect(counts["home \(object)", default: 0] <= 1, "\(work), \(object)")
            }
            #expect(counts["home writes"] == nil, "\(work)")
            #expect(counts["changed", default: 0] <= 1, "\(work)")
            if work.hasPrefix("encrypt") { #expect(counts["entries"] == 1, "\(work)") }
        }
    }

    /// The reads of home and store by `encrypt` and `decrypt`, each in a process of its own.
    private func work() async throws -> [String: [String: Int]] {
        let text = try Name(typed: "text/plain")
        let content = NamedContent([1, 2, 3], record: text, type: text)
        let file = try #require(try await house.files.seal([content], in: plans).first)
        func operation(_ body: (Session) async throws -> Void) async throws -> [String: Int] {
            let home = CountingHome(home: house.client.home)
            let store = CountingStore(store: world.store)
            let client = world.client(home, seeing: store, turns: Turns())
            let session = Session(client: client, identity: house.identity)
            _ = try session.client.identityFileBlocking()
            _ = try session.client.identityFileBlocking()
            try await body(session)
            return home.tally.counts.merging(store.tally.counts) { $0 + $1 }
        }
        func encrypt(_ name: String) async throws -> [String: Int] {
            try await operation { session in
                let summary = try #require(try await session.tresors.named(name).first)
                let state = try #require(summary.state)
                #expect(try session.client.trust.founderTrust(in: state).isVerified)
                _ = try await session.tresors.settle(summary.tresor)
                #expect(try await session.files.seal([content], in: summary.tresor).count == 1)
            }
        }
        func decrypt(_ name: String?) async throws -> [String: Int] {
            try await operation { session in
                var expecting = Expectations.anyTresor
                if let name { expecting.tresor = try await session.tresors.named(name).first?.tresor }
                let opened = try await session.files.open(file, expecting: expecting)
                let state = try await session.client.logs.state(of: opened.proof.tresor)
                #expect(try await session.tresors.name(in: state) == Name(typed: "plans"))
            }
        }
        return [
            "encrypt by name": try await encrypt("plans"),
            "encrypt by id": try await encrypt(plans.description),
            "encrypt by the beginning of an id": try await encrypt(String(plans.description.prefix(20))),
            "decrypt": try await decrypt(nil),
            "decrypt by name": try await decrypt("plans"),
            "decrypt by id": try await decrypt(plans.description),
        ]
    }

    @Test func whereNoNameIsKnownEveryLogIsRead() async throws {
        let care = try await shared("care")
        try await anna.tresors.perform(.rename(Name(typed: "home care")), on: care)
        #expect(try await found("home care") == [care])
    }

    /// A command that waits, for a person or a long file, reads the log again before it seals.
    @Test func aLogThatWasReadInAnEarlierTurnIsReadAgain() async throws {
        let store = CountingStore(store: world.store)
        let turns = Turns()
        let client = world.client(house.client.home, seeing: store, turns: turns)
        let session = Session(client: client, identity: house.identity)
        _ = try await session.tresors.named("plans")
        #expect(store.tally.counts["entries"] == 1)
        _ = try await session.tresors.settle(plans)
        #expect(store.tally.counts["entries"] == 1)
        turns.end()
        _ = try await session.tresors.settle(plans)
        #expect(store.tally.counts["entries"] == 2)
    }

    /// To verify a large file takes hours, in which the key may change.
    @Test func theLogIsReadAgainAfterAFileIsVerified() async throws {
        let store = CountingStore(store: world.store)
        let client = world.client(house.client.home, seeing: store, turns: Turns())
        let session = Session(client: client, identity: house.identity)
        let sealed = try await session.seal("knee", in: plans)
        let file = try await StoredFile(MemorySource(sealed.bytes))
        let before = store.tally.counts["entries"] ?? 0
        #expect(try await session.files.resealingEpoch(of: file) == nil)
        // To verify reads it once.
        #expect(store.tally.counts["entries"] == before + 2)
    }

    @Test func aLogIsReadAgainAfterAnActOfItsOwn() async throws {
        let client = world.client(house.client.home, seeing: nil, turns: Turns())
        let session = Session(client: client, identity: house.identity)
        try world.introduce(house, anna)
        _ = try await session.tresors.named("plans")
        let shared = try await session.tresors.perform(
            .share(with: [anna.identity.chain], role: .reader, fromNow: false, notAfter: nil), on: plans)
        #expect(try await session.tresors.settle(plans).head == shared.state.head)
        #expect(shared.state.members[anna.identity.user] != nil)
    }

    @Test func aLogThatCannotBeReadIsNotTakenFromMemory() async throws {
        let store = EvilStore(world.store)
        let client = world.client(house.client.home, seeing: store, turns: Turns())
        let session = Session(client: client, identity: house.identity)
        _ = try await session.tresors.settle(plans)
        store.frozen(0)
        await #expect(throws: TresorError.forked) { try await session.client.logs.state(of: plans) }
        await #expect(throws: TresorError.forked) { try await session.tresors.settle(plans) }
    }

    // MARK: What may be meant

    @Test func twoKnownTresorsOfOneNameAreBothMeant() async throws {
        let other = try await shared("plans")
        #expect(try await Set(found("plans")) == [plans, other])
        #expect(try await found("anna/plans") == [other])
        #expect(try await found("house/plans") == [plans])
    }

    @Test func anEmptyOwnerIsNobody() async throws {
        #expect(try await found("house/plans") == [plans])
        for text in ["/house/plans", "/plans", "house//plans", "house/", "/"] {
            #expect(try await found(text).isEmpty, "\(text)")
        }
    }

    @Test func aNameThatLooksLikeTheBeginningOfAnIDIsMeantBesideIt() async throws {
        let text = String(plans.description.prefix(8))
        #expect(try await found(text) == [plans])
        let other = try await house.tresors.create(Name(typed: text)).tresor
        #expect(try await Set(found(text)) == [plans, other])
    }

    @Test func aWholeIDIsNothingElse() async throws {
        let other = try await house.tresors.create(Name(typed: plans.description)).tresor
        #expect(try await found(plans.description) == [plans])
        #expect(try await found(other.description) == [other])
    }

    @Test func aNameThatTheHomeKnowsComesBeforeOneThatIsNew() async throws {
        let care = try await shared("care")
        try await anna.tresors.perform(.rename(Name(typed: "plans")), on: care)
        #expect(try await found("plans") == [plans])
        #expect(try await found("anna/plans") == [care])
        _ = try await house.tresors.all()
        #expect(try await Set(found("plans")) == [plans, care])
    }

    @Test func namesThatWereExchangedSinceAreTheNewOnes() async throws {
        let (one, other) = (try await shared("one"), try await shared("other"))
        try await anna.tresors.perform(.rename(Name(typed: "other")), on: one)
        try await anna.tresors.perform(.rename(Name(typed: "one")), on: other)
        #expect(try await found("one") == [other])
        #expect(try await found("other") == [one])
    }

    @Test func aNameThatNoLongerHoldsLeavesEveryLogToBeRead() async throws {
        let care = try await shared("care")
        try await anna.tresors.perform(.rename(Name(typed: "old care")), on: care)
        let new = try await anna.tresors.create(Name(typed: "care")).tresor
        try await anna.share(new, with: [house], as: .writer)
        #expect(try await found("care") == [new])
    }

    @Test func aRemovedMemberFindsANewTresorOfTheSameName() async throws {
        let care = try await shared("care")
        try await anna.tresors.perform(.revoke([house.identity.user]), on: care)
        let rose = try await world.quick("rose")
        try world.introduce(rose, house)
        let new = try await rose.tresors.create(Name(typed: "care")).tresor
        try await rose.share(new, with: [house], as: .writer)
        #expect(try await Set(found("care")) == [care, new])
    }

    @Test func aStrangersTresorHasNoBareName() async throws {
        let mallory = try await world.quick("mallory")
        try mallory.client.people.pinBlocking(house.identity.chain)
        let theirs = try await mallory.tresors.create(Name(typed: "plans")).tresor
        try await mallory.share(theirs, with: [house], as: .writer)
        #expect(try await found("plans") == [plans])
        #expect(try await found("mallory/plans") == [theirs])
        #expect(try await found(theirs.description) == [theirs])
        let names = try await mallory.tresors.create(Name(typed: "nothing of yours")).tresor
        try await mallory.share(names, with: [house], as: .writer)
        #expect(try await found("nothing of yours").isEmpty)
    }

    @Test func withoutKeptNamesTheAnswerIsTheSame() async throws {
        let care = try await shared("care")
        try house.client.home.delete(.names)
        #expect(try await found("care") == [care])
        #expect(try await found("plans") == [plans])
    }

    @Test func aRemovedMemberStillFindsATresorByItsName() async throws {
        let care = try await shared("care")
        try await anna.tresors.perform(.revoke([house.identity.user]), on: care)
        #expect(try await found("care") == [care])
        #expect(try await found("plans") == [plans])
    }
}
