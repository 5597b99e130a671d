// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Every schedule of a few devices that edit one record, over a store at which each append arrives at any later time,
/// twice or never. The outbox, the table and the choice of what an edit replaces are those of the client.
@Suite struct OutboxModelTests {
    @Test(arguments: [(2, 1), (2, 2), (3, 1)]) func A145_everyScheduleKeepsEachEditOnce(devices: Int, edits: Int) throws
    {
        let found = try OutboxModel(devices: devices, edits: edits).explore()
        #expect(found.findings == [])
        #expect(found.stateCount > 20 * devices * edits && found.quietCount > 0, "\(found)")
    }

    /// The owner changes the key and removes the last device's person, at any time. The long run lets each device edit
    /// twice.
    @Test func A145_everyScheduleWithRotationAndRemovalKeepsEachEdit() throws {
        let found = try OutboxModel(devices: 2, edits: LongRun.isOn ? 2 : 1, acts: [.rotation, .removal]).explore()
        #expect(found.findings == [])
        #expect(found.goneCount > 0 && found.quietCount > 0, "\(found)")
    }

    /// A sent commit that is made anew while its place may be free is in the log twice.
    @Test func A145_aThawedCommitIsFoundOut() throws {
        #expect(try OutboxModel(devices: 2, edits: 1, flaw: .thaw).explore().findings.contains("twice"))
    }

    /// A pending edit that takes what came unseen as replaced overwrites it.
    @Test func A145_aRebasedEditIsFoundOut() throws {
        #expect(try OutboxModel(devices: 2, edits: 1, flaw: .rebase).explore().findings.contains("overwritten unseen"))
    }
}

/// The states that devices, store and network can reach.
private final class OutboxModel {
    /// The events in the log besides edits.
    enum Act: Hashable { case rotation, removal }

    /// The deeds that a client must not do.
    enum Flaw { case thaw, rebase }

    struct Found {
        var stateCount = 0
        /// States in which everybody has everything.
        var quietCount = 0
        /// Of these, those in which a person is out of the tresor.
        var goneCount = 0
        var findings: Set<String> = []
    }

    /// An entry, by what it does.
    private enum Line: Hashable {
        case commit(Outbox.Sent, device: Int)
        case act(Act)
    }

    private struct Device: Hashable {
        /// How many entries it has read.
        var known = 0
        /// Its outbox, by number.
        var outbox = 0
        var editsLeft: Int
    }

    private struct Append: Hashable {
        /// How long the log must be.
        let place: Int
        /// The entry, by number.
        let line: Int
    }

    private struct State: Hashable {
        /// The entries, by number.
        var log: [Int] = []
        var devices: [Device]
        /// Every append that was sent. It may arrive at any time.
        var network: Set<Append> = []
        var actsLeft: Set<Act>
        /// How many commits were made.
        var madeCount = 0
    }

    private let editCount: Int
    private let deviceCount: Int
    private let acts: Set<Act>
    private let flaw: Flaw?
    private let author: Identity
    private let record: Name
    private var lines: [Line] = []
    private var lineNumbers: [Line: Int] = [:]
    private var outboxes = [Outbox()]
    private var outboxNumbers: [Outbox: Int] = [Outbox(): 0]
    private var tables: [[Int]: RecordTable] = [:]

    init(devices: Int, edits: Int, acts: Set<Act> = [], flaw: Flaw? = nil) throws {
        deviceCount = devices
        editCount = edits
        self.acts = acts
        self.flaw = flaw
        author = try identity("anna")
        record = try Name(typed: "plan")
    }

    func explore() throws -> Found {
        var found = Found()
        let start = State(
            devices: Array(repeating: Device(editsLeft: editCount), count: deviceCount), actsLeft: acts)
        var seen: Set<State> = [start]
        var open = [start]
        while let state = open.popLast() {
            judge(state, &found)
            for next in try steps(from: state) where seen.insert(next).inserted { open.append(next) }
        }
        found.stateCount = seen.count
        return found
    }

    private func number(_ line: Line) -> Int {
        if let number = lineNumbers[line] { return number }
        lines.append(line)
        lineNumbers[line] = lines.count - 1
        return lines.count - 1
    }

    private func number(_ outbox: Outbox) -> Int {
        if let number = outboxNumbers[outbox] { return number }
        outboxes.append(outbox)
        outboxNumbers[outbox] = outboxes.count - 1
        return outboxes.count - 1
    }

    /// The table of a log. The first entry has the sequence number 1.
    private func table(_ log: [Int]) -> RecordTable {
        if let table = tables[log] { return table }
        var table = RecordTable()
        for (index, line) in log.enumerated() {
            if case .commit(let sent, _) = lines[line] { table.take(.items(sent.items), at: UInt64(index + 1)) }
        }
        tables[log] = table
        return table
    }

    private func place(of act: Act, in log: [Int]) -> Int? { log.firstIndex { lines[$0] == .act(act) } }

    /// Whether a device knows that its person is out.
    private func isGone(_ index: Int, in state: State) -> Bool {
        index == deviceCount - 1
            && place(of: .removal, in: Array(state.log.prefix(state.devices[index].known))) != nil
    }
}

/// The steps.
extension OutboxModel {
    private func steps(from state: State) throws -> [State] {
        var next: [State] = []
        for append in state.network where append.place == state.log.count {
            var state = state
            state.log.append(append.line)
            next.append(state)
        }
        for index in state.devices.indices where !isGone(index, in: state) {
            let steps: [(Int, State) throws -> State?] = [edit, pull, send, thaw]
            for step in steps { if let state = try step(index, state) { next.append(state) } }
        }
        for act in state.actsLeft {
            var state = state
            state.actsLeft.remove(act)
            state.network.insert(Append(place: state.devices[0].known, line: number(.act(act))))
            next.append(state)
        }
        return next
    }

    /// The person changes the record. Its content names the edit and those that were on the screen.
    private func edit(_ index: Int, _ state: State) throws -> State? {
        guard state.devices[index].editsLeft > 0 else { return nil }
        var (state, device) = (state, state.devices[index])
        var outbox = outboxes[device.outbox]
        let edit = UInt8(index * editCount + editCount - device.editsLeft + 1)
        let log = Array(state.log.prefix(device.known))
        let table = table(log)
        let shown: [Item] =
            outbox.item(of: record).map { [$0] }
            ?? table.heads(of: record).compactMap { head -> Item? in
                guard case .commit(let sent, _) = lines[log[Int(head.revision) - 1]] else { return nil }
                return sent.items.first
            }
        let saw = Set(shown.flatMap { Self.edits($0) })
        let content = Item.Content.bytes([edit] + saw.sorted(), type: .empty)
        try outbox.add(outbox.items(of: [(record, content)], over: table, ifShown: [:], at: 0))
        device.outbox = number(outbox)
        device.editsLeft -= 1
        state.devices[index] = device
        return state
    }

    /// The edit that an item is, and those that its author saw.
    private static func edits(_ item: Item) -> [UInt8] {
        guard case .bytes(let bytes, _) = item.content else { return [] }
        return bytes
    }

    /// The device reads the log to its end.
    private func pull(_ index: Int, _ state: State) -> State? {
        guard state.devices[index].known < state.log.count else { return nil }
        var (state, device) = (state, state.devices[index])
        device.known = state.log.count
        state.devices[index] = device
        guard !isGone(index, in: state) else { return state }
        var outbox = outboxes[device.outbox]
        if let sent = outbox.sent, sent.entry.sequence <= state.log.count {
            let line = state.log[Int(sent.entry.sequence) - 1]
            if lines[line] == .commit(sent, device: index) { outbox.settle() } else { outbox.giveBack() }
        }
        state.devices[index].outbox = number(outbox)
        return state
    }

    /// The device freezes what is pending, and sends it. Sending again sends the same, which the network has already.
    private func send(_ index: Int, _ state: State) throws -> State? {
        var (state, device) = (state, state.devices[index])
        var outbox = outboxes[device.outbox]
        guard outbox.sent == nil, !outbox.pending.isEmpty else { return nil }
        let log = Array(state.log.prefix(device.known))
        var items = outbox.next()
        if flaw == .rebase {
            let replaced = table(log).replacedNow(of: record)
            items = items.map { Item(record: $0.record, replaces: replaced, time: 0, content: $0.content) }
        }
        let epoch: UInt64 = place(of: .rotation, in: log) == nil ? 1 : 2
        let body = EntryBody.commit(CommitBody(epoch: epoch, blobs: [Blob(hash: .zero, size: 674)]))
        let entry = try Entry(
            tresor: TresorID(.zero), sequence: UInt64(device.known + 1), previous: .zero, author: author,
            time: UInt64(state.madeCount), body: body)
        let sent = Outbox.Sent(entry: entry, pack: [], items: items)
        outbox.freeze(sent)
        device.outbox = number(outbox)
        state.devices[index] = device
        state.madeCount += 1
        state.network.insert(Append(place: device.known, line: number(.commit(sent, device: index))))
        return state
    }

    /// The flaw: a sent commit becomes pending again while its place may be free.
    private func thaw(_ index: Int, _ state: State) -> State? {
        var state = state
        var outbox = outboxes[state.devices[index].outbox]
        guard flaw == .thaw, outbox.sent != nil, state.madeCount <= deviceCount * editCount else { return nil }
        outbox.giveBack()
        state.devices[index].outbox = number(outbox)
        return state
    }
}

/// The judgement.
extension OutboxModel {
    private func judge(_ state: State, _ found: inout Found) {
        let removal = place(of: .removal, in: state.log)
        if let removal, state.log.dropFirst(removal).contains(where: { isCommit($0, of: deviceCount - 1) }) {
            found.findings.insert("committed after the removal")
        }
        let isQuiet = state.devices.indices.allSatisfy { index in
            let device = state.devices[index]
            guard device.known == state.log.count else { return false }
            return isGone(index, in: state) || device.editsLeft == 0 && outboxes[device.outbox].isEmpty
        }
        guard isQuiet else { return }
        found.quietCount += 1
        if removal != nil { found.goneCount += 1 }
        let items = state.log.map { line -> Item? in
            guard case .commit(let sent, _) = lines[line] else { return nil }
            return sent.items.first
        }
        var known = Set(items.compactMap { $0 }.flatMap { Self.edits($0).dropFirst() })
        let heads = table(state.log).heads(of: record).compactMap { items[Int($0.revision) - 1] }.map(Self.edits)
        // Changes that a person who is out has not sent are in the outbox still, and are named.
        let left = state.devices.flatMap { outboxes[$0.outbox].item(of: record).map(Self.edits) ?? [] }
        known.formUnion(left.dropFirst())
        for (index, device) in state.devices.enumerated() {
            for number in 0..<(editCount - device.editsLeft) {
                let edit = UInt8(index * editCount + number + 1)
                let count = items.count { $0.map(Self.edits)?.first == edit }
                if count > 1 { found.findings.insert("twice") }
                if count == 0, !known.contains(edit), left.first != edit { found.findings.insert("lost") }
                let isHead = heads.contains { $0.first == edit }
                if count > 0, !isHead, !known.contains(edit) { found.findings.insert("overwritten unseen") }
            }
        }
        for head in heads {
            let others = heads.compactMap(\.first).filter { $0 != head.first }
            if !Set(others).isDisjoint(with: head.dropFirst()) { found.findings.insert("false conflict") }
        }
    }

    private func isCommit(_ line: Int, of index: Int) -> Bool {
        if case .commit(_, index) = lines[line] { true } else { false }
    }
}
