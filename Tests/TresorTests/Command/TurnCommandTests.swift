// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// A command reads a log once, however long it takes, and again after much work.
    @Suite struct TurnsOfARun {
        @Test(.enabled(if: StoreKind.current == .memory)) func aLogIsReadOnceAndAgainAfterManyFiles() async throws {
            let stage = try CommandStage()
            let anna = try await stage.person("anna")
            _ = try await anna.tresors.create(Name(typed: "plans"))
            for (count, readings) in [(1, 1), (256, 1), (257, 2)] {
                let names = (0..<count).map { "plan-\(count)-\($0)" }
                for name in names { try stage.write([1], to: name) }
                let store = CountingStore(store: stage.evil)
                let words = ["encrypt", "-t", "plans"] + names.map { "@\($0)" }
                let ending = try await stage.run(as: "anna", words, seeing: store)
                #expect(ending.code == 0, "\(ending.error)")
                #expect(store.tally.counts["entries"] == readings, "\(count) files")
            }
        }
    }
}
