// SPDX-License-Identifier: Apache-2.0

import TresorWithoutRules

/// Leaves out each rule of SPEC §9.3 in turn and looks which vectors notice. The judge is a copy of the shipped one, built from the same source, that
/// alone knows how to leave a rule out.
enum RuleMutation {
    /// A test that must be refused: what comes before the entry, and the entry.
    struct Case {
        let id: Int
        let tresor: Bytes
        let log: [Bytes]
        let entry: Bytes
        let error: String
    }

    static let rules = Rule.allCases.map(\.rawValue)

    /// By rule, the tests that do not go as they must without it.
    static func noticing(_ cases: [Case]) -> [Int: [Int]] {
        var states: [[Bytes]: Fold] = [:]
        var noticed: [Int: [Int]] = [:]
        for test in cases {
            let place = [test.tresor] + test.log
            let before = states[place] ?? folded(test)
            states[place] = before
            for rule in Rule.allCases where error(of: test.entry, after: before, without: rule) != test.error {
                noticed[rule.rawValue, default: []].append(test.id)
            }
        }
        return noticed
    }

    private static func folded(_ test: Case) -> Fold {
        var fold = Fold(tresor: TresorID(must(try required(Digest(test.tresor)))))
        for entry in test.log { must(try fold.apply(entry)) }
        return fold
    }

    private static func error(of entry: Bytes, after before: Fold, without rule: Rule) -> String? {
        Rule.$leftOut.withValue(rule) {
            var fold = before
            do throws(TresorError) {
                try fold.apply(entry)
                return nil
            } catch {
                return error.name
            }
        }
    }
}

extension RuleMutation.Case {
    /// The refused entries of log.json.
    static func all(of file: VectorFile) -> [RuleMutation.Case] {
        var inputs: [Int: [String: Datum]] = [:]
        var cases: [RuleMutation.Case] = []
        for group in file.groups where group.operation == "fold" {
            for test in group.tests {
                let own = Dictionary(uniqueKeysWithValues: test.input.pairs)
                let input = (test.base.flatMap { inputs[$0] } ?? [:]).merging(own) { _, own in own }
                inputs[test.id] = input
                guard let error = test.error, case .bytes(let tresor) = input["tresor"],
                    case .list(let log) = input["log"], case .bytes(let entry) = input["entry"]
                else { continue }
                cases.append(
                    RuleMutation.Case(id: test.id, tresor: tresor, log: log, entry: entry, error: error))
            }
        }
        return cases
    }

    /// One person more than a tresor may hold.
    static func overcrowded(_ file: VectorFile) -> [RuleMutation.Case] {
        file.tests.filter { $0.rule == 22 }.map { test in
            let log = Log.begun(file.draw(test.id - 1), founder: Cast.anna)
            let entries = Crowd(log: log, count: 10_000, peopleInGrant: 700).entries
            return RuleMutation.Case(
                id: test.id, tresor: log.tresor, log: [log.entries[0]] + entries.dropLast(),
                entry: entries[entries.count - 1], error: "altered")
        }
    }
}
