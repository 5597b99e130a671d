// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// README names every module and every dependency of Package.swift.
@Suite struct ReadmeLayoutTests {
    private static func section(_ title: String) throws -> Substring {
        let page = try Repository.text("README.md")
        return try #require(page.split(separator: "\n## \(title)\n").dropFirst().first).split(separator: "\n## ")[0]
    }

    /// The targets of Package.swift, each from its kind on.
    private static func targets() throws -> [Substring] {
        let manifest = try Repository.text("Package.swift")
        let targets = try #require(manifest.split(separator: "\n    targets: [").dropFirst().first)
        return targets.split(separator: "\n        .").filter { !$0.hasPrefix("testTarget(") }
    }

    @Test func everyModuleStandsInTheLayout() throws {
        let targets = try Self.targets().filter { $0.contains("name: ") && !$0.contains(" path: ") }
        let modules = targets.compactMap { $0.firstMatch(of: /name: "(\w+)"/)?.1 }
        let named = try Self.section("Layout").matches(of: /`Sources\/(\w+)`/).map { $0.1 }
        #expect(modules.count > 15 && modules.count == targets.count)
        #expect(modules.sorted() == named.sorted())
        #expect(try Self.section("Layout").contains("| `Conformance/` | "))
    }

    @Test func everyDependencyStandsInItsTable() throws {
        let manifest = try Repository.text("Package.swift")
        let rows = try Self.section("Dependencies").split(separator: "\n").filter { $0.hasPrefix("| ") }
        let packages = manifest.matches(of: /\.package\(url: ".*\/(\S+)", from: "([0-9.]+)"\)/)
        #expect(packages.count == 4)
        for package in packages {
            let row = rows.first { $0.split { "|, ".contains($0) }.contains(package.1) }
            #expect(row?.contains(package.2) == true, "\(package.1)")
        }
        for library in manifest.matches(of: /pkgConfig: "(\w+)"/).map({ $0.1 }) {
            #expect(rows.contains { $0.lowercased().hasPrefix("| \(library) ") }, "\(library)")
        }
    }
}
