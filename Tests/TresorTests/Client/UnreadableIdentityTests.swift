// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// An unreadable identity file is not the same as none: the own user id is unknown then, and no person is called a
/// stranger for it.
@Suite struct UnreadableIdentityTests {
    private let world = World()
    private let place: String
    private let session: Session
    private let tresor: TresorID

    init() async throws {
        place = NSTemporaryDirectory() + "tresor-identity-\(UInt64.random(in: .min ... .max))"
        let client = world.client(DirectoryHome(data: place, state: place + "/state"))
        session = try await client.makeIdentity(handle: Name(typed: "anna"), password: password("anna"), cost: .floor)
        try await session.people.publishCard()
        tresor = try await session.tresors.create(Name(typed: "plans")).tresor
    }

    private func expose() throws {
        try #require(chmod(place + "/identity", 0o644) == 0)
    }

    @Test func anActSaysThatThePermissionsAreWrong() async throws {
        defer { try? FileManager.default.removeItem(atPath: place) }
        try expose()
        #expect(await failure { try await session.tresors.perform(.rotate, on: tresor) } == .failed(.permissions))
        let chain = session.identity.chain
        #expect(await failure { _ = try session.client.people.trustBlocking(in: chain) } == .failed(.permissions))
        #expect(await failure { _ = try await session.client.people.person(chain.user) } == .failed(.permissions))
        #expect(await failure { _ = try await session.client.people.lookup("anna") } == .failed(.permissions))
        #expect(await failure { _ = try session.client.cleanup.isPendingBlocking() } == .failed(.permissions))
        try #require(chmod(place + "/identity", 0o600) == 0)
        try await session.tresors.perform(.rotate, on: tresor)
    }

    @Test func nothingIsJudgedWithoutKnowingWhoReads() async throws {
        defer { try? FileManager.default.removeItem(atPath: place) }
        let file = try await session.seal("plan", in: tresor)
        let state = try await session.client.logs.state(of: tresor)
        try expose()
        #expect(await failure { _ = try session.client.trust.founderTrust(in: state) } == .failed(.permissions))
        #expect(await failure { _ = try await session.seal("plan", in: tresor) } == .failed(.permissions))
        #expect(await failure { _ = try await session.files.open(file) } == .failed(.permissions))
        let summaries = try await session.tresors.all()
        #expect(summaries.map(\.error) == [.failed(.permissions)] && summaries.map(\.founderTrust) == [nil])
        #expect(await failure { _ = try session.client.identityFileBlocking() } == .failed(.permissions))
    }

    /// Otherwise a tresor that names this person as founder would pass for one of another person.
    @Test func noLogIsRememberedWithoutKnowingWhoReads() async throws {
        defer { try? FileManager.default.removeItem(atPath: place) }
        let home = DirectoryHome(data: place, state: place + "/state")
        let client = world.client(home, asking: session.identity)
        try expose()
        #expect(await failure { _ = try await client.logs.state(of: tresor) } == .failed(.permissions))
        _ = try await client.logs.state(of: tresor, remembering: .no)
        let findings = try await client.audit.check()
        #expect(
            findings.filter { $0.level != .ok } == [Finding(subject: .identity, remark: .failed(.failed(.permissions)))]
        )
        try #require(unlink(place + "/identity") == 0)
        _ = try await client.logs.state(of: tresor)
    }

    @Test func checkNamesTheIdentityOnce() async throws {
        defer { try? FileManager.default.removeItem(atPath: place) }
        try expose()
        let findings = try await session.client.audit.check()
        #expect(
            findings.filter { $0.level != .ok } == [Finding(subject: .identity, remark: .failed(.failed(.permissions)))]
        )
        try FileManager.default.removeItem(atPath: place + "/identity")
        let without = try await session.client.audit.check()
        #expect(without.contains(Finding(subject: .identity, remark: .missing)))
        #expect(without.contains(Finding(subject: .tresor(tresor), remark: .ownerNotVerified)))
    }
}
