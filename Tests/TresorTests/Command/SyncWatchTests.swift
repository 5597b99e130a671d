// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCrypto
import TresorRecords

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// `tresor sync --watch`: it goes on, and tells each change once.
    @Suite struct SyncWatches {
        /// Whether a command has ended.
        private final class End: Sendable {
            let isOver = Mutex(false)
        }

        @Test func eachChangeIsToldOnceUntilItIsInterrupted() async throws {
            let stage = try CommandStage()
            let anna = try await stage.person("anna")
            try await stage.expect(0, as: "anna", "create", "plan")
            let tresor = try #require(try await anna.tresors.named("plan").first).tresor
            try stage.copy("anna", to: "desk")
            let desk = Session(client: stage.client("desk"), identity: anna.identity)
            let end = End()
            let watch = Task { [stage, end] in
                defer { end.isOver.withLock { $0 = true } }
                return try await stage.run(as: "desk", ["sync", "--watch"])
            }
            /// Waits for what only the watching command brings about; not for ever, if it has ended.
            func goOn(until isThere: () async throws -> Bool) async throws {
                while try await !isThere() {
                    try #require(!end.isOver.withLock { $0 })
                    await Task.yield()
                }
            }
            let (here, there) = (anna.records(in: tresor), desk.records(in: tresor))
            for (index, name) in ["morning", "evening"].enumerated() {
                try await here.put(name, Array("words".utf8))
                _ = try await here.sync()
                // The watching command fetches it, and nobody else does.
                try await goOn { try await there.list().records.count > index }
            }
            // The store is asked again only once the line is out.
            let count = Mutex(0)
            stage.evil.show { log in
                count.withLock { $0 += 1 }
                return log
            }
            try await goOn { count.withLock { $0 } >= 20 }
            watch.cancel()
            let ending = try await watch.value
            #expect(ending.code == 130, "\(ending.error)")
            let lines = ending.text.split(separator: "\n").map { $0.split(separator: " ") }
            #expect(lines.allSatisfy { $0.count == 4 && $0[0] == "plan" && $0[3] == "ok" }, "\(ending.text)")
            #expect(lines.reduce(0) { $0 + (Int($1[1]) ?? 0) } == 2, "\(ending.text)")
            #expect(lines.count <= 3, "\(ending.text)")
        }
    }
}
