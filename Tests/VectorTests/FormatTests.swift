// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// SPEC's Appendix E names everything that the vectors have, and nothing else.
@Suite struct FormatTests {
    /// A row of E.3.
    private struct Row {
        let files: Set<String>
        let input: Set<String>
        let output: Set<String>
    }

    private static func section(_ name: String) throws -> Substring {
        let appendix = try #require(try Specification.text().split(separator: "\n## Appendix E. ").last)
        return try #require(appendix.split(separator: "\n### \(name) ").last?.split(separator: "\n### ").first)
    }

    /// The text between backquotes.
    private static func names(_ text: Substring) -> Set<String> {
        Set(text.matches(of: /`([^`]+)`/).map { String($0.1) })
    }

    /// The rows of a table, by the name in their first cell.
    private static func rows(_ text: Substring) -> [(name: String, cells: [Substring])] {
        text.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { line in
            let cells = line.split(separator: "|").dropLast(line.hasSuffix("|") ? 0 : 1)
            return names(cells[0]).map { ($0, Array(cells.dropFirst())) }
        }
    }

    private static func operations() throws -> [String: Row] {
        var operations: [String: Row] = [:]
        for (name, cells) in rows(try section("E.3")) {
            try #require(cells.count == 3 && operations[name] == nil, "\(name)")
            operations[name] = Row(files: names(cells[0]), input: names(cells[1]), output: names(cells[2]))
        }
        return operations
    }

    @Test func everyOperationIsSpecified() throws {
        let operations = try Self.operations()
        var found: [String: Set<String>] = [:]
        for file in Repository.files + ["nightly"] {
            for test in try Repository.tests(file) {
                let name = try #require(test["operation"] as? String)
                let row = try #require(operations[name], "\(name) does not stand in E.3")
                found[name, default: []].insert(file)
                for (member, stated) in [("in", row.input), ("out", row.output)] {
                    let unknown = Set((test[member] as? [String: Any] ?? [:]).keys).subtracting(stated)
                    #expect(unknown.isEmpty, "\(name): \(unknown)")
                }
            }
        }
        #expect(found == operations.mapValues(\.files))
    }

    @Test func everyIntermediateValueIsSpecified() throws {
        let stated = Self.names(try Self.section("E.4"))
        let found = try Repository.files.flatMap { try Repository.tests($0) }
            .flatMap { ($0["mid"] as? [String: Any] ?? [:]).keys }
        #expect(Set(found).subtracting(stated).isEmpty)
    }

    @Test func everyConstructionIsSpecified() throws {
        let stated = Self.rows(try Self.section("E.4")).map(\.name)
        let found = try Repository.tests("accumulated").compactMap { ($0["in"] as? [String: String])?["construction"] }
        #expect(Set(found) == Set(stated.map { $0.utf8.map { String(format: "%02x", $0) }.joined() }))
        #expect(found.count == stated.count)
    }

    @Test func everyStepAndViewIsSpecified() throws {
        let tables = Self.rows(try Self.section("E.5"))
        let common: Set = ["do", "comment", "flags", "expect", "views"]
        var steps: Set<String> = []
        var views: Set<String> = []
        for scenario in Repository.scenarios {
            for step in try Repository.json("scenario/\(scenario)")["steps"] as? [[String: Any]] ?? [] {
                let name = try #require(step["do"] as? String)
                let row = try #require(tables.first { $0.name == name && $0.cells.count == 2 }, "\(name)")
                steps.insert(name)
                #expect(Set(step.keys).subtracting(common).isSubset(of: Self.names(row.cells[0])), "\(name)")
                let expected = Set((step["expect"] as? [String: Any] ?? [:]).keys)
                #expect(expected.isSubset(of: Self.names(row.cells[1])), "\(name)")
                for view in (step["views"] as? [String: [String: Any]] ?? [:]).values { views.formUnion(view.keys) }
            }
        }
        #expect(steps == Set(tables.filter { $0.cells.count == 2 }.map(\.name)))
        #expect(views.subtracting(["error"]) == Set(tables.filter { $0.cells.count == 1 }.map(\.name)))
    }

    @Test func everyHeaderOfTheTestKitIsSpecified() throws {
        let stated = Set(Self.rows(try Self.section("E.6")).map(\.name))
        var found: Set<String> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: Repository.vectors + "/testkit") {
            let data = try Data(contentsOf: Repository.root.appendingPathComponent("vectors/testkit/\(name)"))
            for line in data.split(separator: 0x0a, omittingEmptySubsequences: false).prefix(while: { !$0.isEmpty }) {
                found.formUnion(line.split(separator: 0x3a).prefix(1).map { String(decoding: $0, as: UTF8.self) })
            }
        }
        #expect(found == stated)
    }

    /// §17 names files that there are, and operations that E.3 has.
    @Test func conformanceNamesWhatThereIs() throws {
        let text = try Specification.text()
        let section = try #require(text.split(separator: "\n## 17. ").last?.split(separator: "\n## ").first)
        let auditor = try #require(section.split(separator: "\n").first { $0.hasPrefix("| auditor |") })
        let operations = try Self.operations()
        for match in auditor.matches(of: /\*([A-Za-z]+)\*/) {
            #expect(operations[String(match.1)] != nil, "\(match.1)")
        }
        let reader = try #require(section.split(separator: "\n").first { $0.hasPrefix("| reader |") })
        let service = try #require(section.split(separator: "\n").first { $0.hasPrefix("| service |") })
        #expect(service.contains("; service;"))
        for file in Repository.files where !["act", "service", "opaque"].contains(file) {
            #expect(reader.contains("\(file)"), "\(file)")
        }
    }
}
