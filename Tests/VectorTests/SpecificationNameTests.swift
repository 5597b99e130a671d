// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// SPEC and the code carry the same names.
@Suite struct SpecificationNameTests {
    private static let modules = [
        "TresorCrypto", "TresorCore", "Tresor", "TresorRecords", "TresorStore", "TresorSQLite",
    ]

    /// The sources of the libraries, without comments.
    private static func sources() throws -> String {
        var text = ""
        for module in modules {
            let directory = Repository.root.appending(path: "Sources/\(module)").path(percentEncoded: false)
            for name in try FileManager.default.subpathsOfDirectory(atPath: directory) where name.hasSuffix(".swift") {
                text += try Repository.text("Sources/\(module)/\(name)")
            }
        }
        return text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
    }

    /// SPEC without its fenced blocks, and the blocks.
    private static func specification() throws -> (prose: [Substring], blocks: [Substring]) {
        let text = try Specification.text()
        var (prose, blocks): ([Substring], [Substring]) = ([], [])
        var isBlock = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isBlock.toggle()
            } else if isBlock {
                blocks.append(line)
            } else {
                prose.append(line)
            }
        }
        return (prose, blocks)
    }

    /// The readers of objects that are initializers, each with its type: the table of SPEC §2.
    private static func initializers(_ prose: [Substring]) -> [String: String] {
        var table: [String: String] = [:]
        for line in prose.drop(while: { $0 != "| function | type |" }).dropFirst(2).prefix(while: { $0.hasPrefix("|") })
        {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let types = cells[1].split(separator: ", ").map { $0.trimmingCharacters(in: ["`"]) }
            for (function, type) in zip(cells[0].split(separator: ", "), types) { table[String(function)] = type }
        }
        return table
    }

    /// `keys(of:)` counts as `keys` and as `keysOf`.
    private static func functions(in sources: String) -> Set<String> {
        var names: Set<String> = []
        for match in sources.matches(of: /func (\w+)(?:<[^(]*>)?\(\s*(\w*)/) {
            names.insert(String(match.1))
            names.insert(match.1 + match.2.prefix(1).uppercased() + match.2.dropFirst())
        }
        return names
    }

    private static func types(in sources: String) -> Set<String> {
        Set(sources.matches(of: /(?:struct|enum|class|actor|protocol|typealias) (\w+)/).map { String($0.1) })
    }

    @Test func everyFunctionIsOneOfTheCode() throws {
        let sources = try Self.sources()
        let prose = try Self.specification().prose
        let (functions, types) = (Self.functions(in: sources), Self.types(in: sources))
        let initializers = Self.initializers(prose)
        #expect(initializers.count == 21)
        for (function, type) in initializers { #expect(types.contains(type), "\(function)") }
        let boxes = prose.compactMap { $0.prefixMatch(of: /\*\*(\w+)\(/).map { String($0.1) } }
        #expect(boxes.count > 50)
        for name in boxes where initializers[name] == nil { #expect(functions.contains(name), "\(name)") }
    }

    @Test func everyStructIsATypeOfTheCode() throws {
        let sources = try Self.sources()
        let (functions, types) = (Self.functions(in: sources), Self.types(in: sources))
        let structs = try Self.specification().blocks.compactMap { line in
            (line.prefixMatch(of: /(?:struct \{.*|enum \{.*)?\} ([A-Z][\w.]*);/)?.1
                ?? line.prefixMatch(of: /(?:opaque|uint64) ([A-Z]\w*)[\[;]/)?.1).map(String.init)
        }
        #expect(structs.count > 30)
        for name in structs {
            // The structs that the coders read and write themselves have no type.
            let isField = functions.contains(name.lowercased())
            let isType = name.split(separator: ".").allSatisfy { types.contains(String($0)) }
            #expect(isType || isField, "\(name)")
        }
    }
}
