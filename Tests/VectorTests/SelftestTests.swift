// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorConformance

/// The program `tresor-selftest` fails for a vector that does not hold, and for one that is missing. The gate runs it on
/// all vectors.
@Suite struct SelftestTests {
    /// Runs a directory that has `labels.json` alone.
    private func run(_ text: String? = nil, positives: Int) async throws -> (report: Selftest.Report, lines: [String]) {
        let directory = FileManager.default.temporaryDirectory.appending(path: "selftest-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let text = try text ?? Repository.text("vectors/labels.json")
        try Data(text.utf8).write(to: directory.appending(path: "labels.json"))
        let index = #"{"files":{"labels.json":{"spec":"16","positives":\#(positives),"negatives":0}}}"#
        try Data(index.utf8).write(to: directory.appending(path: "index.json"))
        var lines: [String] = []
        let report = try await Selftest(vectors: directory.path(percentEncoded: false)).run { lines.append($0) }
        return (report, lines)
    }

    @Test func everyTestOfAFileIsCounted() async throws {
        let count = try Repository.tests("labels").count
        let (report, lines) = try await run(positives: count)
        #expect(report.isSuccess && report.passed == count && report.failed == 0)
        #expect(lines == ["SPEC 16   labels        \(count) passed, 0 failed", "\(count) passed, 0 failed"])
    }

    @Test func aMissingTestIsAFailure() async throws {
        let count = try Repository.tests("labels").count
        let (report, lines) = try await run(positives: count + 1)
        #expect(!report.isSuccess && report.failed == 0)
        #expect(lines.contains("the counts are not those of index.json"))
    }

    @Test func anotherResultIsAFailure() async throws {
        let count = try Repository.tests("labels").count
        let text = try Repository.text("vectors/labels.json")
        let changed = text.replacing(
            #""result": "valid""#, with: #""result": "invalid", "error": "altered""#, maxReplacements: 1)
        try #require(changed != text)
        let (report, lines) = try await run(changed, positives: count)
        #expect(!report.isSuccess && report.passed == count - 1 && report.failed == 1)
        #expect(lines.contains { $0.hasPrefix("  labels.json: test ") && $0.hasSuffix(" was accepted") })
    }

    @Test func whatIsAbsentIsNoSuccess() async throws {
        await #expect(throws: VectorProblem.self) { _ = try await Selftest(vectors: "/nonexistent").run { _ in } }
        await #expect(throws: VectorProblem.self) {
            _ = try await Selftest(vectors: Repository.vectors, external: "/nonexistent").run { _ in }
        }
    }

    @Test func onlyTheWordsOfTheUsageAreTaken() {
        for words in [[], ["--nightly"], ["--vectors", "v", "--external", "e", "--nightly"]] as [[String]] {
            #expect(Main.selftest(words[...]) != nil, "\(words)")
        }
        for words in [["--vectors"], ["vectors"], ["--frob"], ["--help"]] {
            #expect(Main.selftest(words[...]) == nil, "\(words)")
        }
    }
}
