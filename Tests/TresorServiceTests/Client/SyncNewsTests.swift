// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import Tresor
    @testable import TresorService

    /// A sync of all tresors reads those of which the service has news (SPEC §19.7).
    @Suite struct SyncNewsTests {
        private static let count = 12

        /// Anna's tresors, and a second device of hers. Both have read everything.
        private func stage() async throws -> CommandStage<SwitchedService> {
            let bench = try await Bench(.open)
            let stage = try CommandStage(before: SwitchedService(bench), clock: bench.clock)
            try await stage.people()
            for number in 1...Self.count { try await stage.run(0, as: "anna", "create", "plan\(number)") }
            try stage.write("a note", to: "note")
            for path in ["", ".password"] {
                try FileManager.default.copyItem(
                    atPath: stage.path("anna\(path)"), toPath: stage.path("tablet\(path)"))
            }
            for name in ["anna", "tablet"] {
                // The second one reads what the first one wrote.
                for _ in 0..<2 { try await stage.run(0, as: name, "sync") }
            }
            // The changes of the last minute are named again when another one comes.
            stage.clock.now += 100
            for name in ["tablet", "anna"] { try await stage.run(0, as: name, "sync") }
            return stage
        }

        private func id(of name: String, on stage: CommandStage<SwitchedService>) async throws -> TresorID {
            let head = try await stage.run(0, as: "anna", "log", "-t", name, "--head", "--json")
            let text = try #require(head.firstMatch(of: /"tresor":"([0-9a-z]{52})"/)?.1)
            return try #require(TresorID(String(text)))
        }

        private func rows(_ table: String) -> [String] {
            table.split(separator: "\n").dropFirst().map { String($0).replacing(#/ +/#, with: " ") }
        }

        @Test func nothingNewTakesOneRequest() async throws {
            let stage = try await stage()
            _ = stage.handler.take()
            for _ in 0..<3 {
                let said = try await stage.messages(0, as: "anna", "sync")
                #expect(said.contains("tresor: nothing new in \(Self.count) tresors\n"), "\(said)")
                // A process asks the service once who it is.
                #expect(stage.handler.take() == [.server, .news])
            }
            #expect(try await stage.run(0, as: "anna", "sync").isEmpty)
            let table = try await stage.run(0, as: "anna", "sync", "--all")
            #expect(rows(table).count == Self.count)
        }

        @Test func whatIsNewIsReadAndWhatIsUnsentIsSent() async throws {
            let stage = try await stage()
            try await stage.run(0, as: "tablet", "put", "-t", "plan3", "@note")
            try await stage.run(0, as: "anna", "put", "-t", "plan5", "--later", "@note")
            _ = stage.handler.take()
            let table = try await stage.run(0, as: "anna", "sync")
            #expect(Set(rows(table)) == ["plan3 1 0 ok", "plan5 0 1 ok"], "\(table)")
            #expect(!stage.handler.take().contains(.tresors))
            #expect(try await stage.run(0, as: "anna", "get", "-t", "plan3", "note") == "a note")
        }

        /// A service that leaves a tresor out of the news hides it no longer than a day.
        @Test func A225_whatTheNewsLeaveOutIsFoundByTheNextReadingOfAll() async throws {
            let stage = try await stage()
            stage.handler.leaveOut([try await id(of: "plan3", on: stage)])
            try await stage.run(0, as: "tablet", "put", "-t", "plan3", "@note")
            #expect(try await stage.run(0, as: "anna", "sync").isEmpty)
            stage.clock.now += 86_400
            let table = try await stage.run(0, as: "anna", "sync")
            #expect(rows(table).contains("plan3 1 0 ok") && rows(table).count == Self.count, "\(table)")
            // Nor is it hidden from a person who asks for all.
            try stage.write("another note", to: "note")
            try await stage.run(0, as: "tablet", "put", "-t", "plan3", "@note")
            #expect(try await !stage.run(0, as: "anna", "sync").contains("plan3"))
            #expect(rows(try await stage.run(0, as: "anna", "sync", "--all")).contains("plan3 1 0 ok"))
        }

        /// Nor where another device of the person tells what it saw.
        @Test func A225_whatTheNewsLeaveOutIsFoundByTheHeadsOfAnotherDevice() async throws {
            let stage = try await stage()
            let plan = try await id(of: "plan3", on: stage)
            try await stage.run(0, as: "tablet", "put", "-t", "plan3", "@note")
            try await stage.run(0, as: "tablet", "sync")
            stage.handler.leaveOut([plan])
            #expect(rows(try await stage.run(0, as: "anna", "sync")) == ["plan3 1 0 ok"])
        }

        /// Another database of the service, for example: everything is read, and the news begin anew.
        @Test func aCursorThatTheServiceRefusesReadsAll() async throws {
            let stage = try await stage()
            stage.handler.refuse(.news)
            #expect(rows(try await stage.run(0, as: "anna", "sync")).count == Self.count)
            #expect(try await stage.run(0, as: "anna", "sync").isEmpty)
        }

        /// Whom a person verifies says which tresors lie apart.
        @Test func anotherPinReadsAll() async throws {
            let stage = try await stage()
            try await stage.keygen("cara")
            try await stage.run(0, as: "cara", "register", "--no-login")
            try await stage.compare("cara", with: "anna")
            try await stage.run(0, as: "cara", "create", "visits")
            try await stage.run(0, as: "cara", "share", "-t", "visits", "anna")
            for _ in 0..<2 { #expect(try await !stage.run(0, as: "anna", "sync").contains("visits")) }
            try await stage.compare("anna", with: "cara")
            #expect(try await stage.run(0, as: "anna", "sync").contains("visits"))
        }

        /// What a later sync reads in any case, and when it reads all.
        @Test func aNoteCountsForOneStoreAndADay() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let (plans, visits) = (try await anna.create("plans").id, try await anna.create("visits").id)
            func ask(_ session: Session, all: Bool = false) async throws -> NotedNews {
                let news = try await NotedNews.ask(session, forAll: all)
                return try #require(news)
            }
            let first = try await ask(anna)
            #expect(first.due == nil)
            await first.keep(open: [plans], own: [visits], isWhole: true)
            stage.bench.clock.now += 100
            let second = try await ask(anna)
            #expect(second.due == [plans] && second.own == [visits] && second.known == [plans, visits])
            await second.keep(open: [], own: [visits], isWhole: false)
            #expect(try await ask(anna).due == [])
            #expect(try await ask(anna, all: true).due == nil)
            let elsewhere = stage.client(of: anna.client.home, named: "https://other.example")
            #expect(try await ask(Session(client: elsewhere, identity: anna.identity)).due == nil)
            let unnamed = Session(client: stage.client(of: anna.client.home, named: nil), identity: anna.identity)
            let none = try await NotedNews.ask(unnamed, forAll: false)
            #expect(none?.own == nil)
            // An own tresor that the home has forgotten.
            try anna.client.home.exclusively { () throws(TresorError) in
                var heads = try anna.client.heads()
                heads.forget(visits)
                try anna.client.home.replace(.heads, with: heads.bytes)
            }
            #expect(try await ask(anna).due == nil)
            await second.keep(open: [], own: [], isWhole: false)
            #expect(try await ask(anna).due == [])
            stage.bench.clock.now += 86_300
            #expect(try await ask(anna).due == nil)
        }

        @Test func anEmbeddedStoreHasNoNews() async throws {
            let stage = ServiceStage(try await Bench())
            let anna = try await stage.person("anna")
            let client = Client(
                home: anna.client.home, store: MemoryStore(), named: anna.client.storeName,
                clock: stage.bench.clock.read)
            let news = try await NotedNews.ask(Session(client: client, identity: anna.identity), forAll: false)
            #expect(news?.own == nil)
        }
    }
#endif
