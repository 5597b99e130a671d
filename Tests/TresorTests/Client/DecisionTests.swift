// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorTesting

@testable import Tresor
@testable import TresorCore

/// Many decisions of an approver, with one reading before and one after (SPEC §9.11, `decide`).
@Suite(EvilServer()) struct DecisionTests {
    let evil = EvilStore()
    let world: World
    let anna: Session
    let clinic: Session
    let people: [Session]
    let tresor: TresorID
    /// The grants of the people, in their order.
    let pending: [PendingGrant]

    init() async throws {
        world = World(store: evil)
        (anna, clinic) = (try await world.quick("anna"), try await world.quick("clinic"))
        people = [try await world.quick("bob"), try await world.quick("carol"), try await world.quick("dora")]
        try world.introduce(anna, clinic)
        for person in people { try world.introduce(anna, person) }
        tresor = try await anna.tresors.create(Name(typed: "plans"), approvers: [clinic.chain]).tresor
        for person in people { try await anna.share(tresor, with: [person]) }
        pending = PendingGrant.all(in: try await clinic.client.logs.state(of: tresor))
        try #require(pending.map(\.people) == people.map { [$0.chain] })
    }

    private func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }

    /// Decides, and returns the error and the counts that were reported: of what happened, and of what nobody could read.
    private func decide(
        _ decisions: [Decision], by session: Session? = nil
    ) async -> (error: TresorError?, counts: [Int], unproved: [Int]) {
        let counts = Mutex<[(Int, Int)]>([])
        let error = await failure { [session = session ?? clinic, tresor] in
            try await Decisions(session: session).decide(decisions, on: tresor) { count, unproved in
                counts.withLock { $0.append((count, unproved)) }
            }
        }
        let told = counts.withLock { $0 }
        return (error, told.map(\.0), told.map(\.1))
    }

    @Test func theLogIsReadOnceBeforeAndOnceAfter() async throws {
        let (written, shown) = (evil.writeCount, evil.shownCount)
        let decided = await decide([.approve(pending[0]), .refuse(pending[1]), .approve(pending[2])])
        #expect(decided.error == nil && decided.counts == [3] && decided.unproved == [0])
        #expect(evil.writeCount == written + 3)
        // The last entry twice, and that one again with the three new ones.
        #expect(evil.shownCount <= shown + 6)
        let after = try await state()
        #expect(after.waiting.isEmpty && after.members[people[1].user] == nil)
        #expect(after.members[people[0].user]?.approvedBy == clinic.user)
        #expect(after.members[people[2].user]?.approvedBy == clinic.user)
        let file = try await anna.seal("plan", in: tresor)
        #expect(try await people[2].files.open(file).content == Array("plan".utf8))
        #expect(try clinic.client.archive.pinnedHead(of: tresor)?.sequence == after.head.sequence)
    }

    @Test func anotherEntryInBetweenChangesNothing() async throws {
        let entries = try await state().entryCount
        evil.beforeNextAppend { [evil, anna, tresor] in
            evil.beforeNextAppend {
                _ = try? await anna.tresors.perform(.rename(Name(text: "new"), kind: nil), on: tresor)
            }
        }
        let decided = await decide(pending.map(Decision.approve))
        #expect(decided.error == nil && decided.counts == [1, 3])
        let after = try await state()
        #expect(after.entryCount == entries + 4 && after.waiting.isEmpty)
        #expect(people.allSatisfy { after.members[$0.user]?.approvedBy == clinic.user })
    }

    @Test func aRefusedActEndsThemBehindThoseThatHappened() async throws {
        try await anna.tresors.perform(.revoke([people[1].user]), on: tresor)
        let decided = await decide(pending.map(Decision.approve))
        #expect(decided.error == .busy && decided.counts == [1])
        let after = try await state()
        #expect(after.members[people[0].user] != nil && after.waiting[people[2].user] != nil)
        #expect(await decide([.approve(pending[2])]).error == nil)
    }

    @Test func aRefusedDecisionComesAfterThoseThatWereOvertaken() async throws {
        try await anna.tresors.perform(.revoke([people[2].user]), on: tresor)
        evil.beforeNextAppend { [evil, anna, tresor] in
            evil.beforeNextAppend {
                _ = try? await anna.tresors.perform(.rename(Name(text: "new"), kind: nil), on: tresor)
            }
        }
        let decided = await decide(pending.map(Decision.approve))
        #expect(decided.error == .busy && decided.counts == [1, 2])
        let after = try await state()
        #expect(after.waiting.isEmpty && after.members[people[1].user]?.approvedBy == clinic.user)
    }

    /// The approver's other device renews the keys in the middle of a run.
    @Test func anApproverWhoRenewsInBetweenDecidesWithTheNewerKeys() async throws {
        let renewed = try clinic.identity.renewCard(time: world.clock.now)
        let newer = try await world.settle(renewed.identity, previous: [renewed.previous])
        evil.beforeNextAppend { [evil, tresor] in
            evil.beforeNextAppend { _ = try? await newer.tresors.perform(.renew, on: tresor) }
        }
        let decided = await decide(pending.map(Decision.approve))
        #expect(decided.error == .noAccess && decided.counts == [1])
        let waiting = PendingGrant.all(in: try await state())
        #expect(waiting == Array(pending.dropFirst()))
        #expect(await decide(waiting.map(Decision.approve), by: newer).error == nil)
        #expect(try await state().waiting.isEmpty)
    }

    @Test func A66_eachDecisionThatTheStoreDeniesToHaveHasHappened() async throws {
        evil.lie(.saysConflict)
        let written = evil.writeCount
        let decided = await decide(pending.map(Decision.approve))
        #expect(decided.error == nil && decided.counts == [1, 2, 3])
        #expect(evil.writeCount == written + 3)
        evil.behave()
        #expect(try await state().waiting.isEmpty)
    }

    @Test func A66_anApprovalThatTheStoreDropsHasNotHappened() async throws {
        evil.lie(.storesNothing)
        let decided = await decide(pending.map(Decision.approve))
        #expect(decided.error == .store(.notStored) && decided.counts.isEmpty)
        evil.behave()
        #expect(try await state().waiting.count == 3)
    }

    @Test func A66_whatTheStoreKeptBeforeItDroppedOneHasHappened() async throws {
        evil.beforeNextAppend { [evil] in evil.beforeNextAppend { evil.lie(.storesNothing) } }
        let decided = await decide(pending.map(Decision.approve))
        #expect(decided.error == .store(.notStored) && decided.counts == [1])
        evil.behave()
        let after = try await state()
        #expect(after.members[people[0].user] != nil && after.waiting.count == 2)
    }

    /// The connection breaks behind the second entry, so that nobody can read which of them are in the log.
    @Test func whatWasSentAndCannotBeReadIsReported() async throws {
        let counts = CallCounts()
        var world = world
        world.store = FaultyStore(evil) { call in
            if call.name == "append" { counts.count("append") }
            return counts.counts["append", default: 0] > 2 ? .refusing(.store(.unreachable)) : nil
        }
        let session = Session(client: world.client(clinic.client.home), identity: clinic.identity)
        let decided = await decide(pending.map(Decision.approve), by: session)
        let isOfTheStore = if case .store? = decided.error { true } else { false }
        #expect(isOfTheStore && decided.counts == [0] && decided.unproved == [3])
        #expect(try await state().waiting.count == 1)
    }

    /// The approver's session with a store that loses the answer to the second entry, and all that comes after it or not.
    private func losingTheSecondAnswer(andWhatFollows isLasting: Bool) -> Session {
        let counts = CallCounts()
        var world = world
        world.store = FaultyStore(evil) { call in
            if call.name == "append" {
                counts.count("append")
                return counts.counts["append"] == 2 ? .losingAnswer(.store(.unreachable)) : nil
            }
            return isLasting && counts.counts["append", default: 0] > 1 ? .refusing(.store(.unreachable)) : nil
        }
        return Session(client: world.client(clinic.client.home), identity: clinic.identity)
    }

    @Test func anEntryWhoseAnswerIsLostHasHappened() async throws {
        let session = losingTheSecondAnswer(andWhatFollows: false)
        let decided = await decide(pending.map(Decision.approve), by: session)
        #expect(decided.error == nil && decided.counts == [2, 3] && decided.unproved == [0, 0])
        #expect(try await state().waiting.isEmpty)
    }

    @Test func anEntryWhoseAnswerIsLostMayHaveHappened() async throws {
        let session = losingTheSecondAnswer(andWhatFollows: true)
        let decided = await decide(pending.map(Decision.approve), by: session)
        #expect(decided.error != nil && decided.counts == [0] && decided.unproved == [2])
        #expect(try await state().waiting.count == 1)
    }

    @Test func aCancelledTaskDecidesNothing() async throws {
        let written = evil.writeCount
        let decisions = pending.map(Decision.approve)
        let task = Task { [clinic, tresor] () async -> TresorError? in
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { try await Decisions(session: clinic).decide(decisions, on: tresor) }
        }
        #expect(await task.value == .cancelled)
        #expect(evil.writeCount == written)
    }
}
