// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Foundation
import Measuring
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Small contents, one hundred to one million, in process and in batches of a thousand.
enum Many {
    private static let batchCount = 1000

    static func figures() async throws -> [Figure] {
        let people = try await Circle(members: 1)
        let type = try Name(text: "application/json")
        let content = NamedContent([UInt8](repeating: 7, count: 1024), record: try Name(text: "plan.json"), type: type)
        let contents = [NamedContent](repeating: content, count: batchCount)
        let files = try await people.anna.files.seal(contents, in: people.tresor)
        let expected = files.map { ExpectedFile($0, expecting: Expectations(tresor: people.tresor)) }
        let payload = files[0].bytes.count - 90 - 72
        let message = 4 + 24 + 90 + 49 + 16 + 9 + 64
        var figures: [Figure] = []
        for count in [100, 1000, 10_000, 100_000, 1_000_000] {
            let batch = min(count, batchCount)
            let rounds = count > 10_000 ? 1 : 5
            // The baseline does a tenth of a million: its cost does not depend on the number.
            let share = count > 100_000 ? 10 : 1
            let seal = try await Measure.byTurns(rounds) {
                for _ in 0..<(count / batch) {
                    _ = try await people.anna.files.seal(Array(contents.prefix(batch)), in: people.tresor)
                }
            } _: {
                try Measure.onAllCores(count / share) { rounds in
                    baseline_hash_and_sign(rounds, 1024, message) | baseline_seal(rounds, 158, payload)
                }
            }
            let open = try await Measure.byTurns(rounds) {
                for _ in 0..<(count / batch) { _ = await people.anna.files.open(Array(expected.prefix(batch))) }
            } _: {
                try Measure.onAllCores(count / share) { rounds in
                    baseline_hash_and_verify(rounds, 1024, message) | baseline_open(rounds, 158, payload)
                }
            }
            for (work, times) in [("seal", seal), ("open", open)] {
                figures.append(
                    Figure(
                        work: "\(work) \(count) contents of 1 KiB", time: times.first,
                        baseline: "plain libsodium on all cores" + (share > 1 ? ", a tenth \(share) times" : ""),
                        baselineTime: times.second * Double(share)))
            }
        }
        return figures
    }
}
