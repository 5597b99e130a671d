// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// No type is spread over more than three files: one that needs more is two types.
@Suite struct TypeSpreadTests {
    private typealias File = (module: String, name: String, source: SwiftSource)

    private static func sources() throws -> [File] {
        try ["Sources", "Conformance", "vectors/generator/Sources"].flatMap { folder in
            let directory = Repository.root.appending(path: folder).path(percentEncoded: false)
            let names = try FileManager.default.subpathsOfDirectory(atPath: directory)
            return try names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
                let module = name.contains("/") ? String(name.prefix { $0 != "/" }) : folder
                return (module, name, SwiftSource(try Repository.text("\(folder)/\(name)")))
            }
        }
    }

    /// The files that declare or extend each type.
    ///
    /// A name means the type of its own module, otherwise that of each module that declares it. A type that no module
    /// declares, such as `String`, counts for each module alone.
    private static func spread(over files: [File]) -> [String: Set<String>] {
        var declaring: [String: Set<String>] = [:]
        for file in files {
            for name in file.source.declarations { declaring[name, default: []].insert(file.module) }
        }
        var spread: [String: Set<String>] = [:]
        for file in files {
            for type in file.source.types {
                let owners = declaring[String(type.prefix { $0 != "." })] ?? [file.module]
                for owner in owners.contains(file.module) ? [file.module] : owners {
                    spread["\(owner).\(type)", default: []].insert(file.name)
                }
            }
        }
        return spread
    }

    private static func overspread(_ files: [File]) -> [String] {
        spread(over: files).filter { $0.value.count > 3 }
            .map { "\($0.key) is in \($0.value.sorted().joined(separator: ", "))" }.sorted()
    }

    @Test func noTypeIsSpreadOverMoreThanThreeFiles() throws {
        let files = try Self.sources()
        #expect(Self.spread(over: files).count > files.count)
        #expect(Self.overspread(files) == [])
    }

    @Test func everyFileOfATypeCounts() {
        func spread(_ files: (module: String, text: String)...) -> [String: Int] {
            let files = files.enumerated().map { ($0.element.module, "\($0.offset)", SwiftSource($0.element.text)) }
            return Self.spread(over: files).mapValues(\.count)
        }
        #expect(spread(("A", "struct Tower {}"), ("A", "extension Tower {}")) == ["A.Tower": 2])
        #expect(spread(("A", "public struct Tower {}"), ("B", "extension Tower {}")) == ["A.Tower": 2])
        #expect(spread(("A", "struct Tower {}"), ("B", "enum Tower {}")) == ["A.Tower": 1, "B.Tower": 1])
        #expect(
            spread(("A", "struct Tower {}"), ("B", "enum Tower {}"), ("C", "extension Tower {}"))
                == ["A.Tower": 2, "B.Tower": 2])
        #expect(
            spread(("A", "struct Tower {\n    func build() { if true {} }\n    enum Room {}\n}\nstruct Hut {}"))
                == ["A.Tower": 1, "A.Tower.Room": 1, "A.Hut": 1])
        #expect(
            spread(
                ("A", "struct Tower { }\nextension Tower {\n    final class Room {}\n}"),
                ("B", "extension Tower.Room {}"))
                == ["A.Tower": 1, "A.Tower.Room": 2])
        #expect(spread(("A", "extension String {}"), ("B", "extension String {}")) == ["A.String": 1, "B.String": 1])
        #expect(spread(("A", "// struct Tower {\nlet text = \"struct Hut {\"\nenum Room {}")) == ["A.Room": 1])
        #expect(spread(("A", "struct Tower {\n    class func build() {}\n}")) == ["A.Tower": 1])
    }

    @Test func fourFilesAreTooMany() {
        let file = SwiftSource("extension Tower {}")
        let files = (1...4).map { ("A", "\($0)", file) }
        #expect(Self.overspread(Array(files.prefix(3))) == [])
        #expect(Self.overspread(files) == ["A.Tower is in 1, 2, 3, 4"])
    }
}
