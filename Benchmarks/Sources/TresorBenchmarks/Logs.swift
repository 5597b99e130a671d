// SPDX-License-Identifier: Apache-2.0

import CBaseline

@testable import Tresor
@testable import TresorCrypto

/// Validating logs.
enum Logs {
    static func figures() async throws -> [Figure] {
        var figures: [Figure] = []
        let (tresor, entries) = try await log(100_000)
        for count in [100, 1000, 10_000, 100_000] {
            let part = Array(entries[..<count])
            let message = entries[1].count + 20
            let times = try await Measure.byTurns(count == 100_000 ? 3 : 5) {
                _ = try Fold.state(of: part, tresor: tresor)
            } _: {
                try Measure.onAllCores(count) { baseline_verify($0, message) }
            }
            figures.append(
                Figure(
                    work: "validate \(count) entries", time: times.first,
                    baseline: "plain verification on all cores", baselineTime: times.second,
                    goal: count == 100_000 ? .atLeast(0.85) : nil))
        }
        return figures
    }

    /// Names, one after another: what a log is full of if it is full.
    private static func log(_ count: Int) async throws -> (TresorID, [[UInt8]]) {
        let circle = try await Circle(members: 1)
        let anna = circle.anna
        let state = try await anna.client.state(of: circle.tresor)
        let keys = try await anna.keys(of: 1, in: state)
        var entries = try await anna.client.store.entries(of: circle.tresor, from: 0, limit: 1)
        var head = state.head
        while entries.count < count {
            let name = try SealedName(
                Name(text: "name \(entries.count)"), kind: .empty, under: keys.content, tresor: circle.tresor,
                epoch: 1, sequence: head.sequence + 1)
            let entry = try Entry(
                tresor: circle.tresor, sequence: head.sequence + 1, previous: head.hash, author: anna.identity,
                time: 1_777_730_400, body: .rename(name))
            head = Head(sequence: entry.sequence, hash: try entry.hash())
            entries.append(entry.bytes)
        }
        return (circle.tresor, entries)
    }
}
