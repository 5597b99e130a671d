// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The chain of entries, and acts that make no sense.
@Suite struct ChainTests {
    /// Twenty entries of all bodies.
    private func twenty() throws -> Chronicle {
        let anna = try identity("anna")
        var log = try Chronicle(founder: anna)
        let people = try (0..<6).map { try identity("person-\($0)") }
        for person in people { try log.admit(person, as: .writer) }
        try log.add(.role(RoleBody(user: people[0].user, role: .reader, notAfter: nil)), by: anna)
        try log.add(.remove(RemoveBody(users: [people[1].user], epoch: log.nextEpoch())), by: anna)
        try log.add(.leave, by: people[2])
        try log.add(.epoch(EpochBody(log.nextEpoch())), by: people[3])
        try log.add(.renew(RenewBody(people[4].renewCard(time: 5).identity.chain.newest)), by: people[4])
        for _ in log.entries.count..<20 { try log.add(.rename(RenameBody(Chronicle.anyName())), by: anna) }
        return log
    }

    private func failure(_ entries: [[UInt8]], _ log: Chronicle) -> TresorError? {
        error { _ = try Fold.state(of: entries, tresor: log.tresor) }
    }

    @Test func A56_noEntryIsDroppedRepeatedMovedOrInserted() throws {
        let log = try twenty()
        let entries = log.entries
        #expect(entries.count == 20)
        #expect(failure(entries, log) == nil)
        let last = entries.indices.last ?? 0
        for index in entries.indices {
            if index != last {
                #expect(failure(entries.indices.filter { $0 != index }.map { entries[$0] }, log) == .altered)
            }
            for place in entries.indices where place > index {
                var swapped = entries
                swapped.swapAt(index, place)
                #expect(failure(swapped, log) == .altered)
            }
            for place in 0...entries.count where place != index {
                var doubled = entries
                doubled.insert(entries[index], at: place)
                #expect(failure(doubled, log) == .altered)
            }
        }
        #expect(failure([], log) == .altered)
    }

    @Test func A56_entriesOfOtherLogsDoNotFit() throws {
        let anna = try identity("anna")
        var log = try Chronicle(founder: anna)
        var other = try Chronicle(founder: anna)
        for _ in 0..<4 {
            try log.add(.rename(RenameBody(Chronicle.anyName())), by: anna)
            try other.add(.rename(RenameBody(Chronicle.anyName())), by: anna)
        }
        for index in log.entries.indices {
            var spliced = log.entries
            spliced[index] = other.entries[index]
            #expect(failure(spliced, log) == .altered)
            #expect(failure(Array(log.entries[..<index]) + other.entries[index...], log) == .altered)
        }
    }

    @Test func A70_whatThisReleaseDoesNotKnowIsNeverSkipped() throws {
        let anna = try identity("anna")
        let bob = try identity("bob")
        let log = try Chronicle(founder: anna)
        let leave = try log.entry(.leave, by: anna).signed
        let head = Array(leave.dropLast(6))
        for code: UInt16 in [0, 11, 12, 14, 127] {
            for body in [[], [UInt8](repeating: 1, count: 40)] {
                let signed = head + bigEndianBytes(code) + bigEndianBytes(UInt32(body.count)) + body
                #expect(log.verdict(try anna.entry(signed)) == .broken(.r1))
            }
        }
        // From 128 on nothing that a body says changes the state.
        for code: UInt16 in [128, 255, 65535] {
            let signed = head + bigEndianBytes(code) + bigEndianBytes(UInt32(40)) + [UInt8](repeating: 1, count: 40)
            #expect(log.verdict(try anna.entry(signed)) == .valid)
        }
        let bodies: [EntryBody] = [
            try Chronicle.grant([bob.chain], .reader),
            .remove(RemoveBody(users: [bob.user], epoch: try log.nextEpoch())),
            .role(RoleBody(user: bob.user, role: .reader, notAfter: nil)),
        ]
        for body in bodies {
            var signed = try log.entry(body, by: anna).signed
            let place = if case .role = body { head.count + 6 } else { head.count + 8 }
            #expect(signed[place] == 1)
            for kind: UInt8 in [0, 2, 255] {
                signed[place] = kind
                #expect(log.verdict(try anna.entry(signed)) == .broken(.r1))
            }
        }
    }

    /// Each body under the code of every other, signed anew: it is never taken for what it is not.
    @Test func A13_everyBodyUnderTheCodeOfEveryOther() throws {
        let anna = try identity("anna")
        let bob = try identity("bob")
        let log = try Chronicle(founder: anna)
        let next = try anna.renewCard(time: 5).identity.chain.newest
        let bodies: [EntryBody] = [
            try Chronicle.grant([bob.chain], .reader), try Chronicle.grant([bob.chain], .writer, fromNow: 2),
            .remove(RemoveBody(users: [bob.user], epoch: try log.nextEpoch())), .leave,
            .renew(RenewBody(next)),
            .epoch(EpochBody(try log.nextEpoch())),
            .role(RoleBody(user: bob.user, role: .reader, notAfter: nil)),
            .rename(RenameBody(try Chronicle.anyName())),
        ]
        let entries = try bodies.map { try log.entry($0, by: anna).signed } + [try Entry(log.entries[0]).signed]
        let place = 126..<128
        let codes = Set(entries.map { Array($0[place]) })
        #expect(codes.count == 8)
        for signed in entries {
            for code in codes where signed[place] != code[...] {
                let shown = signed[..<place.lowerBound] + code + signed[place.upperBound...]
                let error = error { _ = try Entry(anna.entry(Array(shown))).body }
                #expect(error == .altered || error == .unsupported, "\(signed[place]) as \(code)")
            }
        }
    }

    @Test func A71_timesDecideNothing() throws {
        let anna = try identity("anna")
        let bob = try identity("bob")
        let eve = try identity("eve")
        let schedules: [[UInt64]] = [
            [5, 5, 5, 5], [Format.latestTime, 0, Format.latestTime, 0], [9, 8, 7, 6], [0, 0, 0, 0],
        ]
        for times in schedules {
            var log = try Chronicle(founder: anna)
            log.time = times[0]
            try log.admit(bob, as: .reader)
            log.time = times[1]
            try log.admit(eve, as: .writer)
            log.time = times[2]
            try log.add(.remove(RemoveBody(users: [bob.user], epoch: log.nextEpoch())), by: anna)
            log.time = times[3]
            try log.add(.leave, by: eve)
            #expect(log.state.members.keys.sorted() == [anna.user])
            #expect(log.state.epoch == 2)
            #expect(log.state.isRekeyPending)
        }
    }

    @Test func A73_anEntryOverOneMiBIsAltered() throws {
        let anna = try identity("anna")
        let log = try Chronicle(founder: anna)
        let body = [UInt8](repeating: 0, count: Entry.maximumByteCount)
        let head = Array(try log.entry(.leave, by: anna).signed.dropLast(4))
        let signed = head + bigEndianBytes(UInt32(body.count)) + body
        #expect(log.verdict(try anna.entry(signed)) == .broken(.r2))
    }
}
