// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import Tresor
    @testable import TresorCommand
    @testable import TresorRemote
    @testable import TresorService

    /// A patient's records over a service, as the commands keep them: two devices of hers, and one of a doctor.
    @Suite struct CloudRecordTests {
        private static let days = 40

        /// Two people who have registered and compared their numbers. The patient has a second device.
        private func stage() async throws -> CommandStage<Service> {
            let bench = try await Bench(.open)
            let stage = try CommandStage(before: bench.service, clock: bench.clock)
            for name in ["anna", "house"] {
                try await stage.keygen(name)
                try await stage.run(0, as: name, "register", "--no-login")
            }
            func number(_ name: String) async throws -> String {
                try await stage.run(0, as: name, "card", "--number").trimmingCharacters(in: .newlines)
            }
            try await stage.run(0, as: "anna", "verify", "house", "--number", number("house"))
            try await stage.run(0, as: "house", "verify", "anna", "--number", number("anna"))
            for name in ["interventions", "events"] { try await stage.run(0, as: "anna", "create", name) }
            for path in ["", ".password"] {
                try FileManager.default.copyItem(
                    atPath: stage.path("anna\(path)"), toPath: stage.path("tablet\(path)"))
            }
            return stage
        }

        private func plan(_ dose: Int, until end: String? = nil) -> String {
            let end = end.map { ",\"period\":{\"end\":\"\($0)\"}" } ?? ""
            return "{\"resourceType\":\"CarePlan\",\"description\":\"ibuprofen \(dose) mg\"\(end)}"
        }

        private func names(_ list: String) -> [String] {
            list.split(separator: "\n").dropFirst().compactMap { line in
                line.split(separator: " ").last.map { String($0).replacing("\"", with: "") }
            }
        }

        @Test func fortyDaysOfAPlanReachEveryoneWhoMayReadThem() async throws {
            let stage = try await stage()
            try stage.write(plan(400), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            try await stage.run(0, as: "anna", "share", "-t", "interventions", "house")
            #expect(try await stage.run(0, as: "house", "get", "-t", "anna/interventions", "plan.json") == plan(400))
            for day in 1...Self.days {
                stage.clock.now += 86_400
                let device = day.isMultiple(of: 3) ? "tablet" : "anna"
                try stage.write("{\"day\":\(day)}", to: "event")
                let name = "event/ibuprofen/day-\(day)/0"
                if day.isMultiple(of: 5) {
                    // Without a network it stays on the device; the next day takes it along.
                    try await stage.run(0, as: device, "put", "-t", "events", "--as", name, "--later", "@event")
                } else {
                    try await stage.run(0, as: device, "put", "-t", "events", "--as", name, "@event")
                }
                if day == 10 {
                    let old = try await stage.run(0, as: "tablet", "get", "-t", "interventions", "plan.json")
                    #expect(old == plan(400))
                    try stage.write(plan(600), to: "plan.json")
                    try await stage.run(0, as: "tablet", "put", "-t", "interventions", "@plan.json")
                }
            }
            // The plan ends, and a dose that was never taken goes.
            #expect(try await stage.run(0, as: "anna", "get", "-t", "interventions", "plan.json") == plan(600))
            try stage.write(plan(600, until: "2026-06-30"), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            try await stage.run(0, as: "tablet", "put", "-t", "events", "--delete", "event/ibuprofen/day-7/0")
            for name in ["anna", "tablet", "anna"] { try await stage.run(0, as: name, "sync") }
            let lists = [
                try await stage.run(0, as: "anna", "records", "-t", "events"),
                try await stage.run(0, as: "tablet", "records", "-t", "events"),
            ]
            #expect(lists[0] == lists[1])
            let expected = (1...Self.days).filter { $0 != 7 }.map { "event/ibuprofen/day-\($0)/0" }
            #expect(names(lists[0]) == expected.sorted())
            try await stage.run(10, as: "anna", "get", "-t", "events", "event/ibuprofen/day-7/0")
            // The doctor reads what was shared, and nothing else.
            let end = plan(600, until: "2026-06-30")
            #expect(try await !stage.run(0, as: "house", "records", "-t", "anna/interventions").contains("versions"))
            for name in ["anna", "tablet"] {
                #expect(try await stage.run(0, as: name, "get", "-t", "interventions", "plan.json") == end)
            }
            #expect(try await stage.run(0, as: "house", "get", "-t", "anna/interventions", "plan.json") == end)
            #expect(try await !stage.run(0, as: "house", "list").contains("events"))
            try await stage.run(13, as: "house", "put", "-t", "anna/interventions", "@plan.json")
        }

        /// A share is one entry with its keys: wherever the connection ends, the doctor reads everything or nothing, and the
        /// members say which.
        @Test(arguments: [(TransportFailure.unreachable, false), (.broken, true)])
        func noShareIsHalfDone(_ failure: TransportFailure, _ isDone: Bool) async throws {
            let stage = try await stage()
            try stage.write(plan(400), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            stage.cut.withLock { $0 = (.append, failure) }
            try await stage.run(18, as: "anna", "share", "-t", "interventions", "house")
            stage.cut.withLock { $0 = nil }
            func read() async throws -> String {
                try await stage.run(0, as: "house", "get", "-t", "anna/interventions", "plan.json")
            }
            for name in ["anna", "tablet"] {
                let members = try await stage.run(0, as: name, "members", "-t", "interventions")
                #expect(members.contains("house") == isDone, "\(members)")
            }
            if isDone {
                #expect(try await read() == plan(400))
            } else {
                #expect(try await stage.run(0, as: "house", "list").isEmpty)
                try await stage.run(10, as: "house", "get", "-t", "anna/interventions", "plan.json")
            }
            // The same words again end it, or find it done.
            try await stage.run(0, as: "anna", "share", "-t", "interventions", "house")
            #expect(try await read() == plan(400))
        }

        @Test func twoDevicesThatDidNotSeeEachOtherLoseNothing() async throws {
            let stage = try await stage()
            try stage.write(plan(400), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            try await stage.run(0, as: "tablet", "sync")
            try stage.write(plan(200), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "--later", "@plan.json")
            stage.clock.now += 60
            try stage.write(plan(800), to: "plan.json")
            try await stage.run(0, as: "tablet", "put", "-t", "interventions", "@plan.json")
            #expect(try await stage.run(0, as: "anna", "sync", "-t", "interventions").contains("ok"))
            for name in ["anna", "tablet"] {
                #expect(try await stage.run(0, as: name, "records", "-t", "interventions").contains("versions"))
                #expect(try await stage.run(0, as: name, "get", "-t", "interventions", "plan.json") == plan(800))
            }
            // A change that was shown both ends it, and a deletion is not undone.
            try stage.write(plan(500), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            #expect(try await stage.run(0, as: "tablet", "records", "-t", "interventions").contains(" ok "))
            try await stage.run(0, as: "tablet", "put", "-t", "interventions", "--delete", "plan.json")
            try await stage.run(10, as: "anna", "get", "-t", "interventions", "plan.json")
        }

        /// The tablet changes its copy of a plan that anna has changed since.
        @Test func aPutNamesWhatItsHomeHadNotSeen() async throws {
            let stage = try await stage()
            try stage.write(plan(400), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            #expect(try await stage.run(0, as: "tablet", "get", "-t", "interventions", "plan.json") == plan(400))
            for (dose, name) in [(200, "anna"), (800, "tablet")] {
                stage.clock.now += 60
                try stage.write(plan(dose), to: "plan.json")
                let said = try await stage.messages(0, as: name, "put", "-t", "interventions", "@plan.json")
                let isNamed = said.contains("2 versions of \"plan.json\": this one, and yours of")
                #expect(isNamed == (name == "tablet"), "\(said)")
            }
            for name in ["anna", "tablet"] {
                let list = try await stage.run(0, as: name, "records", "-t", "interventions", "--versions")
                #expect(list.split(separator: "\n").count { $0.contains("versions") } == 2, "\(list)")
            }
        }

        /// A content of three parts: put before its entry, fetched when it is asked for, kept by a compaction, then deleted.
        @Test func aScanIsReadByEveryone() async throws {
            let stage = try await stage()
            let scan = String(repeating: "0123456789abcdef", count: 40_000)
            try stage.write(scan, to: "scan")
            try stage.write(plan(400), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "--later", "@scan")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            try await stage.run(0, as: "anna", "share", "-t", "interventions", "house", "--role", "writer")
            let seen = [("anna", "interventions"), ("tablet", "interventions"), ("house", "anna/interventions")]
            for (name, tresor) in seen {
                #expect(try await stage.run(0, as: name, "get", "-t", tresor, "scan") == scan)
                #expect(try await stage.run(0, as: name, "records", "-t", tresor).contains("scan"))
            }
            // A writer, who replaces no part that an entry names, puts one of their own.
            let later = String(repeating: "fedcba9876543210", count: 40_000)
            try stage.write(later, to: "scan")
            try await stage.run(0, as: "house", "put", "-t", "anna/interventions", "@scan")
            let said = try await stage.messages(0, as: "anna", "compact", "-t", "interventions", "--yes")
            #expect(said.contains("kept 2 versions of interventions in 1 volume"))
            for (name, tresor) in seen {
                #expect(try await stage.run(0, as: name, "get", "-t", tresor, "scan") == later)
            }
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "--delete", "scan")
            try await stage.run(0, as: "anna", "compact", "-t", "interventions", "--yes")
            for (name, tresor) in seen { try await stage.run(10, as: name, "get", "-t", tresor, "scan") }
        }

        @Test func aCompactedPlanIsReadByEveryone() async throws {
            let stage = try await stage()
            for dose in [100, 200, 300] {
                try stage.write(plan(dose), to: "plan.json")
                try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            }
            try await stage.run(0, as: "anna", "share", "-t", "interventions", "house")
            let said = try await stage.messages(0, as: "anna", "compact", "-t", "interventions", "--yes")
            #expect(said.contains("kept 1 version of interventions in 1 volume, at entry 5"))
            #expect(said.contains("the store was asked to delete 3 objects"))
            for (name, tresor) in [("house", "anna/interventions"), ("tablet", "interventions")] {
                #expect(try await stage.run(0, as: name, "get", "-t", tresor, "plan.json") == plan(300))
                #expect(
                    try await stage.run(0, as: name, "get", "-t", tresor, "plan.json", "--json", "-o", "@out-\(name)")
                        .contains("vouched_by"))
            }
            try await stage.run(13, as: "house", "compact", "-t", "anna/interventions", "--yes")
            try stage.write(plan(400), to: "plan.json")
            try await stage.run(0, as: "tablet", "put", "-t", "interventions", "@plan.json")
            #expect(try await stage.run(0, as: "house", "get", "-t", "anna/interventions", "plan.json") == plan(400))
            // The next one takes the place of the first, whose volume goes.
            let next = try await stage.messages(0, as: "tablet", "compact", "-t", "interventions", "--yes")
            #expect(next.contains("kept 1 version of interventions in 1 volume, at entry 7"))
            for (name, tresor) in [("house", "anna/interventions"), ("anna", "interventions")] {
                #expect(try await stage.run(0, as: name, "get", "-t", tresor, "plan.json") == plan(400))
            }
            try await stage.run(0, as: "anna", "check", "--deep", "-t", "interventions")
        }

        @Test func aRemovedDoctorKeepsNothing() async throws {
            let stage = try await stage()
            try stage.write(plan(400), to: "plan.json")
            try await stage.run(0, as: "anna", "put", "-t", "interventions", "@plan.json")
            try await stage.run(0, as: "anna", "share", "-t", "interventions", "--role", "writer", "house")
            #expect(try await stage.run(0, as: "house", "get", "-t", "anna/interventions", "plan.json") == plan(400))
            try await stage.run(
                0, as: "house", "put", "-t", "anna/interventions", "--as", "note", "--later", "@plan.json")
            try await stage.run(0, as: "anna", "revoke", "-t", "interventions", "house", "--yes")
            let kept = { () throws -> [String] in
                try FileManager.default.subpathsOfDirectory(atPath: stage.path("house")).filter {
                    $0.contains("records/")
                }
            }
            #expect(try kept().count == 2)
            #expect(try await stage.run(13, as: "house", "sync", "-t", "anna/interventions").contains("left, 1 unsent"))
            #expect(try kept().map { $0.hasSuffix(".unsent") } == [true])
            let drop = ["sync", "-t", "anna/interventions", "--drop"]
            // The others are synced, and their rows printed.
            let refused = try await stage.messages(64, as: "house", "sync", "-t", "anna/interventions", "--drop")
            #expect(refused.contains("this needs a yes"))
            #expect(try kept().count == 1)
            #expect(try await stage.run(0, as: "house", drop + ["--yes"]).contains("left"))
            #expect(try kept().isEmpty)
        }
    }
#endif
