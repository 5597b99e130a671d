// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Opening through the handle of a tresor demands that tresor.
@Suite struct TresorHandleTests {
    private let world = World()
    private let anna: Session
    private let house: Session
    private let plans: TresorHandle

    init() async throws {
        anna = try await world.quick("anna")
        house = try await world.quick("dr-house")
        try world.introduce(anna, house)
        plans = try await anna.create("interventions")
    }

    private func person(_ session: Session, to other: Session) async throws -> Person {
        try await other.client.people.person(session.user)
    }

    @Test func whatIsSealedIsOpened() async throws {
        let plan = Data(#"{"pain":3}"#.utf8)
        let sealed = try await plans.seal(plan, record: "knee", type: "application/json")
        let opened = try await plans.open(sealed, record: "knee", author: anna.user)
        #expect(opened.data == plan)
        #expect(opened.type.text == "application/json")
        #expect(opened.author.date == Date(timeIntervalSince1970: TimeInterval(world.clock.now)))
        #expect(try await plans.open(SealedFile(sealed.data)).content == Array(plan))
        #expect(try await plans.open(plans.seal("pain".utf8)).content == Array("pain".utf8))
        #expect(try await plans.open(plans.seal([1, 2])).content == [1, 2])
    }

    @Test func A93_aFileOfAnotherTresorIsAltered() async throws {
        let other = try await anna.create("other")
        let sealed = try await other.seal([1])
        #expect(await failure { _ = try await plans.open(sealed) } == .altered)
        #expect(await failure { _ = try await plans.reseal(sealed) } == .altered)
        #expect(try await other.open(sealed).content == [1])
        #expect(try await anna.files.open(sealed, expecting: .anyTresor).tresor == other.id)
        let together = await plans.open([
            ExpectedFile(sealed, expecting: .anyTresor),
            ExpectedFile(sealed, expecting: Expectations(tresor: other.id)),
            ExpectedFile(try await plans.seal([2]), expecting: .anyTresor),
        ])
        #expect(together.map { try? $0.get().content } == [nil, nil, [2]])
        #expect(together[0] == .failure(.altered) && together[1] == .failure(.altered))
    }

    @Test func A93_aFileOfAnotherRecordOrAuthorIsAltered() async throws {
        try await plans.share(with: person(house, to: anna), as: .writer)
        let mine = try await plans.seal([1], record: "one")
        let theirs = try await house.tresor(plans.id).seal([2], record: "one")
        #expect(await failure { _ = try await plans.open(mine, record: "two") } == .altered)
        #expect(await failure { _ = try await plans.open(mine, record: "") } == .altered)
        #expect(await failure { _ = try await plans.open(mine, record: "\u{202e}") } == .altered)
        #expect(await failure { _ = try await plans.open(theirs, record: "one", author: anna.user) } == .altered)
        #expect(try await plans.open(theirs, record: "one", author: house.user).content == [2])
    }

    @Test func eachFileOfABatchHasItsOwnExpectations() async throws {
        let contents = try (0..<40).map { try NamedContent(Data([UInt8($0)]), record: "record \($0)") }
        let files = try await plans.seal(contents)
        var expected: [ExpectedFile] = []
        for (number, file) in files.enumerated() {
            let record = number == 7 ? "record 8" : "record \(number)"
            let author = number == 9 ? house.user : anna.user
            expected.append(ExpectedFile(file, expecting: try plans.expecting(record: record, author: author)))
        }
        expected[11] = ExpectedFile(files[11], expecting: Expectations(tresor: plans.id, acceptingForked: true))
        let opened = await plans.open(expected)
        for (number, result) in opened.enumerated() {
            if number == 7 || number == 9 {
                #expect(result == .failure(.altered), "\(number)")
            } else {
                #expect(try result.get().content == [UInt8(number)])
            }
        }
    }

    /// The loose form believes any tresor, and makes every other check.
    @Test func aFileOfAnyTresorIsOpened() async throws {
        let other = try await anna.create("other")
        for (tresor, content) in [(plans, UInt8(1)), (other, 2)] {
            let opened = try await anna.openFromAnyTresor(tresor.seal([content], record: "one"))
            #expect(opened.content == [content] && opened.tresor == tresor.id)
        }
        let theirs = try await house.create("theirs")
        let file = try await theirs.seal([3])
        #expect(await failure { _ = try await anna.openFromAnyTresor(file) } == .noAccess)
        try await theirs.share(with: person(anna, to: house))
        #expect(try await anna.openFromAnyTresor(file).tresor == theirs.id)
        let stranger = try await world.quick("stranger")
        try stranger.client.people.pinBlocking(anna.identity.chain)
        let trap = try await stranger.create("interventions")
        try await trap.share(with: person(anna, to: stranger))
        let unasked = try await trap.seal([4])
        #expect(await failure { _ = try await anna.openFromAnyTresor(unasked) } == .unverified)
        let damaged = try SealedFile(flipped(file.bytes, file.bytes.count * 8 - 1))
        #expect(await failure { _ = try await anna.openFromAnyTresor(damaged) } == .altered)
    }

    @Test func tresorsAreFoundByWhatTheyAreCalled() async throws {
        #expect(try await anna.tresor("interventions").id == plans.id)
        #expect(try await anna.tresor("anna/interventions").id == plans.id)
        #expect(try await anna.tresor(plans.id.description).id == plans.id)
        #expect(await failure { _ = try await anna.tresor("nothing") } == .notFound)
        let same = try await house.create("interventions")
        try await same.share(with: person(anna, to: house))
        #expect(try await anna.tresor("dr-house/interventions").id == same.id)
        #expect(await failure { _ = try await anna.tresor("interventions") } == .usage(.ambiguous))
        #expect(await failure { _ = try await anna.create("interventions") } == .usage(.tresorExists))
    }

    @Test func membersAreSharedWithAndRevoked() async throws {
        let end = Date(timeIntervalSince1970: TimeInterval(world.clock.now) + 1000.5)
        let doctor = try await person(house, to: anna)
        try await plans.share(with: doctor, history: .fromNow, until: end)
        let members = try await plans.members()
        #expect(Set(members.map(\.id)) == [anna.user, house.user])
        let member = try #require(members.first { $0.id == house.user })
        #expect(member.person.trust == .verified && member.person.handle == house.handle)
        #expect(member.end == Date(timeIntervalSince1970: TimeInterval(world.clock.now) + 1000))
        #expect(member.role == .reader && member.history == .fromNow && member.member.history == .from(epoch: 2))
        #expect(members.first { $0.id == anna.user }?.history == .all)
        try await plans.revoke(doctor)
        #expect(try await plans.members().map(\.id) == [anna.user])
        let log = try await plans.log()
        #expect(log.map(\.name) == ["genesis", "grant", "remove"])
        #expect(log.map(\.effect.admitted) == [[anna.user], [house.user], []])
        #expect(log.map(\.effect.dismissed) == [[], [], [house.user]])
        #expect(log.map(\.effect.epoch) == [1, 2, 3])
        #expect(try await plans.name() == Name(text: "interventions"))
        #expect(try await plans.state().epoch == 3)
    }

    @Test func aDateThatNoEntryCanHoldIsRefused() async throws {
        let doctor = try await person(house, to: anna)
        for end in [Date.distantPast, Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1e13)] {
            #expect(await failure { try await plans.share(with: doctor, until: end) } == .usage(.time))
        }
        try await plans.share(with: doctor, until: Date(timeIntervalSince1970: TimeInterval(Format.latestTime)))
        #expect(try await plans.members().contains { $0.member.notAfter == Format.latestTime })
    }
}
