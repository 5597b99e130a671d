// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Measuring

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Validating logs, and opening validated ones.
enum Logs {
    static func figures() async throws -> [Figure] {
        var figures: [Figure] = []
        let (anna, tresor, entries) = try await log(100_000)
        for count in sizes {
            let part = Array(entries[..<count])
            let message = signedByteCount(of: entries[1])
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
        for count in sizes {
            figures.append(try await opening(Array(entries[..<count]), of: tresor, by: anna))
        }
        return figures
    }

    /// The bytes that the author of an entry signs: the entry without the signature, behind a label.
    static func signedByteCount(of entry: [UInt8]) -> Int {
        DomainLabel.entrySignature.prefixed.count + entry.count - Ed25519.signatureByteCount
    }

    private static let sizes = [100, 1000, 10_000, 100_000]

    /// The state of a log from a snapshot: with an open identity, and without.
    private static func opening(
        _ entries: [[UInt8]], of tresor: TresorID, by anna: Session
    ) async throws -> Figure {
        let home = VolatileHome()
        let state = try Fold.state(of: entries, tresor: tresor)
        var heads = PinnedHeads()
        try heads.raise(to: state, me: nil)
        home.replace(.heads, with: heads.bytes)
        let size = Int(LogCopy.partCount)
        for start in stride(from: 0, to: entries.count, by: size) {
            let part = LogCopy(entries: Array(entries[start..<min(start + size, entries.count)]))
            home.replace(.log(tresor, part: UInt64(start / size)), with: part.bytes)
        }
        home.replace(.state(tresor), with: try Snapshots(anna.identity).bytes(of: state))
        let times = try await Measure.byTurns(entries.count == 100_000 ? 3 : 5) {
            let client = Client(home: home, store: anna.client.store, clock: { 1_777_730_400 })
            _ = try Session(client: client, identity: anna.identity).client.archive.verifiedState(of: tresor)
        } _: {
            let client = Client(home: home, store: anna.client.store, clock: { 1_777_730_400 })
            _ = try client.archive.verifiedState(of: tresor)
        }
        return Figure(
            work: "open the snapshot of \(entries.count) entries", time: times.first,
            baseline: "folding them anew", baselineTime: times.second, goal: nil)
    }

    /// Consecutive names: the content of a long log.
    private static func log(_ count: Int) async throws -> (Session, TresorID, [[UInt8]]) {
        let circle = try await Circle(members: 1)
        let anna = circle.anna
        let state = try await anna.client.logs.state(of: circle.tresor)
        let keys = try await anna.keyRing.keys(of: 1, in: state)
        var entries = try await anna.client.store.entries(of: circle.tresor, from: 0, limit: 1)
        var head = state.head
        while entries.count < count {
            let name = try SealedName(
                Name(text: "name \(entries.count)"), kind: .empty, under: keys.content, tresor: circle.tresor,
                epoch: 1, sequence: head.sequence + 1)
            let entry = try Entry(
                tresor: circle.tresor, sequence: head.sequence + 1, previous: head.hash, author: anna.identity,
                time: 1_777_730_400, body: .rename(RenameBody(name)))
            head = Head(sequence: entry.sequence, hash: try entry.hash())
            entries.append(entry.bytes)
        }
        return (anna, circle.tresor, entries)
    }
}
