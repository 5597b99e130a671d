// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The specification: `SPEC.md`, the pages of `spec/`, and the reasons in `docs/decisions.md`.
public enum Specification {
    /// All pages as one text, in the order of their sections. What stands before a page's first section comes first.
    /// A chapter's heading has two marks and a section's three, as in a specification of one page.
    public static func text() throws -> String {
        var sections: [[Int]: [Substring]] = [:]
        for page in try pages() {
            var place: [Int] = []
            for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
                let heading = line.wholeMatch(of: /##+ ((?:Appendix )?([A-E]|[0-9]+)\.?([0-9]*)\.? .*)/)
                guard let heading else {
                    sections[place, default: []].append(line)
                    continue
                }
                let chapter = Int(heading.2) ?? 100 + Int(heading.2.utf8.first ?? 0)
                place = [chapter] + (Int(heading.3).map { [$0] } ?? [])
                sections[place, default: []].append((place.count == 1 ? "## " : "### ") + heading.1)
            }
        }
        let ordered = sections.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        return ordered.flatMap(\.value).joined(separator: "\n")
    }

    private static func pages() throws -> [String] {
        let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let folder = root.appending(path: "spec").path(percentEncoded: false)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let pages = names.filter { $0.hasSuffix(".md") && $0 != "README.md" }.sorted().map { "spec/\($0)" }
        return try (["SPEC.md", "docs/decisions.md"] + pages).map { root.appending(path: $0) }
            .filter { FileManager.default.fileExists(atPath: $0.path(percentEncoded: false)) }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }
}
