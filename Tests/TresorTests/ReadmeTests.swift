// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The library example of README equals the example program, which `scripts/test` builds and runs.
@Suite struct ReadmeTests {
    @Test func theExampleIsTheOneThatIsBuilt() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let example = try String(
            contentsOf: root.appending(path: "Examples/TenLines/TenLines.swift"), encoding: .utf8)
        let block = try #require(readme.components(separatedBy: "```swift\n").dropFirst().first)
        let lines = try #require(block.components(separatedBy: "```").first).split(separator: "\n")
        #expect(lines.count == 10)
        for line in lines { #expect(example.contains(line), "\(line)") }
    }

    /// The guide's lines on records of any size are those of a program that the long run builds and runs.
    @Test func theGuideToScansIsTheProgramThatIsBuilt() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let guide = try String(
            contentsOf: root.appending(path: "Sources/Tresor/Tresor.docc/LargeFiles.md"), encoding: .utf8)
        let example = try String(contentsOf: root.appending(path: "Examples/Scans/Scans.swift"), encoding: .utf8)
        let section = try #require(guide.components(separatedBy: "## A record of any size").last)
        let block = try #require(section.components(separatedBy: "```swift\n").dropFirst().first)
        let lines = try #require(block.components(separatedBy: "```").first).split(separator: "\n")
        #expect(lines.count > 10)
        for line in lines { #expect(example.contains(line), "\(line)") }
    }
}
