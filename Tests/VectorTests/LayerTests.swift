// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The folders of a module stand one above the other, in the order of `docs/ARCHITECTURE.md`.
@Suite struct LayerTests {
    private static func section(_ title: String) throws -> Substring {
        let page = try Repository.text("docs/ARCHITECTURE.md")
        return try #require(page.split(separator: "\n## \(title)\n").dropFirst().first).split(separator: "\n## ")[0]
    }

    /// The folders of each module, lowest first.
    private static func layers() throws -> [String: [String]] {
        let rows = try section("Layers").matches(of: /\n\| `(\w+)` \| ([\w ]+) \|/)
        var layers = Dictionary(
            uniqueKeysWithValues: rows.map { (String($0.1), $0.2.split(separator: " ").map(String.init)) })
        layers["TresorCommand"] = try section("The command").matches(of: /\n\| `(\w+)\/` \|/).map { String($0.1) }
        return layers
    }

    /// The files of a module's folders.
    private static func sources(of module: String) throws -> [(folder: String, name: String, source: SwiftSource)] {
        let directory = Repository.root.appending(path: "Sources/\(module)").path(percentEncoded: false)
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory)
        return try names.filter { $0.hasSuffix(".swift") && $0.contains("/") }.sorted().map { name in
            (String(name.prefix { $0 != "/" }), name, SwiftSource(try Repository.text("Sources/\(module)/\(name)")))
        }
    }

    /// The names that a file mentions of a folder above its own.
    private static func mentions(
        upwards sources: [(folder: String, name: String, source: SwiftSource)], _ layers: [String]
    ) -> [String] {
        var height: [String: Int] = [:]
        for (place, folder) in layers.enumerated() { height[folder] = place }
        var found: [String] = []
        for file in sources {
            for other in sources where height[other.folder, default: 0] > height[file.folder, default: 0] {
                let words = file.source.words.intersection(other.source.declarations)
                found += words.sorted().map { "\(file.name) mentions \($0) of \(other.name)" }
            }
        }
        return found
    }

    @Test(arguments: ["TresorCore", "Tresor", "TresorCommand"])
    func noFolderMentionsAHigherOne(_ module: String) throws {
        let layers = try #require(try Self.layers()[module])
        let sources = try Self.sources(of: module)
        #expect(Set(sources.map(\.folder)) == Set(layers), "the page names every folder")
        #expect(Set(layers).count == layers.count)
        #expect(sources.reduce(0) { $0 + $1.source.declarations.count } > layers.count)
        #expect(Self.mentions(upwards: sources, layers) == [])
    }

    @Test func aMentionIsSeenInCodeOnly() {
        let upper = ("Upper", "Upper/Tower.swift", SwiftSource("@frozen package struct Tower {\n    enum Room {}\n}"))
        func found(_ text: String) -> Bool {
            !Self.mentions(upwards: [("Lower", "Lower/Cellar.swift", SwiftSource(text)), upper], ["Lower", "Upper"])
                .isEmpty
        }
        #expect(found("let a = Tower.height"))
        #expect(found("func a(_ b: [Tower]) {}"))
        #expect(found(#"let a = "is \(Tower(floors: [("a", 1)]).height) high""#))
        #expect(found("let a = \"\"\"\n    \\(Tower.height)\n    \"\"\""))
        #expect(found("/* a /* b */ c */ let a = Tower()"))
        #expect(!found("// Tower\nlet a = Cellar.Tower.self"))
        #expect(!found("/* /* */ Tower */"))
        #expect(!found(#"let a = "Tower \"Tower\"""#))
        #expect(!found(##"let a = #"Tower \(Tower)"#"##))
        #expect(!found("let a = \"\"\"\n    \"Tower\"\n    \"\"\""))
        #expect(!found("let a = TowerHouse(), b = Room()"))
    }
}
