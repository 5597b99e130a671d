// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring
import Serving
import TresorSQLite

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// Appending to short logs and to a long one, by turns on one connection. A short log is used for one turn alone: the next
/// turn would find it longer by what this one appended.
struct LengthLoad {
    private static let lengths = (short: 100, long: 100_000)
    private static let rounds = 24
    private static let count = 64

    private let site: Site

    init(_ site: Site) { self.site = site }

    func figures() async throws -> [Figure] {
        let folder = try site.folder("length")
        let store = try await SQLiteStore.open(at: folder + "/embedded.db", creating: true)
        var shorts: [Author] = []
        for number in 0..<Self.rounds {
            let short = try await Author("short \(number)", in: store)
            try await short.grow(by: Self.lengths.short - 1, in: store)
            shorts.append(short)
        }
        let long = try await Author("long", in: store)
        note("writing a log of \(Self.lengths.long) entries")
        try await long.grow(by: Self.lengths.long - 1, in: store)
        try Data(long.session.identity.chain.bytes).write(to: URL(filePath: folder + "/operator.card"))
        note("importing it")
        let server = try RunningServer(
            "length", on: try site.database("length"), from: folder + "/embedded.db",
            operator: folder + "/operator.card", isSecure: false, in: site)
        let id = try server.id(over: server.route())
        var times: (short: [Double], long: [Double]) = ([], [])
        var processor = (short: 0.0, long: 0.0)
        // The first append to each folds its log.
        for author in shorts + [long] { _ = try append(author, 1, to: id, at: server) }
        try await Site.alone {
            for short in shorts {
                for (author, isLong) in [(short, false), (long, true)] {
                    let before = try server.processorTime
                    let taken = try append(author, Self.count, to: id, at: server)
                    let used = try server.processorTime - before
                    if isLong {
                        times.long += taken
                        processor.long += used
                    } else {
                        times.short += taken
                        processor.short += used
                    }
                }
            }
        }
        server.stop()
        return rows(times, processor)
    }

    private func append(_ author: Author, _ count: Int, to id: RunningServer.Addressee, at server: RunningServer) throws
        -> [Double]
    {
        let requests = try author.requests(count, to: id)
        let times = try AppendLine.run(requests, over: server.route(), seconds: 60)
        guard times.count == count else { throw LoadFailure("appending takes too long") }
        author.advance(to: requests.last?.head)
        return times
    }

    private func rows(
        _ times: (short: [Double], long: [Double]), _ processor: (short: Double, long: Double)
    ) -> [Figure] {
        let count = Double(Self.rounds * Self.count)
        let kinds: [(String, Double, Double)] = [
            ("median", Measure.median(times.long), Measure.median(times.short)),
            ("mean", times.long.reduce(0, +) / count, times.short.reduce(0, +) / count),
            ("processor time of the service", processor.long / count, processor.short / count),
        ]
        return kinds.map { kind, long, short in
            Figure(
                work: "append to a log of \(Self.lengths.long) entries, \(kind)", time: long,
                baseline: "to one of \(Self.lengths.short)", baselineTime: short, goal: .atMost(1.2))
        }
    }
}
