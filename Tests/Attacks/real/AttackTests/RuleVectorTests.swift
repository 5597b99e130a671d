// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorConformance
@testable import TresorCore

/// The vectors notice when a rule of SPEC §9.3 is not checked.
@Suite struct RuleVectorTests {
    private static let suite = Result {
        try VectorSuite(Array(Data(contentsOf: Repository.root.appending(path: "vectors/log.json"))))
    }

    /// The tests that break the rule, as vectors/README.md lists them.
    private static func breaking(_ rule: Rule) throws -> Set<Int> {
        let rows = try Repository.text("vectors/README.md").split(separator: "\n")
        let row = try #require(rows.first { $0.hasPrefix("| R\(rule.rawValue) | ") })
        return Set(row.split(separator: "|")[1].split { ", ".contains($0) }.compactMap { Int($0) })
    }

    @Test(arguments: Rule.allCases) func aRuleThatIsNotCheckedIsNoticed(rule: Rule) async throws {
        let breaking = try Self.breaking(rule)
        // The crowds of one rule say nothing of the others, and take long.
        let tests = try Self.suite.get().cases.filter {
            $0.error != nil && $0.operation == "fold" || breaking.contains($0.id)
        }
        #expect(tests.count > 100)
        var noticing: Set<Int> = []
        for test in tests {
            let problem = await Rule.$disabled.withValue(rule) { await test.run() }
            if problem != nil { noticing.insert(test.id) }
        }
        #expect(!noticing.isEmpty && noticing.isSubset(of: breaking), "\(noticing.sorted())")
    }
}
