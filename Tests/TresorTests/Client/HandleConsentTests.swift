// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The consent of a person to a tresor through its handle: that it is theirs, and that the clock is right.
@Suite struct HandleConsentTests {
    private static let day: UInt64 = 86_400

    private let world = World()
    private let anna: Session
    private let house: Session
    private let plans: TresorHandle
    private let others: TresorHandle

    init() async throws {
        anna = try await world.quick("anna")
        house = try await world.quick("dr-house")
        try world.introduce(anna, house)
        plans = try await anna.create("plans")
        others = try await anna.create("others")
    }

    /// A home with the identity alone, as after a recovery.
    private func emptyHome(of person: Session) throws -> MemoryHome {
        let home = MemoryHome()
        try home.replace(.identity, with: try #require(person.home[.identity]))
        return home
    }

    /// The errors of the calls that believe the founder; `nil` where there is none.
    private func errors(_ tresor: TresorHandle, _ file: SealedFile) async -> [TresorError?] {
        [
            await failure { _ = try await tresor.open(file) },
            await failure { _ = try await tresor.seal([2]) },
            await failure { try await tresor.plan(.rotate).perform() },
        ]
    }

    @Test func A201_aConfirmedTresorIsMineInThisHome() async throws {
        let files = [try await plans.seal([1]), try await others.seal([1])]
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await renewed.renewal.finish().isEmpty)
        let home = try emptyHome(of: renewed)
        let fresh = world.session(of: renewed, home: home)
        let (mine, unconfirmed) = (fresh.tresor(plans.id), fresh.tresor(others.id))
        let count = try await log(plans.id, in: world.store).count
        let refused: [TresorError?] = [.unverified, .unverified, .unverified]
        #expect(await errors(mine, files[0]) == refused)
        #expect(try await log(plans.id, in: world.store).count == count)
        try await mine.confirmMine()
        #expect(await errors(mine, files[0]) == [nil, nil, nil])
        #expect(try await log(plans.id, in: world.store).count == count + 1)
        #expect(await errors(unconfirmed, files[1]) == refused)
        // The home remembers it.
        let later = world.session(of: renewed, home: home)
        #expect(await errors(later.tresor(plans.id), files[0]) == [nil, nil, nil])
        #expect(await errors(later.tresor(others.id), files[1]) == refused)
    }

    @Test func A201_whatIsNotMineIsNotConfirmed() async throws {
        try await anna.share(plans.id, with: [house], as: .owner)
        _ = try await house.tresor(plans.id).name()
        let home = house.home
        #expect(await failure { try await house.tresor(plans.id).confirmMine() } == .usage(.notFounder))
        #expect(house.home == home)
        let unknown = anna.tresor(TresorID(try anyDigest()))
        #expect(await failure { try await unknown.confirmMine() } == .notFound)
        // A home from before a renewal: the log has newer keys of this person.
        let stale = try #require(anna.client.home as? MemoryHome).copy()
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        #expect(try await renewed.renewal.finish().isEmpty)
        let old = world.session(of: anna, home: stale)
        _ = try await old.tresor(plans.id).log()
        let marks = stale.contents[.marks]
        #expect(await failure { try await old.tresor(plans.id).confirmMine() } == .forked)
        #expect(stale.contents[.marks] == marks)
    }

    /// The errors of the calls of an owner that judge the clock; `nil` where there is none.
    private func clockErrors(_ tresor: TresorHandle) async -> [TresorError?] {
        [
            await failure { _ = try await tresor.seal([1]) },
            await failure { _ = try await tresor.seal([NamedContent([1], type: .empty)]) },
            await failure { _ = try await tresor.plan(.rotate) },
        ]
    }

    @Test func A206_anAcceptedClockCountsForThisSessionAndThisTresor() async throws {
        let doctor = try await anna.people.person(house.user)
        let end = world.clock.now + 500 * Self.day
        for tresor in [plans, others] { try await anna.share(tresor.id, with: [house], notAfter: end) }
        let file = try await plans.seal([7])
        world.clock.now += 64 * 365 * Self.day
        let refused = [TresorError?](repeating: .failed(.clock), count: 3)
        #expect(await clockErrors(plans) == refused)
        #expect(await failure { try await plans.share(with: doctor) } == .failed(.clock))
        await plans.acceptClock()
        #expect(await clockErrors(plans) == [nil, nil, nil])
        #expect(await clockErrors(others) == refused)
        #expect(await clockErrors(world.session(of: anna).tresor(plans.id)) == refused)
        // No access ends by such a date, and opening asks no clock.
        try await plans.plan(.rotate).perform()
        #expect(try await plans.members().map(\.id).contains(house.user))
        #expect(try await house.tresor(plans.id).open(file).content == [7])
        try await plans.share(with: doctor)
        #expect(try await plans.members().first { $0.id == house.user }?.member.notAfter == nil)
    }
}
