// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorCommand

/// The topics of `tresor help`.
private let pagesOfHelp = RootCommand.commands.map { $0.page.name } + HelpTopic.allCases.map(\.rawValue)

/// The promises to scripts.
@Suite("Surface")
struct SurfaceTests {
    private static let committed = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("help")

    private func tresor(_ arguments: String...) throws -> ChildProcess.Result {
        let child = ChildProcess(
            arguments: arguments,
            environment: [
                "HOME": "/", "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
            ],
            directory: "/")
        return try child.run()
    }

    /// A change of a page changes the committed file with it, and stands in the changelog.
    @Test("Every page of the help is the one that is committed", arguments: pagesOfHelp)
    func help(_ name: String) throws {
        let result = try tresor("help", name)
        #expect(result.code == 0)
        let page = try String(contentsOf: Self.committed.appendingPathComponent("\(name).txt"), encoding: .utf8)
        #expect(result.outputText == page, "scripts/help-pages")
    }

    @Test("The first page is the one that is committed, and no page is left over")
    func firstPage() throws {
        let page = try String(contentsOf: Self.committed.appendingPathComponent("tresor.txt"), encoding: .utf8)
        #expect(try tresor("help").outputText == page, "scripts/help-pages")
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.committed.path(percentEncoded: false))
        #expect(Set(names) == Set((pagesOfHelp + ["tresor"]).map { "\($0).txt" }))
    }

    /// The commands that need a service; `RegistrationCommandTests` runs their examples.
    private static let ofAService: Set = ["register", "approve"]

    @Test("Every example of every page is run by a script")
    func examples() throws {
        let lines = try Script.all().flatMap(\.commands).map(\.text)
        for page in RootCommand.commands.map({ $0.page }) {
            #expect(!page.examples.isEmpty, "\(page.name)")
            for example in page.examples where !Self.ofAService.contains(page.name) {
                #expect(lines.contains { $0.hasPrefix("example '\(example)'") }, "\(example)")
            }
        }
    }

    @Test("Every page ends with its exit codes and its examples", arguments: RootCommand.commands.map { $0.page.name })
    func pages(_ name: String) throws {
        let text = try tresor("help", name).outputText
        let status = try #require(text.range(of: "\nEXIT STATUS:\n"))
        let examples = try #require(text.range(of: "\nEXAMPLES:\n"))
        #expect(status.upperBound < examples.lowerBound)
        for code in ["   0 ", "   1  failed", "  64  usage", " 130  interrupted"] {
            #expect(text[status.upperBound...].contains(code), "\(name): \(code)")
        }
    }
}
