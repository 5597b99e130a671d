// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// A refused act tells its reason.
@Suite struct MisuseTests {
    private let world = World()
    private let anna: Session
    private let house: Session
    private let third: Session
    private let tresor: TresorID

    init() async throws {
        anna = try await world.quick("anna")
        house = try await world.quick("house")
        third = try await world.quick("third")
        try world.introduce(anna, house, third)
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], as: .owner)
    }

    private func reason(_ body: () async throws -> Void) async -> TresorError.Misuse? {
        guard case .usage(let misuse) = await failure(body) else { return nil }
        return misuse
    }

    private func share(_ people: Session..., role: Role, fromNow: Bool = false, notAfter: UInt64? = nil) -> Act {
        .share(with: people.map(\.identity.chain), role: role, fromNow: fromNow, notAfter: notAfter)
    }

    @Test func aHomeHasOneIdentity() async throws {
        let home = anna.home
        #expect(
            await reason {
                _ = try await anna.client.makeIdentity(
                    handle: Name(typed: "eve"), password: password("eve"), cost: .floor)
            } == .identityExists)
        #expect(anna.home == home)
        let client = world.client(MemoryHome())
        #expect(
            await reason {
                _ = try await client.makeIdentity(handle: .empty, password: password("eve"), cost: .floor)
            } == .nameEmpty)
        #expect(await reason { _ = try await anna.tresors.create(.empty) } == .nameEmpty)
    }

    @Test func theFounderStays() async throws {
        for act in [.revoke([anna.identity.user]), share(anna, role: .reader)] {
            #expect(await reason { try await house.tresors.perform(act, on: tresor) } == .founder)
        }
        try await anna.tresors.perform(.leave, on: tresor)
        _ = try await house.client.logs.state(of: tresor)
        #expect(await reason { try await house.tresors.perform(share(anna, role: .reader), on: tresor) } == .founder)
        #expect(await reason { try await house.tresors.perform(.leave, on: tresor) } == .lastOwner)
    }

    @Test func membersChangeOneAtATime() async throws {
        try await anna.share(tresor, with: [third], fromNow: true)
        let acts: [(Act, TresorError.Misuse)] = [
            (share(third, role: .writer), .historyCannotChange),
            (share(house, role: .reader, fromNow: true), .historyCannotChange),
            (share(third, role: .owner, fromNow: true), .ownerWithoutHistory),
        ]
        for (act, misuse) in acts {
            #expect(await reason { try await anna.tresors.perform(act, on: tresor) } == misuse, "\(act)")
        }
        let fourth = try await world.quick("fourth")
        try world.introduce(anna, fourth)
        let mixed = share(house, fourth, role: .writer)
        #expect(await reason { try await anna.tresors.perform(mixed, on: tresor) } == .oneChangeAtATime)
    }

    @Test func aCancelledTaskEndsWithCancelled() async throws {
        let task = Task { [anna, tresor] in
            withUnsafeCurrentTask { $0?.cancel() }
            var source = MemorySource([UInt8](repeating: 1, count: 1000))
            var sink = MemorySink()
            return await failure {
                _ = try await anna.files.seal(
                    &source, to: &sink, record: .empty, type: Name(typed: "text/plain"), in: tresor)
            }
        }
        #expect(await task.value == .cancelled)
    }
}
