// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// One log given to `fold` and to the naive model. A dispute is a disagreement about an entry or a state, or a change
/// by a refused entry.
struct Retelling {
    /// All people in the log, by rising user id.
    let people: [UserID]
    let tresor: TresorID
    /// The acts done.
    private(set) var entries: [[UInt8]]
    /// The state after each entry.
    private(set) var states: [LogState]
    /// The model after each entry.
    private(set) var models: [NaiveLog]
    private(set) var disputes: [String] = []

    init(genesis bytes: [UInt8], people: [UserID]) throws {
        self.people = people
        let genesis = try Entry(bytes)
        tresor = genesis.tresor
        entries = [bytes]
        states = [try Fold.state(of: [bytes], tresor: genesis.tresor)]
        models = [try NaiveLog(genesis: genesis, people: people)]
        compare()
    }

    var state: LogState { states[states.count - 1] }
    var model: NaiveLog { models[models.count - 1] }

    /// The log up to a point where another branch may begin.
    func cut(to count: Int) -> Retelling {
        var early = self
        early.entries = Array(entries.prefix(count))
        early.states = Array(states.prefix(count))
        early.models = Array(models.prefix(count))
        return early
    }

    /// Tells the next entry.
    ///
    /// - Parameter drawn: what it is known to say; `nil` for what stands in it.
    /// - Returns: the name of the error with which `fold` refuses it.
    @discardableResult mutating func tell(_ entry: Entry, drawn: NaiveLog.Line? = nil) throws -> String? {
        let line = try NaiveLog.line(entry, people: people, grants: Array(state.hashes))
        if let drawn, drawn != line { disputes.append("\(drawn) was written as \(line)") }
        var next = model
        let expected = try next.apply(line, as: entry)
        var fold = Fold(state: state)
        let found = error { try fold.apply(entry) }?.name
        if found != expected {
            disputes.append("\(line): \(found ?? "done"), but \(expected ?? "done") in \(model)")
        }
        guard let after = fold.state, found == nil, expected == nil else {
            if fold.state?.kept != state.kept { disputes.append("\(line) was refused and changed the state") }
            return found
        }
        if (fold.voidRule != nil) != next.isVoid { disputes.append("\(line): void or not in \(model)") }
        entries.append(entry.bytes)
        states.append(after)
        models.append(next)
        compare()
        return nil
    }

    private mutating func compare() {
        if let difference = model.difference(from: state, people: people) {
            disputes.append("\(difference) after \(entries.count) entries: \(model)")
        }
    }

    /// Compares what the last state remembers of each that came before it, and what the whole log gives when it is
    /// folded anew.
    mutating func review() throws {
        for model in models {
            if let difference = model.difference(fromPastOf: state, people: people) {
                disputes.append("\(difference), as it was after \(model.written.count) entries: \(model)")
            }
        }
        var floor: UInt64 = 0
        for (bytes, model) in zip(entries, models).dropFirst() {
            let rule = state.voidRule(of: try Entry(bytes), floor: floor)
            if (rule != nil) != model.isVoid { disputes.append("\(model.written.count) entries: void or not, later") }
            floor = UInt64(model.floor.upto)
        }
        if try Fold.state(of: entries, tresor: tresor).kept != state.kept {
            disputes.append("another state when replayed")
        }
    }
}

extension LogState {
    /// The whole state in its one form.
    var kept: [UInt8] {
        var encoder = ByteEncoder()
        encode(into: &encoder)
        return encoder.bytes
    }
}
