// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import Tresor
    @testable import TresorRemote
    @testable import TresorService

    /// People before a service whose quota is used up: what was refused takes no room, and room is freed.
    @Suite struct UsedUpQuotaTests {
        private func stage(_ byteCount: UInt64) async throws -> (CommandStage<SwitchedService>, Bench) {
            let bench = try await Bench(.open)
            let stage = try CommandStage(before: SwitchedService(bench), clock: bench.clock)
            try await stage.people()
            try await stage.handler.change { $0.quotas.bytes = byteCount }
            try await stage.run(0, as: "anna", "create", "x")
            for name in ["c1", "c2", "c3", "c4"] { try stage.write(String(repeating: name, count: 30_000), to: name) }
            try stage.write(String(repeating: "k", count: 260_000), to: "k260")
            try stage.write("tiny", to: "tiny")
            return (stage, bench)
        }

        private func orphanCount(_ bench: Bench) async throws -> Int {
            try await bench.engine.read(SQL("SELECT hash FROM blob_orphans")).count
        }

        @Test func aRefusedUploadTakesNoRoom() async throws {
            let (stage, bench) = try await stage(300_000)
            try await stage.run(0, as: "anna", "put", "-t", "x", "@c1")
            let refused = try await stage.messages(18, as: "anna", "put", "-t", "x", "@k260")
            #expect(refused.contains("has no room left: not enough is left for this: you have "), "\(refused)")
            #expect(refused.contains(" of 300000 bytes, and x has "), "\(refused)")
            #expect(refused.contains(/hint: tresor[^\n]* compact -t x\n/), "\(refused)")
            #expect(refused.contains(/hint: tresor[^\n]* sync -t x --drop\n/), "\(refused)")
            #expect(try await orphanCount(bench) == 0)
            // A small change is not held up, and its command succeeds.
            let said = try await stage.messages(0, as: "anna", "put", "-t", "x", "@tiny")
            #expect(said.contains("1 record not sent to x: "), "\(said)")
            #expect(said.contains("there was none when it was last tried"), "\(said)")
            #expect(said.contains(/hint: tresor[^\n]* sync -t x\n/), "\(said)")
            let list = try await stage.run(0, as: "anna", "records", "-t", "x")
            #expect(list.contains(/- .* unsent +k260/) && !list.contains(/unsent +tiny/), "\(list)")
            // The change that has no room may be given up, by another one or for good.
            try await stage.run(0, as: "anna", "put", "-t", "x", "--delete", "k260")
            try await stage.run(0, as: "anna", "sync", "-t", "x")
            try await stage.run(18, as: "anna", "put", "-t", "x", "@k260")
            try await stage.run(18, as: "anna", "sync", "-t", "x")
            // Where no tresor is named, only what was left is thrown away.
            try await stage.run(18, as: "anna", "sync", "--drop", "--yes")
            #expect(try await stage.run(0, as: "anna", "records", "-t", "x").contains("k260"))
            let dropped = try await stage.run(0, as: "anna", "sync", "-t", "x", "--drop", "--yes")
            #expect(dropped.contains(/x +0 +0 +ok/), "\(dropped)")
            #expect(try await !stage.run(0, as: "anna", "records", "-t", "x").contains("k260"))
            #expect(try await bench.service.check().isClean)
        }

        /// Where smaller changes went, it is said how many did not.
        @Test func whatWasSentBesideALargeChangeIsNotCalledUnsent() async throws {
            let (stage, _) = try await stage(300_000)
            try await stage.run(0, as: "anna", "put", "-t", "x", "@c1")
            for name in ["k260", "tiny"] { try await stage.run(0, as: "anna", "put", "-t", "x", "--later", "@\(name)") }
            let said = try await stage.messages(18, as: "anna", "sync", "-t", "x")
            #expect(said.contains("x: 1 unsent change stays in your home: "), "\(said)")
            #expect(!said.contains("nothing was sent"), "\(said)")
            let again = try await stage.messages(18, as: "anna", "sync", "-t", "x")
            #expect(again.contains("nothing was sent, and the changes stay in your home: "), "\(again)")
        }

        /// Smaller changes go first, and the one that was made just now is not the last that goes.
        @Test func aChangeIsNamedByItsOwnRevision() async throws {
            let (stage, _) = try await stage(300_000)
            for name in ["k260", "c1"] { try await stage.run(0, as: "anna", "put", "-t", "x", "--later", "@\(name)") }
            let said = try await stage.messages(0, as: "anna", "put", "-t", "x", "@tiny")
            #expect(said.contains("1 record not sent to x: "), "\(said)")
            let list = try await stage.run(0, as: "anna", "records", "-t", "x")
            let lines = list.split(separator: "\n").map { $0.split(separator: " ") }
            let line = lines.first { $0.last == "tiny" }
            let revision = try #require(line?.first)
            #expect(said.contains("1 record in x, revision \(revision)\n"), "\(said)\(list)")
            let other = lines.first { $0.last == "c1" }?.first
            #expect(other != nil && other != "-" && other != revision, "\(list)")
        }

        /// Sets too large for one pack, which are tried one by one: what is behind them is sent, and not thrown away.
        @Test func whatHasRoomBehindLargeSetsIsNotThrownAway() async throws {
            let (stage, bench) = try await stage(300_000)
            try await stage.run(0, as: "anna", "put", "-t", "x", "@tiny")
            let names = (0..<18).map { "m\($0)" }
            for name in names { try stage.write(String(repeating: "m", count: 60_000), to: name) }
            for set in [names.prefix(12), names.suffix(6)] {
                try await stage.run(0, as: "anna", ["put", "-t", "x", "--later"] + set.map { "@\($0)" })
            }
            try await stage.run(0, as: "anna", "put", "-t", "x", "--later", "--delete", "tiny")
            try await stage.run(0, as: "anna", "sync", "-t", "x", "--drop", "--yes")
            let list = try await stage.run(0, as: "anna", "records", "-t", "x")
            #expect(!list.contains("tiny") && !list.contains("unsent"), "\(list)")
            #expect(try await bench.service.check().isClean)
        }

        /// A compaction makes no room in a log.
        @Test func aFullLogNamesItsEntries() async throws {
            let (stage, _) = try await stage(300_000)
            try await stage.handler.change { $0.quotas.entries = 1 }
            let refused = try await stage.messages(18, as: "anna", "put", "-t", "x", "@tiny")
            #expect(refused.contains(/and x has [0-9]+ of 1 entries; ask its operator for more/), "\(refused)")
            #expect(!refused.contains("compact"), "\(refused)")
        }

        /// Three records and what was refused: one is deleted, the tresor is compacted, and the fourth has room.
        @Test func aDeletionAndACompactionMakeRoom() async throws {
            let (stage, bench) = try await stage(230_000)
            for name in ["c1", "c2", "c3"] { try await stage.run(0, as: "anna", "put", "-t", "x", "@\(name)") }
            try await stage.run(18, as: "anna", "put", "-t", "x", "@c4")
            let said = try await stage.messages(0, as: "anna", "put", "-t", "x", "--delete", "c1")
            #expect(said.contains("1 record not sent to x: "), "\(said)")
            try await stage.run(0, as: "anna", "compact", "-t", "x", "--yes")
            let table = try await stage.run(0, as: "anna", "sync", "-t", "x")
            #expect(table.contains(/x +0 +0 +ok/), "\(table)")
            let list = try await stage.run(0, as: "anna", "records", "-t", "x")
            #expect(list.contains("c4") && !list.contains("unsent") && !list.contains("c1"), "\(list)")
            #expect(try await bench.service.check().isClean)
        }

        /// A compaction without room is not the way to make some.
        @Test func aCompactionWithoutRoomNamesTheOperator() async throws {
            let (stage, _) = try await stage(230_000)
            for name in ["c1", "c2", "c3"] { try await stage.run(0, as: "anna", "put", "-t", "x", "@\(name)") }
            try await stage.handler.change { $0.quotas.bytes = 100_000 }
            let refused = try await stage.messages(18, as: "anna", "compact", "-t", "x", "--yes")
            #expect(refused.contains("; ask its operator for more"), "\(refused)")
            #expect(!refused.contains("delete records") && !refused.contains(" compact -t x"), "\(refused)")
        }

        /// The compaction is done, though nothing can be sent behind it.
        @Test func aCompactionIsDoneBeforeTheStoreIsAway() async throws {
            let (stage, _) = try await stage(230_000)
            for name in ["c1", "c2", "c3"] { try await stage.run(0, as: "anna", "put", "-t", "x", "@\(name)") }
            try await stage.run(18, as: "anna", "put", "-t", "x", "@c4")
            try await stage.run(0, as: "anna", "put", "-t", "x", "--delete", "c1")
            stage.handler.stop(behind: .deleteBlobs)
            let said = try await stage.messages(0, as: "anna", "compact", "-t", "x", "--yes")
            #expect(said.contains(/kept [0-9]+ versions of x in [0-9]+ volume/), "\(said)")
            #expect(said.contains("1 record not sent: the store"), "\(said)")
            #expect(said.contains(/hint: tresor[^\n]* sync -t x\n/), "\(said)")
        }

        /// An error that no later sync mends is a failure behind a compaction too, which is said to be done.
        @Test(arguments: [(TresorError.unsupported, 19), (.unverified, 16)] as [(TresorError, Int32)])
        func aFailureBehindACompactionIsOne(_ error: TresorError, code: Int32) async throws {
            let (stage, _) = try await stage(230_000)
            for name in ["c1", "c2", "c3"] { try await stage.run(0, as: "anna", "put", "-t", "x", "@\(name)") }
            try await stage.run(18, as: "anna", "put", "-t", "x", "@c4")
            try await stage.run(0, as: "anna", "put", "-t", "x", "--delete", "c1")
            stage.handler.stop(behind: .deleteBlobs, by: Refusal(error))
            let said = try await stage.messages(code, as: "anna", "compact", "-t", "x", "--yes")
            #expect(said.contains(/kept [0-9]+ versions of x in [0-9]+ volume/), "\(said)")
            #expect(said.contains("tresor: error: ") && !said.contains("not sent"), "\(said)")
        }

        /// Records that a repair could not check are not called whole.
        @Test func aRepairWithoutItsCheckIsNotOK() async throws {
            let (stage, _) = try await stage(1_000_000)
            try await stage.run(0, as: "anna", "put", "-t", "x", "@k260")
            #expect(
                try await stage.run(0, as: "anna", "check", "--repair", "-t", "x", "--json").contains(
                    /"level": ?"ok"/))
            stage.cut.withLock { $0 = (.blob, .unreachable) }
            let found = try await stage.run(18, as: "anna", "check", "--repair", "-t", "x", "--json")
            #expect(found.contains(/"level": ?"bad"/), "\(found)")
            #expect(found.contains("its records: the store"), "\(found)")
        }

        /// Without -t, a tresor that could not be checked is one to repair, and is named.
        @Test func aRepairOfAllNamesEachTresorThatItCouldNotCheck() async throws {
            let (stage, _) = try await stage(1_000_000)
            try await stage.run(0, as: "anna", "put", "-t", "x", "@k260")
            let good = try await stage.messages(0, as: "anna", "check", "--repair")
            #expect(!good.contains("x: "), "\(good)")
            stage.handler.refuse(.blob, by: Refusal(.noAccess))
            let said = try await stage.messages(13, as: "anna", "check", "--repair")
            #expect(said.contains("tresor: error: x: "), "\(said)")
        }

        /// A service may not say of whom it is that they read nothing.
        @Test(arguments: [(TresorError.noAccess, 13), (.unverified, 16), (.waiting, 17)] as [(TresorError, Int32)])
        func aRepairBelievesNoServiceThatWithholdsAll(_ said: TresorError, code: Int32) async throws {
            let (stage, _) = try await stage(1_000_000)
            try await stage.run(0, as: "anna", "put", "-t", "x", "@k260")
            stage.handler.refuse(.blob, by: Refusal(said))
            let found = try await stage.run(code, as: "anna", "check", "--repair", "-t", "x", "--json")
            #expect(found.contains(/"level": ?"bad"/), "\(found)")
        }

        /// Somebody who did not compare the founder has checked nothing, and learns so.
        @Test func theRecordsOfAnUncomparedFounderAreNotOK() async throws {
            let (stage, _) = try await stage(1_000_000)
            try await stage.run(0, as: "anna", "put", "-t", "x", "@tiny")
            try await stage.run(0, as: "anna", "share", "-t", "x", "bruno")
            let members = try await stage.run(0, as: "anna", "members", "-t", "x", "--json")
            let id = String(try #require(members.firstMatch(of: /"tresor": ?"([0-9a-z]+)"/)).1)
            #expect(
                try await stage.run(0, as: "bruno", "check", "--repair", "-t", "anna/x", "--json").contains(
                    /"level": ?"ok"/))
            try await stage.run(0, as: "bruno", "verify", "anna", "--give-up", "--yes")
            let found = try await stage.run(16, as: "bruno", "check", "--repair", "-t", id, "--json")
            #expect(found.contains(/"level": ?"bad"/) && found.contains("its records: "), "\(found)")
        }

        /// Nor does the upload of a writer, who has put parts of it.
        @Test func aRefusedUploadOfAWriterTakesNoRoom() async throws {
            let (stage, bench) = try await stage(1_000_000)
            try await stage.run(0, as: "anna", "share", "-t", "x", "bruno", "--role", "writer")
            try stage.write(String(repeating: "l", count: 700_000), to: "large")
            let refused = try await stage.messages(18, as: "bruno", "put", "-t", "anna/x", "@large")
            #expect(
                refused.contains("the quota of anna, who made x, has not enough left for this; ask anna"), "\(refused)")
            #expect(try await orphanCount(bench) == 0)
            try await stage.run(0, as: "bruno", "put", "-t", "anna/x", "@tiny")
            try await stage.run(0, as: "bruno", "sync", "-t", "anna/x", "--drop", "--yes")
            #expect(try await bench.service.check().isClean)
        }
    }
#endif
