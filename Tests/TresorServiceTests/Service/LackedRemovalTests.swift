// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import Tresor
    @testable import TresorService

    /// The removals that a process keeps in memory: those that the logs of its database lack.
    @Suite(.overEveryEngine) struct LackedRemovalTests {
        /// A removal from a tresor that nobody else has, by the entry with number 4.
        private static func removal() throws -> Removal {
            Removal(
                tresor: TresorID(try #require(Hash256(try randomBytes(Hash256.byteCount)))), sequence: 4,
                people: [UInt8](repeating: 1, count: Removal.hashByteCount), time: 1, isOwn: false)
        }

        @Test func whatTheLogsHaveIsNotKept() async throws {
            let bench = try await Bench()
            let removals = try (0..<1_000).map { _ in try Self.removal() }
            let tresors = removals.map { SQLValue.digest($0.tresor.digest) }
            _ = try await bench.engine.write(
                tresors.map {
                    SQL(
                        """
                        INSERT INTO tresors (tresor, count, head, founder, bytes, deleted, changed)
                        VALUES ($1, 5, $1, $1, 0, NULL, 0)
                        """, [$0])
                })
            func keptCount() async throws -> Int {
                let service = try await bench.anotherService()
                defer { service.shutDown() }
                // The file may name them more than once.
                for _ in 0..<2 { try await service.apply(removals.map { .removal($0) }) }
                return service.lackedRemovalCount
            }
            #expect(try await keptCount() == 0)
            // A backup has no entry 4 of the first log, and nothing of the second. The third tresor was deleted.
            _ = try await bench.engine.write([
                SQL("UPDATE tresors SET count = 4 WHERE tresor = $1", [tresors[0]]),
                SQL("DELETE FROM tresors WHERE tresor = $1", [tresors[1]]),
                SQL("UPDATE tresors SET count = 4, deleted = 1 WHERE tresor = $1", [tresors[2]]),
            ])
            #expect(try await keptCount() == 2)
        }

        @Test func aRemovalIsKeptUntilTheLogHasItAgain() async throws {
            let restored = try await RestoredHousehold(to: 3)
            // Of several removals from a tresor the last one counts, wherever the file has it.
            let earlier = Removal(
                tresor: restored.house.tresor, sequence: 3, people: [UInt8](repeating: 1, count: Removal.hashByteCount),
                time: 1, isOwn: false)
            try await restored.service.apply([.removal(earlier)])
            #expect(restored.service.lackedRemovalCount == 1)
            let owner = try await restored.signer(restored.house.owner)
            #expect(try await owner.ask(restored.requests[3]).outcome == .done)
            #expect(restored.service.lackedRemovalCount == 1)
            #expect(try await owner.ask(restored.requests[4]).outcome == .done)
            #expect(restored.service.lackedRemovalCount == 0)
            let reply = try await restored.reply(.additive(.sample), by: restored.house.writer, behind: 5)
            #expect(reply == ServiceReply(OutcomeAnswer(.done)))
        }

        /// Another process may restore it: the next entry through this one tells.
        @Test func aRemovalThatAnotherProcessRestoredIsKeptNoLonger() async throws {
            let restored = try await RestoredHousehold(to: 3)
            let owner = try await restored.signer(restored.house.owner).at(restored.bench.service)
            for request in restored.requests[3...] { #expect(try await owner.ask(request).outcome == .done) }
            let reply = try await restored.reply(.additive(.sample), by: restored.house.writer, behind: 5)
            #expect(reply == ServiceReply(OutcomeAnswer(.done)))
            #expect(restored.service.lackedRemovalCount == 0)
        }

        /// `check --repair` of the owner brings back what their home has kept.
        @Test func theOwnersHomeRestoresARemoval() async throws {
            let restored = try await RestoredHousehold(to: 3)
            let (house, service) = (restored.house, restored.bench.service)
            _ = try await house.state()
            try await service.apply(restored.revocations)
            #expect(service.lackedRemovalCount == 1)
            let owner = ServiceStage(restored.bench).again(house.owner)
            #expect(try await owner.audit.restoreEntries(of: house.tresor) == 2)
            #expect(service.lackedRemovalCount == 0)
        }
    }
#endif
