// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring
import Serving
import TresorRecords
import TresorRemote
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The records of a patient in a store and at a service: their bytes, the first reading, and a moment without news.
struct PlanService {
    /// What Etebase was measured with, and what it needed: bytes for each event in its files and its database, seconds for
    /// a first reading over loopback.
    private static let eventCount = 3_131
    private static let etebase = (byteCount: 1_888.0, seconds: 50.0)
    private static let tresorCount = 1_370
    private static let rounds = 5
    /// The longest that a service lets a request for news wait is 55 seconds.
    private static let tick = Duration.seconds(57)

    private let home: CommandHome
    private let site: Site

    /// - Parameter server: the program `tresor-server`.
    init(_ program: String, server: String, in directory: String) throws {
        let folder = "\(directory)/service"
        home = try CommandHome(program, in: folder)
        site = Site(folder, tresor: program, server: server)
        try home.run(["create", "events"])
    }

    func measure(for report: Report) async throws {
        let (writer, figures) = try await storeFigures()
        report.add(figures)
        note("plans: making \(Self.tresorCount) tresors")
        let identity = try await makeTresors()
        try home.run(["card", "-o", "\(home.folder)/operator.card"])
        let server = try RunningServer(
            "plans", on: "\(home.folder)/service.db", from: home.store, operator: "\(home.folder)/operator.card",
            isSecure: false, in: site)
        defer { server.stop() }
        report.add(try await pull(writer, as: identity, from: server))
        try await news(at: server, for: report)
    }

    // MARK: Bytes

    /// Events in packs of nine: what they add to a store file, and what is in it.
    private func storeFigures() async throws -> (CommitWriter, [Figure]) {
        let before = try storeByteCount()
        let writer = try await write()
        // A command that opens the store alone leaves everything in its file.
        try home.run(["list"])
        let added = Double(try storeByteCount() - before) / Double(Self.eventCount)
        let stored =
            writer.entries.dropFirst().map(\.count).reduce(0, +) + writer.packs.values.map(\.count).reduce(0, +)
        let content = Double(stored) / Double(Self.eventCount)
        return (
            writer,
            [
                Figure(
                    work: "an event of \(CareEvent.byteCount) bytes in a store file, nine in a commit", time: added,
                    baseline: "at Etebase, files and database", baselineTime: Self.etebase.byteCount,
                    goal: .atMost(0.2), unit: .number),
                Figure(
                    work: "an event of \(CareEvent.byteCount) bytes, entries and packs alone", time: content,
                    baseline: "at Etebase, files and database", baselineTime: Self.etebase.byteCount,
                    goal: .atMost(0.2), unit: .number),
            ]
        )
    }

    private func storeByteCount() throws -> Int {
        let files = FileManager.default
        return try files.contentsOfDirectory(atPath: home.folder).reduce(0) { sum, name in
            guard name.hasPrefix("store.db") else { return sum }
            // Who closed it last left its file alone.
            guard name == "store.db" else { throw BaselineFailure() }
            return try sum + (files.attributesOfItem(atPath: "\(home.folder)/\(name)")[.size] as? Int ?? 0)
        }
    }

    /// Writes the events. The store is closed when this returns.
    private func write() async throws -> CommitWriter {
        let store = try await SQLiteStore.open(at: home.store, creating: false)
        let session = try await home.session(on: store)
        var writer = try await CommitWriter(session, try await session.tresor("events").id)
        for start in stride(from: 0, to: Self.eventCount, by: 9) {
            let items = try (start..<min(start + 9, Self.eventCount)).map { try CareEvent.item($0) }
            try await writer.commit(items, to: store)
        }
        return writer
    }

    // MARK: Tresors

    /// Makes all tresors but the one with events, each beside no other: to make one reads the names of all that are there.
    private func makeTresors() async throws -> Identity {
        let store = try await SQLiteStore.open(at: home.store, creating: false)
        let session = try await home.session(on: store)
        let file = try session.client.home.read(.identity) ?? []
        for number in 1..<Self.tresorCount {
            let (memory, empty) = (MemoryStore(), VolatileHome())
            empty.replace(.identity, with: file)
            let client = Client(home: empty, store: memory, clock: CommandHome.clock)
            let tresor = try await Session(client: client, identity: session.identity)
                .tresors.create(Name(text: "plan \(number)")).tresor
            let wraps = await memory.wraps(of: session.user, in: tresor, epoch: nil)
            for (sequence, entry) in await memory.entries(of: tresor, from: 0, limit: 2).enumerated() {
                guard sequence == 0, let wrap = wraps.first else { throw BaselineFailure() }
                let change = LogChange(
                    tresor: tresor, sequence: 0, previous: .zero, entry: entry,
                    putting: [StoredWrap(user: session.user, epoch: 1, bytes: wrap)])
                guard try await store.append(change) == .done else { throw BaselineFailure() }
            }
        }
        return session.identity
    }

    // MARK: First reading

    /// A new home of the person reads everything, beside the same bytes in a file.
    private func pull(_ writer: CommitWriter, as identity: Identity, from server: RunningServer) async throws
        -> [Figure]
    {
        let file = try home.write(Self.encoded(writer), to: "log-and-packs")
        let store = try await SQLiteStore.open(at: home.store, creating: false)
        let person = try await home.session(on: store).client.home.read(.identity) ?? []
        var turn = 0
        var received = 0
        let times = try await Measure.byTurns(Self.rounds, after: { turn = $0 }) {
            let empty = DirectoryHome(
                data: "\(home.folder)/new-\(turn)", state: "\(home.folder)/new-\(turn)/state")
            try empty.replace(.identity, with: person)
            let client = Client(
                home: empty, store: try HTTPStore("http://127.0.0.1:\(server.port)"), clock: CommandHome.clock)
            let records = Session(client: client, identity: identity).records(in: writer.tresor)
            _ = try await records.pull()
            received = try await records.list().records.count
        } _: {
            guard try Self.open(file, writer) == Self.eventCount else { throw BaselineFailure() }
        }
        guard received == Self.eventCount else { throw BaselineFailure() }
        let load = try String(contentsOfFile: "/proc/loadavg", encoding: .utf8).prefix { $0 != " " }
        let work = "pull \(Self.eventCount) records over loopback"
        return [
            Figure(
                work: "\(work), at a load of \(load)", time: times.first, baseline: "Etebase, on a loaded machine",
                baselineTime: Self.etebase.seconds, goal: .atMost(0.1)),
            Figure(
                work: work, time: times.first, baseline: "reading and opening the same bytes from a file",
                baselineTime: times.second, goal: .atMost(1.5)),
        ]
    }

    /// The entries of a log, then its packs.
    private static func encoded(_ writer: CommitWriter) -> [UInt8] {
        var encoder = ByteEncoder()
        for entry in writer.entries { encoder.vector32(entry) }
        for (_, pack) in writer.packs.sorted(by: { $0.key < $1.key }) { encoder.vector32(pack) }
        return encoder.bytes
    }

    /// Reads, verifies and opens what ``encoded(_:)`` made.
    ///
    /// - Returns: the number of records.
    private static func open(_ file: String, _ writer: CommitWriter) throws -> Int {
        var decoder = ByteDecoder([UInt8](try Data(contentsOf: URL(filePath: file))))
        let entries = try writer.entries.map { _ in try decoder.vector32(0...Entry.maximumByteCount) }
        var packs: [UInt64: [UInt8]] = [:]
        for sequence in writer.packs.keys.sorted() {
            packs[sequence] = try decoder.vector32(0...Int(Blob.greatestPackSize))
        }
        return try writer.open(packs, of: entries, in: try Fold.state(of: entries, tresor: writer.tresor))
    }

    // MARK: News

    /// The requests of a home that has read everything: of the command that looks once, and of the one that stays.
    private func news(at server: RunningServer, for report: Report) async throws {
        let address = "http://127.0.0.1:\(server.port)"
        let program = try home.moved(to: address, name: "elsewhere")
        let words = ["sync", "--batch", "--quiet"]
        try program.run(words)
        let before = try server.requestCount
        let time = try await Measure.time { try program.run(words) }
        let once = try server.requestCount - before
        report.add(
            Figure(
                work: "requests for nothing new in \(Self.tresorCount) tresors, sync (\(Figure.seconds(time)))",
                time: Double(once), baseline: "one", baselineTime: 1, goal: nil, unit: .number))
        let watch = Process()
        watch.executableURL = URL(filePath: program.path)
        watch.arguments = words + ["--watch"]
        watch.environment = program.environment
        for output in [FileHandle.nullDevice] { (watch.standardOutput, watch.standardError) = (output, output) }
        watch.standardInput = FileHandle.nullDevice
        try watch.run()
        defer {
            watch.terminate()
            watch.waitUntilExit()
        }
        let start = try await settled(server, since: before + once)
        note("plans: waiting a minute for no news")
        try await Task.sleep(for: Self.tick)
        guard watch.isRunning else { throw LoadFailure("sync --watch ended") }
        let requests = try server.requestCount - start
        report.add(
            Figure(
                work: "requests for nothing new in \(Self.tresorCount) tresors, sync --watch", time: Double(requests),
                baseline: "one", baselineTime: 1, goal: .atMost(1), unit: .number))
    }

    /// Waits until a service has answered more than so many requests, and then none for two seconds.
    ///
    /// - Returns: the number of requests that it has answered.
    private func settled(_ server: RunningServer, since first: Int) async throws -> Int {
        var last = first
        for _ in 0..<120 {
            try await Task.sleep(for: .seconds(2))
            let count = try server.requestCount
            if count == last, count > first { return count }
            last = count
        }
        throw LoadFailure("sync --watch does not come to an end with reading")
    }
}
