// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Tresor
@testable import TresorCore

/// Each attack of the table `Tests/Attacks/attacks.tsv` is tried by a test that bears its id: a function `A34_…`. A name
/// may carry several: `A71_A86_…`. Scripts of the command line name in a comment what they try beside it.
@Suite struct CoverageTests {
    private static let folder = "Tests/Attacks"
    private static let columns = ["id", "goal", "check", "file", "before", "after", "test", "meaning"]

    /// A check that defeats an attack, or why there is none.
    private struct Row {
        let id: String
        let goal: String
        /// The check, or the rule that is one; `nil` where there is none that could be disabled.
        let check: String?
        /// Whether this check and that of the row before each defeat the attack alone.
        let isJoined: Bool
        /// The source that has the check, or the patch that disables it; empty for a rule, and for a check of an earlier
        /// row.
        let file: String
        let before: String
        let after: String
        /// Those that disable the check; without a check, the one that shows the attack on a careless user or program.
        let tests: [String]
        let meaning: String

        init(_ line: Substring) throws {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == columns.count else { throw Unmet("attacks.tsv: \(line)") }
            (id, goal, file, before, after) = (fields[0], fields[1], fields[3], fields[4], fields[5])
            isJoined = fields[2].hasPrefix("+")
            check = fields[2].hasPrefix("none: ") ? nil : String(fields[2].drop { $0 == "+" })
            tests = fields[6].split(separator: " ").map(String.init)
            meaning = fields[7]
        }

        var isRule: Bool { check?.wholeMatch(of: /R[0-9]+/) != nil }
    }

    private static func rows() throws -> [Row] {
        try Repository.text("\(folder)/attacks.tsv").split(separator: "\n").dropFirst().map(Row.init)
    }

    /// The ids in the name of a test.
    private static func ids(_ test: some StringProtocol) -> [String] {
        String(test).prefixMatch(of: /(?:A[0-9]+_)+/)?.0.split(separator: "_").map(String.init) ?? []
    }

    /// The tests of a file with ids in their names. A test is the first function behind its mark.
    private static func tests(in text: String) -> [(name: String, text: Substring)] {
        text.split(separator: "@Test").dropFirst().compactMap { test in
            guard let name = test.firstMatch(of: /func (\w+)/)?.1, !ids(name).isEmpty else { return nil }
            return (String(name), test)
        }
    }

    /// By name, the tests of the build, or those that disable checks.
    private static func tests(isReal: Bool) throws -> [String: String] {
        var tests: [String: String] = [:]
        for file in try Repository.files(of: "Tests", ending: ".swift")
        where file.path.hasPrefix("\(folder)/") == isReal {
            for test in Self.tests(in: file.text) { tests[test.name, default: ""] += test.text }
        }
        return tests
    }

    @Test func theTableIsWhole() throws {
        let header = try Repository.text("\(Self.folder)/attacks.tsv").prefix { $0 != "\n" }
        #expect(header == Self.columns.joined(separator: "\t"))
        let rows = try Self.rows()
        let numbers = rows.map { Int($0.id.dropFirst()) ?? 0 }
        #expect(numbers == numbers.sorted())
        #expect(Set(1...113).isSubset(of: numbers))
        // Those on the service, on approval and records, and those that an audit found; some of them are words alone.
        let later = [114...150, 161...161, 200...226, 230...252]
        #expect(numbers.allSatisfy { number in number <= 113 || later.contains { $0.contains(number) } })
        let pairs = rows.filter { !$0.isJoined }.map { "\($0.id) \($0.check ?? "")" }
        #expect(Set(pairs).count == pairs.count)
    }

    @Test func everyAttackIsTried() throws {
        let all = Set(try Self.rows().map(\.id))
        let covered = Set(try Self.tests(isReal: false).keys.flatMap(Self.ids))
        #expect(all.subtracting(covered).sorted() == [])
        #expect(covered.subtracting(all).sorted() == [], "ids that are not in the table")
    }

    /// If no check can be disabled, a test mounts the attack itself, or finds its target in a careless program.
    @Test func everyAttackWithoutACheckIsShownToBeReal() throws {
        let (rows, tests) = (try Self.rows(), try Self.tests(isReal: false))
        for row in rows where row.check == nil {
            let test = try #require(row.tests.first, "\(row.id)")
            #expect(row.tests.count == 1 && Self.ids(test).contains(row.id) && tests[test] != nil, "\(row.id): \(test)")
            #expect(rows.count { $0.id == row.id } == 1 && row.file.isEmpty, "\(row.id)")
        }
    }

    /// `scripts/attacks` disables each check in a test of the attacks that it defeats.
    @Test func everyAttackThatACheckDefeatsIsShownToBeReal() throws {
        let (rows, tests) = (try Self.rows(), try Self.tests(isReal: true))
        var named: Set<String> = []
        for (place, row) in rows.enumerated() {
            guard let check = row.check else { continue }
            #expect(!row.tests.isEmpty, "\(row.id): \(check)")
            let name = row.isRule ? check.lowercased() : check
            for test in row.tests {
                #expect(Self.ids(test).contains(row.id), "\(row.id): \(test)")
                #expect(tests[test]?.contains(try Regex("\\.\(name)\\b")) == true, "\(test): \(check)")
                named.insert("\(row.id) \(test)")
            }
            if row.isJoined {
                #expect(place > 0 && rows[place - 1].id == row.id, "\(row.id): \(check)")
                #expect(place > 0 && !Set(row.tests).isDisjoint(with: rows[place - 1].tests), "\(row.id): \(check)")
            }
        }
        let real = Set(tests.keys.flatMap { test in Self.ids(test).map { "\($0) \(test)" } })
        #expect(real.subtracting(named).sorted() == [], "tests that are not in the table")
    }

    /// The first row of a check says how it is disabled, by a line or a patch that names that check and no other. That the
    /// line or the patch fits is what `scripts/attacks --apply` proves.
    @Test func everyCheckIsDisabledInOnePlace() throws {
        var seen: Set<String> = []
        var larger: Set<String> = []
        for row in try Self.rows() {
            guard let check = row.check else { continue }
            if row.isRule {
                #expect(Rule.allCases.contains { "R\($0.rawValue)" == check }, "\(check)")
                #expect(row.file.isEmpty, "\(check)")
                continue
            }
            guard seen.insert(check).inserted else {
                #expect(row.file.isEmpty, "\(row.id): \(check)")
                continue
            }
            var text = row.after
            if row.file.hasPrefix("larger/") {
                #expect(row.file == "larger/\(check).patch" && row.before.isEmpty && row.after.isEmpty)
                text = try Repository.text("\(Self.folder)/\(row.file)")
                larger.insert("\(Self.folder)/\(row.file)")
            } else {
                #expect(row.file.hasPrefix("Sources/") && !row.before.isEmpty, "\(check)")
            }
            let named = Set(text.matches(of: /(?:Mutation\.|TRESOR_WITHOUT_)(\w+)/).map { String($0.1) })
            #expect(named == [check], "\(row.file)")
            #expect(!row.meaning.isEmpty, "\(check)")
        }
        let patches = try Repository.files(of: "\(Self.folder)/larger", ending: ".patch").map(\.path)
        #expect(larger.sorted() == patches)
    }

    /// SPEC §14.2 has each attack with its goal and what defeats it: in a table, and those on a service in a list.
    @Test func everyAttackStandsInTheSpecification() throws {
        let text = try Specification.text()
        let rows = text.matches(of: /\n\| A([0-9]+) [^|\n]+ \| (G[0-9]+) \| [^|\n]+ \|/).map { ($0.1, $0.2) }
        let items = text.matches(of: /\n\* \*\*A([0-9]+)\*\* [^*]+?\((G[0-9]+)\):/).map { ($0.1, $0.2) }
        for attacks in [rows, items] {
            let numbers = attacks.map { Int($0.0) ?? 0 }
            #expect(numbers == numbers.sorted())
        }
        let stated = (rows + items).map { "A\($0.0) \($0.1)" }
        let listed = Set(try Self.rows().map { "\($0.id) \($0.goal)" })
        #expect(stated.sorted() == listed.sorted())
        #expect(listed.allSatisfy { $0.wholeMatch(of: /A[0-9]+ G([1-9]|1[0-4])/) != nil })
    }
}
