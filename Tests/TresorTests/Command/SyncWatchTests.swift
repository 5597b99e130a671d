// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCrypto
import TresorRemote
import TresorTesting
import TresorStore

@testable import Tresor
@testable import TresorCommand
@testable import TresorCore
@testable import TresorRecords

extension CommandSuite {
    /// `tresor sync --watch`: it goes on, and tells each change once.
    @Suite struct SyncWatches {
        /// Anna's home and its copy, the desk, on which a command watches.
        private let stage: CommandStage
        private let anna: Session
        private let desk: Session

        /// A command that goes on.
        private struct Watch {
            /// Whether the command has ended.
            private final class End: Sendable {
                let isOver = Mutex(false)
            }

            private let stage: CommandStage
            private let end = End()
            private let run: Task<CommandStage.Ending, any Error>

            init(_ stage: CommandStage, _ words: String..., seeing view: (any Store)? = nil) {
                self.stage = stage
                run = Task { [stage, end] in
                    defer { end.isOver.withLock { $0 = true } }
                    return try await stage.run(as: "desk", ["sync", "--watch"] + words, seeing: view)
                }
            }

            /// Waits for what only the watching command brings about; not for ever, if it has ended.
            func goOn(until isThere: () async throws -> Bool) async throws {
                while try await !isThere() {
                    try #require(!end.isOver.withLock { $0 })
                    await Task.yield()
                }
            }

            /// Interrupts it once the lines are out: the store is asked again only then.
            func finish() async throws -> CommandStage.Ending {
                let count = Mutex(0)
                stage.evil.show { log in
                    count.withLock { $0 += 1 }
                    return log
                }
                try await goOn { count.withLock { $0 } >= 20 }
                return try await interrupt()
            }

            func interrupt() async throws -> CommandStage.Ending {
                run.cancel()
                return try await run.value
            }
        }

        init() async throws {
            stage = try CommandStage()
            anna = try await stage.person("anna")
            try await stage.expect(0, as: "anna", "create", "plan")
            try await stage.expect(0, as: "anna", "create", "other")
            try stage.copy("anna", to: "desk")
            desk = Session(client: stage.client("desk"), identity: anna.identity)
        }

        private func tresor(_ name: String) async throws -> TresorID {
            try #require(try await anna.tresors.named(name).first).tresor
        }

        private func put(_ name: String, in tresor: TresorID) async throws {
            let records = anna.records(in: tresor)
            try await records.put(name, Array("words".utf8))
            _ = try await records.sync()
        }

        @Test func itExchangesWithOtherDevicesAgain() async throws {
            let watch = Watch(stage)
            for handle in ["house", "cuddy"] {
                let person = try identity(handle).chain
                try anna.client.people.pinBlocking(person)
                try await anna.exchange()
                try await watch.goOn { try desk.occasion(of: person.user) == .known }
            }
            _ = try await watch.interrupt()
        }

        @Test func eachChangeIsToldOnceUntilItIsInterrupted() async throws {
            let plan = try await tresor("plan")
            let watch = Watch(stage)
            let there = desk.records(in: plan)
            for (index, name) in ["morning", "evening"].enumerated() {
                try await put(name, in: plan)
                // The watching command fetches it, and nobody else does.
                try await watch.goOn { try await there.list().records.count > index }
            }
            let ending = try await watch.finish()
            #expect(ending.code == 130, "\(ending.error)")
            let lines = ending.text.split(separator: "\n").map { $0.split(separator: " ") }
            #expect(lines.allSatisfy { $0.count == 4 && $0[3] == "ok" }, "\(ending.text)")
            let told = lines.filter { $0[0] == "plan" }
            #expect(told.reduce(0) { $0 + (Int($1[1]) ?? 0) } == 2, "\(ending.text)")
            #expect(told.count <= 3 && lines.count == told.count + 1, "\(ending.text)")
        }

        @Test func aNamedTresorIsWatchedAlone() async throws {
            let (plan, other) = (try await tresor("plan"), try await tresor("other"))
            let watch = Watch(stage, "-t", "plan")
            try await put("note", in: other)
            try await put("note", in: plan)
            let there = desk.records(in: plan)
            try await watch.goOn { try await there.list().records.count == 1 }
            let ending = try await watch.finish()
            #expect(ending.code == 130, "\(ending.error)")
            let titles = Set(ending.text.split(separator: "\n").compactMap { $0.split(separator: " ").first })
            #expect(titles == ["plan"], "\(ending.text)")
            #expect(try await desk.records(in: other).list().records.isEmpty)
        }

        /// Nobody compared the owner: the tresor lies apart, and is not left out in silence.
        @Test func aNamedTresorThatLiesApartIsNotLeftOut() async throws {
            _ = try await stage.person("house")
            try await stage.expect(0, as: "anna", "share", "-t", "plan", "house", "--accept-unverified")
            let words = ["sync", "--watch", "-t", try await tresor("plan").description]
            let run = Task { [stage] in try await stage.run(as: "house", words) }
            // A command that goes on is interrupted.
            let count = Mutex(0)
            stage.evil.show { log in
                if count.withLock({ count in
                    count += 1
                    return count > 200
                }) {
                    run.cancel()
                }
                return log
            }
            let ending = try await run.value
            #expect(ending.code == 16, "\(ending.text)\(ending.error)")
            #expect(ending.error.contains("anna, the owner, is not verified"), "\(ending.error)")
        }

        @Test(.enabled(if: StoreKind.current == .memory), arguments: [[], ["-t", "plan"]])
        func theLogsOfTheNewsAreReadAlone(words: [String]) async throws {
            let (plan, other) = (try await tresor("plan"), try await tresor("other"))
            let store = NewsStore(truth: stage.evil)
            let watch = words.isEmpty ? Watch(stage, seeing: store) : Watch(stage, words[0], words[1], seeing: store)
            try await watch.goOn { store.questionCount == 1 }
            let before = store.readCount(of: other)
            try await put("note", in: plan)
            store.tell([plan])
            try await watch.goOn { store.questionCount == 2 }
            #expect(try await desk.records(in: plan).list().records.count == 1)
            store.tell([other])
            try await watch.goOn { store.questionCount == 3 }
            #expect((store.readCount(of: other) == before) == !words.isEmpty)
            let known = store.readCount(of: plan)
            store.tell([other])
            try await watch.goOn { store.questionCount == 4 }
            #expect(store.readCount(of: plan) == known)
            #expect(try await watch.interrupt().code == 130)
        }

        @Test func aStoreThatFailsIsToldOnceAndReadAgain() async throws {
            let plan = try await tresor("plan")
            let watch = Watch(stage)
            let there = desk.records(in: plan)
            try await put("morning", in: plan)
            try await watch.goOn { try await there.list().records.count == 1 }
            stage.evil.goDown()
            let evil = stage.evil
            try await watch.goOn { evil.refusedCount >= 20 }
            evil.behave()
            try await put("evening", in: plan)
            try await watch.goOn { try await there.list().records.count == 2 }
            let ending = try await watch.finish()
            #expect(ending.code == 130, "\(ending.error)")
            let told = ending.error.split(separator: "\n").filter { $0.hasPrefix("tresor: error: ") }
            #expect(told.count { $0.contains("input or output failed") } == 1, "\(ending.error)")
            #expect(told.count == 2 && told.last?.contains("interrupted") == true, "\(ending.error)")
        }

        /// A limit may be raised while the command goes on, and nobody is asked.
        @Test func whatHasNoRoomIsNotThrownAway() async throws {
            let there = desk.records(in: try await tresor("plan"))
            try await there.put("note", Array("words".utf8))
            let full = FaultyStore(StageStores.seen(stage.evil)) { call in
                guard call.name == "append" else { return nil }
                Surroundings.current.obstacle.note(.noRoom(isQuota: true))
                return .refusing(.store(.full))
            }
            let watch = Watch(stage, "-t", "plan", "--drop", "--yes", seeing: full)
            try await watch.goOn { full.calls.contains { $0.name == "append" } }
            let ending = try await watch.finish()
            #expect(ending.code == 130, "\(ending.error)")
            #expect(ending.error.contains("nothing was sent, and the changes stay in your home: "), "\(ending.error)")
            #expect(try await there.unsent() == ["note"])
        }

        @Test func eachLineOfJSONIsAnObject() async throws {
            let plan = try await tresor("plan")
            let watch = Watch(stage, "-t", "plan", "--json")
            let there = desk.records(in: plan)
            try await put("note", in: plan)
            try await watch.goOn { try await there.list().records.count == 1 }
            let ending = try await watch.finish()
            #expect(ending.code == 130, "\(ending.error)")
            var count = 0
            for line in ending.text.split(separator: "\n") {
                let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                #expect(object["tresor"] as? String == plan.description, "\(line)")
                #expect(object["state"] as? String == "ok", "\(line)")
                count += try #require(object["in"] as? Int)
            }
            #expect(count == 1, "\(ending.text)")
        }
    }
}

/// A store that has the news that a test tells, and counts the readings of each log.
private final class NewsStore: FrontStore, RemoteStore, ServiceCaller {
    private struct State {
        var news: [[TresorID]] = []
        var questionCount = 0
        var readCounts: [TresorID: Int] = [:]
    }

    let truth: any Store
    var serviceCaller: any ServiceCaller { self }
    let audience = Audience(isSecure: true, host: "tresor.example", port: 443)
    private let state = Mutex(State())

    init(truth: any Store) { self.truth = truth }

    /// How often it was asked for what is new since an answer.
    var questionCount: Int { state.withLock { $0.questionCount } }

    func readCount(of tresor: TresorID) -> Int { state.withLock { $0.readCounts[tresor, default: 0] } }

    /// Answers the next question.
    func tell(_ tresors: [TresorID]) { state.withLock { $0.news.append(tresors) } }

    func speaking(as caller: Caller) -> Self { self }
    func server() async throws(TresorError) -> Server { throw .unsupported }

    func call<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer {
        guard let request = request as? NewsRequest, let answer = try await answer(request) as? Request.Answer else {
            throw .unsupported
        }
        return answer
    }

    private func answer(_ request: NewsRequest) async throws(TresorError) -> NewsAnswer {
        guard !request.cursor.isEmpty else { return NewsAnswer(tresors: [], cursor: [1], more: false) }
        state.withLock { $0.questionCount += 1 }
        while !Task.isCancelled {
            let told = state.withLock { $0.news.popLast() }
            if let told { return NewsAnswer(tresors: told, cursor: request.cursor, more: false) }
            await Task.yield()
        }
        throw .cancelled
    }

    func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
        state.withLock { $0.readCounts[tresor, default: 0] += 1 }
        return try await truth.entries(of: tresor, from: first, limit: limit)
    }
}
