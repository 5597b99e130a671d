// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `docs/ARCHITECTURE.md` says what is so.
@Suite struct ArchitectureTests {
    private static func page() throws -> String { try Repository.text("docs/ARCHITECTURE.md") }

    /// The cells of the table of imports, by module.
    private static func promised() throws -> [String: Set<String>] {
        let section = try page().split(separator: "## Imports")[1].split(separator: "\n## ")[0]
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
        return Dictionary(
            uniqueKeysWithValues: rows.map { row in
                let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                let names = cells.dropFirst().flatMap { $0.split(separator: " ").map(String.init) }
                return (cells[0].trimmingCharacters(in: ["`"]), Set(names))
            })
    }

    /// The imports of a module's files.
    private static func imports(of module: String) throws -> Set<String> {
        let directory = Repository.root.appending(path: "Sources/\(module)")
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path(percentEncoded: false))
        var found: Set<String> = []
        for name in names where name.hasSuffix(".swift") {
            let text = try Repository.text("Sources/\(module)/\(name)")
            let pattern = /^ *(?:@\w+ )*(?:(?:public|package|internal) )?import (\w+)/
            for match in text.matches(of: pattern.anchorsMatchLineEndings()) { found.insert(String(match.1)) }
        }
        let libraries: Set = ["Darwin", "Glibc"]
        return found.isDisjoint(with: libraries) ? found : found.subtracting(libraries).union(["libc"])
    }

    @Test func everyModuleImportsWhatThePageSays() throws {
        let promised = try Self.promised()
        let sources = Repository.root.appending(path: "Sources").path(percentEncoded: false)
        let modules = try FileManager.default.contentsOfDirectory(atPath: sources).filter { !$0.hasPrefix("C") }
        #expect(promised.keys.sorted() == modules.sorted())
        for (module, imports) in promised {
            #expect(try Self.imports(of: module) == imports, "\(module)")
        }
    }

    /// Only one file of the core knows that there are threads.
    @Test func theCoreIsPure() throws {
        let directory = Repository.root.appending(path: "Sources/TresorCore").path(percentEncoded: false)
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) where name.hasSuffix(".swift") {
            let text = try Repository.text("Sources/TresorCore/\(name)")
            let isPure = !text.contains(/import (?:Darwin|Dispatch|Foundation|Glibc|Synchronization)/)
            #expect(isPure == (name != "Concurrency/Cores.swift"), "\(name)")
            for word in ["clock()", "Date(", "open(path", "socket("] {
                #expect(!text.contains(word), "\(name): \(word)")
            }
        }
    }

    @Test func everyFileThatIsNamedIsThere() throws {
        let paths = try Self.page().matches(of: /`((?:Sources|Conformance|Tests|vectors|docs)\/[^`]+)`/).map {
            String($0.1)
        }
        #expect(paths.count > 30)
        for path in paths {
            let place = Repository.root.appending(path: path).path(percentEncoded: false)
            #expect(FileManager.default.fileExists(atPath: place), "\(path)")
        }
    }

    /// The ways of a password and of a small plaintext are short, and the page names as many files as it lists.
    @Test(arguments: [("A password", "eleven", 11, 12), ("A small plaintext", "thirteen", 13, 14)])
    func aJourneyIsShort(start: String, word: String, count: Int, limit: Int) throws {
        let section = try Self.page().split(separator: "## Three journeys")[1].split(separator: "\n## ")[0]
        let journey = try #require(section.split(separator: "\n\n").firstIndex { $0.hasPrefix(start) })
        let parts = section.split(separator: "\n\n")
        #expect(parts[journey].contains("passes \(word) files"))
        let files = Set(parts[journey + 1].matches(of: /`(Sources\/[^`]+)`/).map { String($0.1) })
        #expect(files.count == count)
        #expect(files.count <= limit)
    }

    /// The table from SPEC to the sources names every function of SPEC's chapters 4 to 10.
    @Test func everyFunctionOfTheSpecificationHasItsFile() throws {
        let section = try Self.page().split(separator: "## From SPEC to the sources")[1].split(separator: "\n## ")[0]
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2)
        var named: Set<String> = []
        for row in rows {
            let cells = row.split(separator: "|").map(String.init)
            named.formUnion(cells[1].matches(of: /\w+/).map { String($0.0) })
            #expect(cells[1].split(separator: ";").count == cells[2].split(separator: ";").count, "\(row)")
        }
        let chapters = try Specification.text().split(separator: "\n## ").filter { chapter in
            (4...10).contains { chapter.hasPrefix("\($0). ") }
        }
        #expect(chapters.count == 7)
        let functions = chapters.flatMap { $0.matches(of: /\n\*\*(\w+)(?:\(|\*\*)/).map { String($0.1) } }
        #expect(functions.count > 50)
        for function in functions { #expect(named.contains(function), "\(function)") }
    }
}
