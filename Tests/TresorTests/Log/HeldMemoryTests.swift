// SPDX-License-Identifier: Apache-2.0

import CProbe
import TestSupport
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The memory that states hold is that which is counted.
@Suite struct HeldMemoryTests {
    private let anna: Identity
    private let log: Chronicle

    init() throws {
        anna = try identity("anna")
        log = try Chronicle(founder: anna)
    }

    private func growth(_ change: (inout LogState) -> Void) -> Int {
        HeldMemory.byteCount(of: changed(log.state, change)) - HeldMemory.byteCount(of: log.state)
    }

    @Test func A239_aChainCountsByItsCards() throws {
        var person = anna
        for _ in 0..<7 { person = try person.renewCard(time: 1).identity }
        let card = person.chain.newest
        let grown = growth { $0.chains[anna.user] = person.chain }
        #expect(grown >= 7 * (card.bytes.count + card.kemKey.bytes.count))
        #expect(grown <= 7 * 2 * (card.bytes.count + card.kemKey.bytes.count))
    }

    @Test func A239_everythingElseThatGrowsCounts() throws {
        let epoch = try Chronicle.epoch(2, links: 3)
        let changes = try #require(log.state.changes[anna.user])
        let generations = try #require(log.state.generations[anna.user])
        let member = try #require(log.state.members[anna.user])
        let other = UserID(try anyDigest())
        let parts: [(LogState) -> LogState] = [
            { changed($0) { $0.changes[anna.user] = changes + changes } },
            { changed($0) { $0.generations[anna.user] = generations + generations } },
            { changed($0) { $0.epochs.append(LogState.EpochRecord(epoch: epoch, sequence: 1)) } },
            { changed($0) { $0.commitments.insert(.zero) } }, { changed($0) { $0.hashes.append(.zero) } },
            { changed($0) { $0.members[other] = member } }, { changed($0) { $0.waiting[other] = member } },
            { changed($0) { $0.lastTimes[other] = 1 } },
            { changed($0) { $0.rekeyMarks.append(LogState.RekeyMark(sequence: 1, isSet: true)) } },
        ]
        for (number, part) in parts.enumerated() {
            #expect(HeldMemory.byteCount(of: part(log.state)) > HeldMemory.byteCount(of: log.state), "\(number)")
        }
        let link = growth { $0.epochs.append(LogState.EpochRecord(epoch: epoch, sequence: 1)) }
        #expect(link >= epoch.backLink.count)
    }

    private func changed(_ state: LogState, _ change: (inout LogState) -> Void) -> LogState {
        var state = state
        change(&state)
        return state
    }

    /// The process grows by what is counted, within a third.
    @Test(.longRun) func A239_theProcessGrowsByWhatIsCounted() throws {
        var person = anna
        for _ in 0..<255 { person = try person.renewCard(time: 1).identity }
        let bytes = person.chain.bytes
        var states: [LogState] = []
        let before = probe_used_memory()
        try #require(before > 0)
        var counted = 0
        for _ in 0..<60 {
            var state = log.state
            state.chains[anna.user] = try CardChain(bytes, knowing: bytes)
            counted += HeldMemory.byteCount(of: state)
            states.append(state)
        }
        // Not the pages of the process: memory that earlier tests gave back would serve for a part.
        let grown = Double(probe_used_memory()) - Double(before)
        #expect(states.count == 60)
        #expect(grown / Double(counted) < 1.33 && grown / Double(counted) > 0.67, "\(grown), counted \(counted)")
    }
}
