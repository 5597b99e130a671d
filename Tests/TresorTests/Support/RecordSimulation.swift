// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// The real client on three devices for 40 days of virtual time, over a store that is late, double, lost, stale and
/// short, and with homes that stop at their writes. The seed determines all that is chosen.
final class RecordSimulation {
    /// The events so far, to show that there were enough.
    struct Tally: Sendable {
        var editCount = 0
        var syncCount = 0
        var commitCount = 0
        /// Checkpoints that the first device made.
        var compactionCount = 0
        /// How often what an index says was compared with what packs say.
        var indexedCount = 0
        /// Records with several heads at the end.
        var conflictCount = 0
        var faults = FickleStore.Faults()
        var stops: [StoppingHome.Stop: Int] = [:]

        mutating func add(_ other: Tally) {
            editCount += other.editCount
            syncCount += other.syncCount
            commitCount += other.commitCount
            compactionCount += other.compactionCount
            indexedCount += other.indexedCount
            conflictCount += other.conflictCount
            faults.add(other.faults)
            stops.merge(other.stops) { $0 + $1 }
        }
    }

    /// A change that a device made. The time of its item names it: no two have the same.
    private struct Edit {
        let record: Name
        /// The changes that were on the screen.
        let saw: Set<UInt64>
    }

    private struct Device {
        let base: MemoryHome
        let identity: Identity
        /// How far its clock is ahead, in seconds.
        let skew: UInt64
        /// The store, as this device sees it.
        let store: any Store
        var home: StoppingHome
        var records: Records
        /// The greatest pinned sequence number.
        var head: UInt64 = 0
    }

    private static let dayCount: UInt64 = 40
    private static let deviceCount = 3
    private static let century: UInt64 = 3_155_760_000

    private var dice: Dice
    private let flaw: RecordFlaw?
    private let store: FickleStore
    private let world: World
    private var tresor = TresorID(.zero)
    private var edits: [UInt64: Edit] = [:]
    private var devices: [Device] = []
    private(set) var findings: [String] = []
    private(set) var tally = Tally()

    /// - Parameter flaw: what the client does wrong.
    init(seed: UInt64, flaw: RecordFlaw? = nil) {
        dice = Dice(seed: seed)
        self.flaw = flaw
        store = FickleStore(seed: seed)
        world = World(store: store)
    }

    private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &dice) < percent }

    /// Runs all days, then lets everything arrive.
    ///
    /// - Returns: what is wrong; nothing for a run as it must be.
    func run() async throws -> [String] {
        try await open()
        for day in 0..<Self.dayCount {
            let start = world.clock.now
            // The devices without a network today.
            let away = Set(devices.indices.filter { _ in chance(35) })
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                let index = Int.random(in: devices.indices, using: &dice)
                try await edit(index, on: day)
                guard !away.contains(index), chance(60) else { continue }
                try await sync(index, mood: chance(70) ? .fickle : .short, stopping: chance(30))
            }
            if chance(4) { try await devices[0].records.session.tresor(tresor).perform(.rotate) }
            if chance(5) { await compact() }
            world.clock.now = start + 86_400
        }
        try await store.deliverAll()
        for _ in 0..<3 { for index in devices.indices { try await sync(index, mood: .short, stopping: false) } }
        try await judge()
        return findings
    }
}

/// The deeds of the devices.
extension RecordSimulation {
    /// Two devices of one person, and a third one, of the same or of another.
    private func open() async throws {
        let anna = try await world.quick("anna")
        tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        guard let home = anna.client.home as? MemoryHome else { return }
        var people = [(home, anna.identity), (home.copy(), anna.identity)]
        if chance(50) {
            people.append((home.copy(), anna.identity))
        } else {
            let bob = try await world.quick("bob")
            try world.introduce(anna, bob)
            people[1].0 = home.copy()
            try await anna.share(tresor, with: [bob], as: .writer)
            guard let his = bob.client.home as? MemoryHome else { return }
            people.append((his, bob.identity))
        }
        for (index, (base, identity)) in people.enumerated() {
            // Time modulo 3 names the device.
            let skews: [UInt64] = [0, 0, Self.century, Self.century / 300]
            let skew = skews.randomElement(using: &dice) ?? 0
            let device = UInt64(index)
            let home = stoppingHome(base)
            let seen: any Store = flaw?.store(before: store) ?? store
            devices.append(
                Device(
                    base: base, identity: identity, skew: skew / 3 * 3 + device, store: seen, home: home,
                    records: records(home, identity, skew / 3 * 3 + device, seen)))
        }
    }

    private func stoppingHome(_ base: MemoryHome, stoppingAt point: Int? = nil) -> StoppingHome {
        StoppingHome(base, stoppingAt: point, holdingPacks: flaw == .announcement)
    }

    private func records(
        _ home: StoppingHome, _ identity: Identity, _ skew: UInt64, _ store: any Store
    ) -> Records {
        let clock = world.clock
        let client = Client(home: home, store: store) { clock.now + skew }
        var records = Session(client: client, identity: identity).records(in: tresor)
        records.leastIndexedCount = 3
        return records
    }

    /// Starts the program of a device anew, after it was stopped or closed.
    private func restart(_ index: Int, stoppingAt point: Int? = nil) {
        let device = devices[index]
        device.home.stopNoMore()
        devices[index].home = stoppingHome(device.base, stoppingAt: point)
        devices[index].records = records(devices[index].home, device.identity, device.skew, device.store)
    }

    /// Notes where the home stopped, and starts the program anew if it did.
    private func endStop(_ index: Int) -> Bool {
        devices[index].home.stopNoMore()
        guard let stop = devices[index].home.stop else { return false }
        tally.stops[stop, default: 0] += 1
        restart(index)
        return true
    }

    private func edit(_ index: Int, on day: UInt64) async throws {
        world.clock.advance(by: 3)
        let time = world.clock.now + devices[index].skew
        var changes: [RecordChange] = []
        let view = try await devices[index].records.view()
        let packs = PackReader(client: devices[index].records.session.client, tresor: tresor)
        for text in texts(on: day) {
            let record = try Name(text: text)
            let unsent = try devices[index].records.outbox.read().item(of: record)
            var saw: Set<UInt64> = []
            if let unsent {
                saw = (edits[unsent.time]?.saw ?? []).union([unsent.time])
            } else {
                for head in view.table.heads(of: record) {
                    let item = try view.item(of: record, at: head.revision, from: packs)
                    saw.formUnion((edits[item.time]?.saw ?? []).union([item.time]))
                }
            }
            // One time names one change, so a set has one record here.
            let isThere = unsent.map { !$0.isDeletion } ?? (view.table.shown(of: record) != nil)
            changes.append(isThere && chance(15) ? .delete(text) : .put(text, Array("\(time)".utf8)))
            edits[time] = Edit(record: record, saw: saw)
        }
        tally.editCount += 1
        if chance(10) { restart(index, stoppingAt: Int.random(in: 0...1, using: &dice)) }
        do {
            try await devices[index].records.change(changes)
        } catch {
            guard endStop(index) else { return findings.append("a change failed: \(error)") }
        }
        _ = endStop(index)
        // A home that stopped behind the write has the change, and one that stopped before has not.
        let box = try devices[index].records.outbox.read()
        if !box.pending.joined().contains(where: { $0.time == time }) { edits[time] = nil }
    }

    /// The record that is changed: the dose of the day, an earlier one, the plan or a note.
    private func texts(on day: UInt64) -> [String] {
        switch Int.random(in: 0..<10, using: &dice) {
        case 0..<4: ["event/\(day)/\(Int.random(in: 0...1, using: &dice))"]
        case 4..<6: ["event/\(UInt64.random(in: 0...day, using: &dice))/0"]
        case 6..<9: ["plan"]
        default: ["note"]
        }
    }

    private func sync(_ index: Int, mood: FickleStore.Mood, stopping: Bool) async throws {
        if stopping || chance(20) {
            restart(index, stoppingAt: stopping ? Int.random(in: 0...17, using: &dice) : nil)
        }
        store.mood = mood
        defer { store.mood = .honest }
        let records = devices[index].records
        let stream = records.changes()
        let listener = Task {
            var announced: [UInt64] = []
            for await changes in stream { announced.append(changes.revision) }
            return announced
        }
        var report: SyncReport?
        var failure: TresorError?
        do throws(TresorError) { report = try await records.sync() } catch { failure = error }
        let faults = store.takeFaults()
        tally.faults.add(faults)
        tally.syncCount += 1
        listener.cancel()
        // A change that was announced is in the home, even if the program was stopped.
        for revision in await listener.value where try !isKept(revision, in: devices[index].base) {
            findings.append("announced, and not there: \(revision)")
        }
        let hasStopped = endStop(index)
        if let failure, !faults.areThere, !hasStopped { findings.append("a sync failed: \(failure)") }
        if let report, !faults.areThere, !report.missing.isEmpty { findings.append("a sync left out packs") }
        if let held = report?.held, !faults.areThere, !hasStopped { findings.append("held: \(held)") }
        if let report, !report.void.isEmpty || report.isGone { findings.append("void or gone: \(report)") }
        if flaw == nil, tally.syncCount % 16 == 0 {
            store.mood = .honest
            let device = devices[index]
            let next = self.records(device.home, device.identity, device.skew, device.store)
            let (read, anew) = try await next.bothFacts()
            if next.cache.view?.isIndexed == true { tally.indexedCount += 1 }
            if read != anew { findings.append("an index says something else: \(read), \(anew)") }
        }
        let head = try devices[index].records.session.client.heads()[tresor]?.sequence ?? 0
        if head < devices[index].head { findings.append("a head fell") }
        devices[index].head = head
    }

    /// The first device has every pack, and lets the others read volumes in the place of those that they have not seen.
    private func compact() async {
        do throws(TresorError) {
            if try await devices[0].records.compact().checkpoint != nil { tally.compactionCount += 1 }
        } catch {
            findings.append("a compaction failed: \(error)")
        }
    }

    private func isKept(_ revision: UInt64, in home: MemoryHome) throws -> Bool {
        // These packs are few and small: a part is one piece, and everything that is shown fits into one volume, which
        // stands for all entries before its checkpoint.
        let piece = HomeObject.records(tresor, part: PackFiles.part(of: revision))
        if try home.read(piece).map({ try KeptPacks($0).packs[revision] != nil }) == true { return true }
        let isInVolume = home.contents.keys.contains { object in
            if case .volume(_, let checkpoint, _) = object.kind { revision < checkpoint } else { false }
        }
        if isInVolume { return true }
        // Where versions only went, the head is announced, whatever it is.
        let archive = Client(home: home, store: store) { 0 }.archive
        guard let state = try archive.verifiedState(of: tresor) else { return false }
        return try archive.entries(of: state, from: revision).first.map { try !Entry($0).isCommit } ?? false
    }
}

/// The judgement.
extension RecordSimulation {
    /// Compares the devices, and the log with every change that was made.
    private func judge() async throws {
        var tables: Set<[String]> = []
        for (index, device) in devices.enumerated() {
            let view = try await device.records.view()
            if !view.table.isComplete { findings.append("\(index) is incomplete") }
            if try !device.records.outbox.read().isEmpty { findings.append("\(index) has unsent changes") }
            tables.insert(
                view.table.names.map { name in
                    let shown = view.table.shown(of: name)?.revision ?? 0
                    return "\(name.text) \(shown) \(view.table.heads(of: name).map(\.revision))"
                })
        }
        if tables.count != 1 { findings.append("diverged: \(tables)") }
        let view = try await devices[0].records.view()
        let packs = PackReader(client: devices[0].records.session.client, tresor: tresor)
        var counts: [UInt64: Int] = [:]
        var newest: [Name: UInt64] = [:]
        let commits = try await CommitReader(client: devices[0].records.session.client).commits(of: view.state, from: 0)
        for commit in commits {
            for item in try view.items(of: commit, from: packs) {
                counts[item.time, default: 0] += 1
                newest[item.record] = max(newest[item.record] ?? 0, item.time)
            }
        }
        var heads: [Name: Set<UInt64>] = [:]
        for name in view.table.names { heads[name] = Set(view.table.heads(of: name).map(\.time)) }
        if flaw == .clock { heads = newest.mapValues { [$0] } }
        tally.commitCount += commits.count
        tally.conflictCount += heads.values.count { $0.count > 1 }
        let seen = counts.keys.reduce(into: Set<UInt64>()) { $0.formUnion(edits[$1]?.saw ?? []) }
        for (time, edit) in edits {
            let count = counts[time] ?? 0
            if count > 1 { findings.append("twice: \(time)") }
            if count == 0, !seen.contains(time) { findings.append("lost: \(time)") }
            if count == 1, heads[edit.record]?.contains(time) != true, !seen.contains(time) {
                findings.append("overwritten unseen: \(time)")
            }
        }
        for times in heads.values {
            for time in times {
                let older = edits[time]?.saw.intersection(times) ?? []
                if !older.isEmpty { findings.append("false conflict: \(time) had seen \(older)") }
            }
        }
    }
}

extension FickleStore.Faults {
    fileprivate mutating func add(_ other: FickleStore.Faults) {
        lostCount += other.lostCount
        staleCount += other.staleCount
        lateCount += other.lateCount
        withheldCount += other.withheldCount
    }
}
