// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tresor
import TresorCore
import TresorCrypto

@testable import TresorCommand

/// SPEC, code and vectors say the same of labels, rules, errors and flags.
@Suite struct RegistryTests {
    @Test func labelsAreEqual() throws {
        let code = DomainLabel.registry.map { "\($0.label.text) \($0.use.rawValue)" }
        let rows = try Specification.text().split(separator: "\n").filter { $0.hasPrefix("| `tresor/v1/") }
        let specification = rows.map { row in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return "\(cells[0].dropFirst().dropLast()) \(cells[1])"
        }
        let vectors = try Repository.tests("labels").filter {
            $0["operation"] as? String == "label" && $0["error"] == nil
        }.map {
            let input = $0["in"] as? [String: String] ?? [:]
            return ["label", "use"].map { String(decoding: Hex.bytes(input[$0] ?? "") ?? [], as: UTF8.self) }.joined(
                separator: " ")
        }
        #expect(Set(code) == Set(specification))
        #expect(code.count == specification.count)
        #expect(Set(code) == Set(vectors))
    }

    @Test func everyLabelIsUsed() throws {
        let used = Set(
            try Repository.allTests().filter { $0["error"] == nil && $0["operation"] as? String != "label" }
                .compactMap { ($0["in"] as? [String: Any])?["label"] as? String })
        let elsewhere: Set = [
            "tresor/v1/seal", "tresor/v1/derive", "tresor/v1/epoch-wrap", "tresor/v1/approval-wrap",
            "tresor/v1/approval-release", "tresor/v1/device-wrap",
        ]
        for (label, _) in DomainLabel.registry where !elsewhere.contains(label.text) {
            #expect(used.contains(Hex.text(Array(label.text.utf8))), "\(label.text)")
        }
    }

    @Test func everyRuleHasAVectorThatBreaksIt() throws {
        let tests = try Repository.tests("log")
        let specification = try Specification.text()
        for rule in Rule.allCases {
            let breaking = tests.filter { $0["rule"] as? String == "R\(rule.rawValue)" }
            #expect(!breaking.isEmpty, "R\(rule.rawValue)")
            for test in breaking {
                // The body is void, or the log ends.
                let void = (test["out"] as? [String: Any])?["void"] as? String
                let isVoid = void == Hex.text(Array("R\(rule.rawValue)".utf8))
                #expect(isVoid || test["error"] as? String == rule.error.name, "R\(rule.rawValue)")
            }
            let row = specification.split(separator: "\n").first { $0.hasPrefix("| R\(rule.rawValue) |") }
            #expect(row?.hasSuffix("| `\(rule.error.name)` |") == true, "R\(rule.rawValue)")
        }
    }

    /// vectors/README.md lists the tests of each rule. `RuleVectorTests` shows that they notice when the rule is
    /// disabled.
    @Test func everyRuleStandsInTheReadme() throws {
        let readme = try Repository.text("vectors/README.md").split(separator: "\n")
        let tests = try Repository.tests("log")
        for rule in Rule.allCases {
            let ids = tests.filter { $0["rule"] as? String == "R\(rule.rawValue)" }.compactMap { $0["id"] as? Int }
            let row = "| R\(rule.rawValue) | \(ids.map(String.init).joined(separator: ", ")) |"
            #expect(readme.contains(Substring(row)), "\(row)")
        }
        #expect(readme.count { $0.hasPrefix("| R") } == Rule.allCases.count)
    }

    /// The generator is a package of its own, which uses this one.
    @Test func theGeneratorOfVectorsIsNoProduct() throws {
        #expect(!(try Repository.text("Package.swift")).contains("tresor-vectors"))
        let manifest = try Repository.text("vectors/generator/Package.swift")
        #expect(manifest.contains("name: \"tresor-vectors\"") && manifest.contains("path: \"../..\""))
    }

    /// Reviewers run the vectors. A build of another product compiles nothing of that.
    @Test func conformanceIsInNoOtherProduct() throws {
        let manifest = try Repository.text("Package.swift")
        let users = manifest.split(separator: "\n        .").filter { $0.contains("\"TresorConformance\"") }
        let own = [
            "executable(name: \"tresor-selftest\"", "executableTarget(\n            name: \"TresorConformance\"",
        ]
        #expect(users.count > own.count)
        for user in users where !user.hasPrefix("testTarget(") {
            #expect(own.contains { user.hasPrefix($0) }, "\(user)")
        }
        #expect(!(try Repository.text("debian/rules")).contains("selftest"))
    }

    @Test func versionsAreEqual() throws {
        let specification = try Specification.text()
        let version = Program.specification
        #expect(specification.contains("| version | \(version) (draft; tag `spec/v\(version)`) |"))
        let newest = try #require(specification.split(separator: "## Appendix C. Changes").last)
        #expect(newest.contains("|---|---|---|\n| \(version) | "))
    }

    @Test func everyErrorOccurs() throws {
        let specification = try Specification.text()
        let named = Set(
            try Repository.tests("text").filter { $0["operation"] as? String == "exitCode" && $0["error"] == nil }
                .compactMap { ($0["in"] as? [String: String])?["error"].flatMap(Hex.bytes) })
        let errors: [CommandError] = [
            .failed(.other), .notFound, .busy, .wrongPassword, .noAccess, .altered, .forked, .unverified, .waiting,
            .store(.other),
            .unsupported, .usage, .interrupted,
        ]
        for error in errors {
            #expect(specification.contains("| `\(error.name)` | \(error.exitCode) |"), "\(error.name)")
            #expect(named.contains(Array(error.name.utf8)), "\(error.name)")
        }
        #expect(named.count == errors.count)
        #expect(ErrorName.allCases.map(\.rawValue) == errors.map(\.name))
        let thrown = Set(try Repository.allTests().compactMap { $0["error"] as? String })
        for error in [
            "altered", "unsupported", "no_access", "forked", "unverified", "usage", "wrong_password", "not_found",
        ] {
            #expect(thrown.contains(error), "\(error)")
        }
    }

    /// The flags that a test may have, which each schema lists.
    private static func flags() throws -> [String] {
        var place: Any = try Repository.json("schema/log.schema.json")
        for member in ["properties", "groups", "items", "oneOf"] {
            place = try #require((place as? [String: Any])?[member])
        }
        place = try #require((place as? [Any])?.first)
        for member in ["properties", "tests", "items", "properties", "flags", "items", "enum"] {
            place = try #require((place as? [String: Any])?[member])
        }
        return try #require(place as? [String])
    }

    @Test func everyFlagIsUsedTwice() throws {
        var counts: [String: Int] = [:]
        for test in try Repository.allTests() {
            for flag in test["flags"] as? [String] ?? [] { counts[flag, default: 0] += 1 }
        }
        for scenario in Repository.scenarios {
            for step in try Repository.json("scenario/\(scenario)")["steps"] as? [[String: Any]] ?? [] {
                for flag in step["flags"] as? [String] ?? [] { counts[flag, default: 0] += 1 }
            }
        }
        let flags = try Self.flags()
        for flag in flags { #expect(counts[flag, default: 0] >= 2, "\(flag)") }
        #expect(Set(counts.keys).isSubset(of: flags))
    }
}
