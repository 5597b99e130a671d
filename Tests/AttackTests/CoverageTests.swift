// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Tresor
@testable import TresorCore

/// Each attack of the list is tried by a test that bears its id: a function `A34_…`. A name may carry several:
/// `A71_A86_…`. Scripts of the command line name in a comment what they try beside it.
@Suite struct CoverageTests {
    private static let folder = "Tests/AttackTests"
    private static let mutations = "Tests/Mutations"

    private static func ids(_ file: String) throws -> [String] { try Repository.lines("\(folder)/\(file)") }

    /// The attacks on the service.
    private static func service() throws -> [String] { try defeats("service.txt").map(\.id) }

    private static func covered() throws -> Set<String> {
        var found: Set<String> = []
        for file in try Repository.files(of: "Tests", ending: ".swift") where !file.path.contains("/Real/") {
            // A test is the first function behind its mark.
            for test in file.text.split(separator: "@Test").dropFirst() {
                guard let name = test.firstMatch(of: /func (\w+)/)?.1,
                    let ids = name.prefixMatch(of: /(?:A[0-9]+_)+/)?.0
                else { continue }
                found.formUnion(ids.split(separator: "_").map(String.init))
            }
        }
        return found
    }

    @Test func theListIsWhole() throws {
        let numbers = try Self.ids("attacks.txt").map { Int($0.dropFirst()) ?? 0 }
        #expect(Array(numbers.prefix(113)) == Array(1...113))
        // Those on approval and records, and those that an audit found; they rise, and some of them are words alone.
        let later = Array(numbers.dropFirst(113))
        let ranges = [132...150, 161...161, 200...226, 230...252]
        #expect(later.allSatisfy { number in ranges.contains { $0.contains(number) } })
        #expect(later == Set(later).sorted())
    }

    @Test func everyAttackIsTried() throws {
        let all = try Self.ids("attacks.txt")
        let covered = try Self.covered()
        #expect(all.filter { !covered.contains($0) } == [])
        let service = try Self.service()
        #expect(service.filter { !covered.contains($0) } == [])
        #expect(covered.subtracting(all + service).sorted() == [], "ids that are not on the lists")
    }

    /// The row of an attack in `checks.txt`.
    private struct Defeat {
        /// The checks that are disabled, each the name of a patch or of a rule.
        var checks: [String] = []
        /// The test that shows the attack on a careless user or program, for an attack without a check.
        var test: String?
    }

    private static func defeats() throws -> [(id: String, defeat: Defeat)] {
        try defeats("checks.txt") + defeats("service.txt")
    }

    private static func defeats(_ file: String) throws -> [(id: String, defeat: Defeat)] {
        try ids(file).map { line in
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { throw Unmet("\(file): \(line)") }
            if let shown = words[1].wholeMatch(of: /no check \((A\w+)\): .+/) {
                return (words[0], Defeat(test: String(shown.1)))
            }
            return (words[0], Defeat(checks: words[1].split { " +".contains($0) }.map(String.init)))
        }
    }

    /// By id, the tests that disable a check.
    private static func realTests() throws -> [String: String] {
        var tests: [String: String] = [:]
        for file in try Repository.files(of: "\(mutations)/tree/Tests", ending: ".swift")
        where file.path.contains("/Real/") {
            for test in file.text.split(separator: "@Test").dropFirst() {
                for id in test.firstMatch(of: /func ((?:A[0-9]+_)+)/)?.1.split(separator: "_") ?? [] {
                    tests[String(id), default: ""] += test
                }
            }
        }
        return tests
    }

    @Test func everyAttackHasWhatDefeatsIt() throws {
        #expect(try Self.defeats("checks.txt").map(\.id) == Self.ids("attacks.txt"))
    }

    /// If no check can be disabled, a test mounts the attack itself, or finds its target in a careless program.
    @Test func everyAttackWithoutACheckIsShownToBeReal() throws {
        let tests = try Repository.files(of: "Tests", ending: ".swift").filter { !$0.path.contains("/Real/") }
        for case (let id, let defeat) in try Self.defeats() where defeat.checks.isEmpty {
            let test = try #require(defeat.test, "\(id)")
            #expect(test.split(separator: "_").dropLast().contains(Substring(id)), "\(id): \(test)")
            #expect(tests.contains { $0.text.contains("func \(test)(") }, "\(id): \(test)")
        }
    }

    /// `scripts/attacks` disables each check in a test of the attacks that it defeats.
    @Test func everyAttackThatACheckDefeatsIsShownToBeReal() throws {
        let tests = try Self.realTests()
        for (id, defeat) in try Self.defeats() {
            #expect(defeat.checks.isEmpty == (tests[id] == nil), "\(id)")
            for check in defeat.checks {
                let name = check.wholeMatch(of: /R[0-9]+/) == nil ? check : check.lowercased()
                #expect(tests[id]?.contains(try Regex("\\.\(name)\\b")) == true, "\(id): \(check)")
            }
        }
    }

    /// A name that defeats nothing would be a check that nobody needs, or one that no attack tries.
    @Test func everyCheckDefeatsAnAttack() throws {
        let used = Set(try Self.defeats().flatMap(\.defeat.checks))
        let rules = used.filter { $0.wholeMatch(of: /R[0-9]+/) != nil }
        #expect(used.subtracting(rules) == Set(try Self.patches("checks")))
        #expect(rules.isSubset(of: Rule.allCases.map { "R\($0.rawValue)" }))
    }

    /// The patches of a folder, by name.
    private static func patches(_ folder: String) throws -> [String] {
        try Repository.files(of: "\(mutations)/\(folder)", ending: ".patch").map { file in
            String(file.path.split(separator: "/").last?.dropLast(".patch".count) ?? "")
        }
    }

    /// Each check has a patch of its own, which names that check and no other.
    @Test func everyPatchDisablesItsCheck() throws {
        let list = try Repository.files(of: "\(Self.mutations)/tree/Sources/TresorCrypto", ending: ".swift")
            .map { $0.text }.joined()
        let checks = list.matches(of: /static let (\w+) = Mutation\(rawValue: "(\w+)"\)/)
            .map { (name: String($0.1), rawValue: String($0.2)) }
        #expect(checks.filter { $0.name != $0.rawValue }.map(\.name) == [])
        let names = checks.map(\.name).sorted()
        #expect(try Self.patches("checks") == names)
        for file in try Repository.files(of: "\(Self.mutations)/checks", ending: ".patch") {
            let named = Set(file.text.matches(of: /(?:Mutation\.|TRESOR_WITHOUT_)(\w+)/).map { String($0.1) })
            #expect(file.path.hasSuffix("/\(named.sorted().joined(separator: " ")).patch"), "\(file.path): \(named)")
        }
    }

    @Test func everyAttackStandsInTheSpecification() throws {
        let text = try Specification.text()
        let found = Set(text.matches(of: /\bA[0-9]+\b/).map { String($0.0) })
        #expect(try Self.ids("attacks.txt").filter { !found.contains($0) } == [])
        // The attacks on the service have a list of their own there.
        let listed = text.matches(of: /\n\* \*\*(A[0-9]+)\*\*/).map { String($0.1) }
        #expect(try Self.service() == listed)
    }
}
