// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor

@testable import TresorConformance

/// Vectors that others have published, where they are present.
@Suite struct PublishedTests {
    private static let directory = Repository.root.deletingLastPathComponent().appendingPathComponent("shared/vectors")
    static let isPresent = FileManager.default.fileExists(atPath: directory.path)

    @Test func whatIsAbsentIsSkippedVisibly() throws {
        var lines: [String] = []
        let report = try PublishedVectors(directory: "/nonexistent").run { lines.append($0) }
        #expect(
            lines.count == 13 && lines.allSatisfy { $0.hasPrefix("skipped: crypto/") && $0.hasSuffix(", not present") })
        #expect(report.passed == 0 && report.isSuccess)
    }

    @Test(.enabled(if: isPresent, "published vectors are not present")) func everySetHolds() throws {
        var lines: [String] = []
        let report = try PublishedVectors(directory: Self.directory.path).run { lines.append($0) }
        #expect(report.isSuccess, "\(lines)")
        #expect(report.passed == 325 + 151 + 518 + 193 + 265 + 100 + 40 + 10 + 914 + 12 + 10 + 3 + 24)
    }
}
