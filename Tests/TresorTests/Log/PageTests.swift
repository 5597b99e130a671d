// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Many entries at once are validated as they are one by one.
@Suite struct PageTests {
    private struct Verdict: Equatable {
        let error: TresorError?
        let rule: Rule?
        let head: Head?
        let memberCount: Int?
    }

    private func oneByOne(_ entries: [[UInt8]], _ tresor: TresorID) -> Verdict {
        verdict(tresor) { fold throws(TresorError) in for entry in entries { try fold.apply(entry) } }
    }

    private func inPages(_ entries: [[UInt8]], _ tresor: TresorID, of count: Int) -> Verdict {
        verdict(tresor) { fold throws(TresorError) in
            for start in stride(from: 0, to: entries.count, by: count) {
                try fold.apply(Array(entries[start..<min(start + count, entries.count)]))
            }
        }
    }

    private func verdict(_ tresor: TresorID, _ body: (inout Fold) throws(TresorError) -> Void) -> Verdict {
        var fold = Fold(tresor: tresor)
        var failure: TresorError?
        do throws(TresorError) {
            try body(&fold)
        } catch {
            failure = error
        }
        return Verdict(
            error: failure, rule: fold.brokenRule, head: fold.state?.head, memberCount: fold.state?.members.count)
    }

    /// Authors who come, act, renew their keys and go, all within one page.
    private func history() throws -> (chronicle: Chronicle, people: [Identity]) {
        let anna = try identity("anna")
        let writer = try identity("writer")
        let (renewed, _) = try writer.renewCard(time: 1_777_730_500)
        var chronicle = try Chronicle(founder: anna)
        for _ in 0..<20 { try chronicle.add(.rename(RenameBody(try Chronicle.anyName())), by: anna) }
        try chronicle.admit(writer, as: .owner)
        for _ in 0..<20 { try chronicle.add(.rename(RenameBody(try Chronicle.anyName())), by: writer) }
        try chronicle.add(.renew(RenewBody(renewed.chain.newest)), by: renewed, generation: 0)
        try chronicle.add(.epoch(EpochBody(try chronicle.nextEpoch())), by: renewed)
        for _ in 0..<30 { try chronicle.add(.rename(RenameBody(try Chronicle.anyName())), by: renewed) }
        try chronicle.add(
            .remove(RemoveBody(users: [writer.user], epoch: try chronicle.nextEpoch())), by: anna)
        for _ in 0..<30 { try chronicle.add(.rename(RenameBody(try Chronicle.anyName())), by: anna) }
        return (chronicle, [anna, writer, renewed])
    }

    @Test func aValidLogGivesOneStateInPagesOfAnySize() throws {
        let (chronicle, _) = try history()
        let expected = oneByOne(chronicle.entries, chronicle.tresor)
        #expect(expected.error == nil)
        for count in [1, 2, 3, 31, 32, 33, 64, 1000] {
            #expect(inPages(chronicle.entries, chronicle.tresor, of: count) == expected, "\(count)")
        }
        #expect(try Fold.state(of: chronicle.entries, tresor: chronicle.tresor).head == expected.head)
    }

    @Test func A3_whatIsRefusedOneByOneIsRefusedInPages() throws {
        let (chronicle, people) = try history()
        let entries = chronicle.entries
        var damaged: [[[UInt8]]] = []
        for index in [0, 1, 20, 21, 22, 41, 42, 43, 73, 74, 75, entries.count - 1] {
            for place in [8, 60, 100, entries[index].count - 1] {
                var copy = entries
                copy[index][place] ^= 1
                damaged.append(copy)
            }
            var shorter = entries
            shorter.remove(at: index)
            damaged.append(shorter)
            var twice = entries
            twice.insert(entries[index], at: index)
            damaged.append(twice)
            if index > 0 {
                var swapped = entries
                swapped.swapAt(index, index - 1)
                damaged.append(swapped)
            }
        }
        // Signed with the foreseen key by a person who has left by then or was never added.
        for person in people {
            let late = try chronicle.entry(
                .rename(RenameBody(try Chronicle.anyName())), by: person, generation: person.generation)
            damaged.append(entries + [late.bytes])
        }
        damaged.append([[], []])
        for entries in damaged {
            let expected = oneByOne(entries, chronicle.tresor)
            for count in [2, 32, 1000] { #expect(inPages(entries, chronicle.tresor, of: count) == expected) }
        }
    }

    @Test func coresComputeInOrderAndFailWithTheFirstFailure() throws {
        let squares = try Cores.map(1000, grain: 7) { range in range.map { $0 * $0 } }
        #expect(squares == (0..<1000).map { $0 * $0 })
        #expect(try Cores.map(0, grain: 7) { range in range.map { $0 } }.isEmpty)
        #expect(throws: TresorError.forked) {
            _ = try Cores.map(1000, grain: 7) { (range) throws(TresorError) -> [Int] in
                if range.contains(500) { throw .forked }
                if range.contains(600) { throw .altered }
                return Array(range)
            }
        }
    }
}
