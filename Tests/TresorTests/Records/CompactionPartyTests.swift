// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// The people who are no owner, and what a compaction is to them (SPEC §19.5, §19.7).
@Suite struct CompactionPartyTests {
    private let scene: CompactionTests.Scene

    init() async throws {
        scene = try await CompactionTests.Scene()
        try await scene.fill()
    }

    /// Expects that a person is refused by the log alone: nothing else is asked for, and nothing is sent.
    private func expectRefusal(
        _ expected: TresorError, of person: Session, at source: SourceLocation = #_sourceLocation
    ) async {
        let calls = scene.store.calls.count
        for isDryRun in [false, true] {
            let error = await failure {
                _ = try await person.records(in: scene.tresor).compact(isDryRun: isDryRun)
            }
            #expect(error == expected, sourceLocation: source)
        }
        let made = Set(scene.store.calls.dropFirst(calls).map(\.name))
        #expect(made == ["entries"], sourceLocation: source)
    }

    @Test func aWriterAndAReaderAreRefusedBeforeAnythingIsSentOrFetched() async throws {
        try await scene.anna.share(scene.tresor, with: [scene.late])
        let writers = scene.house.records(in: scene.tresor)
        try await writers.put("e", "e1".utf8)
        let count = try await scene.state().entryCount
        for person in [scene.house, scene.late] { await expectRefusal(.noAccess, of: person) }
        #expect(try await writers.unsent() == ["e"])
        #expect(try await scene.state().entryCount == count)
        let home = try #require(scene.late.client.home as? MemoryHome)
        #expect(home.read(.records(scene.tresor, part: 0)) == nil)
    }

    @Test func whoWaitsIsToldSo() async throws {
        let clinic = try await approver()
        try await scene.anna.share(scene.tresor, with: [scene.late], as: .owner)
        await expectRefusal(.waiting, of: scene.late)
        let grant = try #require(PendingGrant.all(in: try await scene.state()).first)
        try await Decisions(session: clinic).decide([.approve(grant)], on: scene.tresor)
        #expect(try await scene.late.records(in: scene.tresor).compact().keptCount == 4)
    }

    /// The operator of a service has all that a store has, and an approver the approval key of every epoch (SPEC §9.11).
    @Test func A133_anApproverAndAnOperatorOpenNoVolumeAndCompactNothing() async throws {
        let (clinic, stranger) = (try await approver(), try await scene.world.quick("operator"))
        // While somebody waits, the store has wraps for the approver.
        try await scene.anna.share(scene.tresor, with: [scene.late], as: .owner)
        let sequence = try #require(try await scene.records.compact().checkpoint)
        let state = try await scene.state()
        let entries = try await log(scene.tresor, in: scene.store)
        let volume = try #require(try await scene.blobs()[sequence]?.first)
        let bytes = try #require(try await scene.store.blobs([volume.hash], in: scene.tresor).first)
        var wraps: [[UInt8]] = []
        for person in [scene.anna, scene.house, scene.late, clinic] {
            wraps += try await scene.store.wraps(of: person.user, in: scene.tresor, epoch: nil)
        }
        let checkpoint = try Entry(entries[Int(sequence)])
        func opens(_ people: Session...) throws -> Bool {
            let plunder = try Plunder(of: people.map(\.identity), wraps: wraps, log: entries)
            return plunder.keys.values.joined().contains { keys in
                (try? Volume.openVolume(bytes, at: 0, of: checkpoint, in: state, with: keys)) != nil
            }
        }
        #expect(try opens(scene.anna))
        #expect(try !opens() && !opens(clinic, stranger))
        let body = CheckpointBody(upto: state.head.sequence, epoch: state.epoch, volumes: [volume])
        for person in [clinic, stranger] {
            await expectRefusal(.noAccess, of: person)
            // Nor do members take a checkpoint of theirs.
            let entry = try Entry(
                tresor: scene.tresor, sequence: state.head.sequence + 1, previous: state.head.hash,
                author: person.identity, time: scene.world.clock.now, body: .checkpoint(body))
            var fold = Fold(state: state)
            #expect(error { try fold.apply(entry.bytes) } == .noAccess)
        }
    }

    /// Names an approver of whoever is added from now on.
    private func approver() async throws -> Session {
        let clinic = try await scene.world.quick("clinic")
        try scene.world.introduce(scene.anna, scene.house, scene.late, clinic)
        try await scene.anna.tresors.perform(.setApprovers([clinic.identity.chain]), on: scene.tresor)
        try await scene.anna.tresors.perform(.rotate, on: scene.tresor)
        return clinic
    }
}
