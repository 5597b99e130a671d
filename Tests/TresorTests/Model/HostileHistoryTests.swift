// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore

/// Random histories with real keys in which writers, owners and the thieves of old seeds sign what no honest program
/// would. Seeds 0 to 3, or as many as `TRESOR_HISTORIES` says.
@Suite struct HostileHistoryTests {
    private static let batchCount = 4
    private static let stepCount = 12

    @Test(arguments: 0..<batchCount)
    func A67_A200_A201_A203_A209_whateverHostilePeopleSignNoOwnerIsStopped(batch: Int) async throws {
        let seeds = seeds("TRESOR_HISTORIES", else: 4, batch: batch, of: Self.batchCount)
        var tally: [String: Int] = [:]
        for seed in seeds {
            let history = try await HostileHistory(seed)
            for _ in 0..<Self.stepCount { try await history.step() }
            try await history.finish()
            tally.merge(history.tally) { $0 + $1 }
        }
        // Nothing is shown by what never happens.
        let missing = HostileHistory.events.filter { tally[$0] == nil }
        #expect(seeds.count < 25 || missing.isEmpty, "\(missing)")
    }
}

/// An honest person, at present.
final class HonestPerson {
    var session: Session
    /// The loot of a thief before each renewal: a whole home, and the identity.
    var stolen: [Session] = []
    /// The entry that added them; `nil` for a person who is no member.
    var since: UInt64?
    /// The epochs they could open since then.
    var readable: Set<UInt64> = []
    /// Those that they could open without the store.
    var kept: Set<UInt64> = []

    init(_ session: Session) { self.session = session }

    var identity: Identity { session.identity }
    var user: UserID { session.identity.user }

    /// Whether they compared keys of a person newer than `generation`, or made them.
    func hasCompared(_ other: HonestPerson, beyond generation: UInt32) throws -> Bool {
        if other === self { return identity.generation > generation }
        guard let pin = try session.client.pins()[other.user], !pin.isReplaced else { return false }
        return pin.chain.newest.generation > generation
    }

    /// Whether the keys of a person in a log are those they compared, or older.
    func trusts(_ other: HonestPerson, upTo generation: UInt32) throws -> Bool {
        if other === self { return true }
        guard let pin = try session.client.pins()[other.user], !pin.isReplaced else { return false }
        return pin.chain.newest.generation >= generation
    }

    /// Compares a person's present safety number.
    func compare(_ chain: CardChain) throws {
        if chain.user != user { try session.client.people.pinBlocking(chain, replacing: true) }
    }
}

/// An entry signed with a seed that its owner has replaced.
struct Forgery {
    let victim: HonestPerson
    /// That of the seed.
    let generation: UInt32
    /// A tresor that the thief made; `nil` for the one of the history.
    var tresor: TresorID?
    var file: SealedFile?
}
