// SPDX-License-Identifier: Apache-2.0

import Testing

/// Each attack of the list is tried by a test that bears its id: a function `A34_…`, or a script of the command line with the id in a
/// comment. A name may carry several: `A71_A86_…`.
@Suite struct CoverageTests {
    private static let folder = "Tests/AttackTests"

    private static func ids(_ file: String) throws -> [String] { try Repository.lines("\(folder)/\(file)") }

    private static func covered() throws -> Set<String> {
        var found: Set<String> = []
        for file in try Repository.files(of: "Tests", ending: ".swift") {
            for match in file.text.matches(of: /func ((?:A[0-9]+_)+)/) {
                found.formUnion(match.1.split(separator: "_").map(String.init))
            }
        }
        for script in try Repository.files(of: "Tests/CLITests/scripts", ending: ".txt") {
            for line in script.text.split(separator: "\n") where line.hasPrefix("#") {
                for match in line.matches(of: /\bA[0-9]+\b/) { found.insert(String(match.0)) }
            }
        }
        return found
    }

    @Test func theListIsWhole() throws {
        #expect(try Self.ids("attacks.txt") == (1...113).map { "A\($0)" })
    }

    @Test func everyAttackIsTried() throws {
        let all = try Self.ids("attacks.txt")
        let covered = try Self.covered()
        #expect(all.filter { !covered.contains($0) } == [])
        #expect(covered.subtracting(all).sorted() == [], "ids that are not on the list")
    }

    @Test func everyAttackStandsInTheSpecification() throws {
        let text = try Repository.text("SPEC.md")
        let found = Set(text.matches(of: /\bA[0-9]+\b/).map { String($0.0) })
        #expect(try Self.ids("attacks.txt").filter { !found.contains($0) } == [])
    }
}
