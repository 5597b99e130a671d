// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto

@testable import TresorCommand

/// docs/TROUBLE.md speaks of each error of the vocabulary, and then of what is no error.
@Suite struct TroubleTests {
    private let page: String

    init() throws {
        page = try String(contentsOf: ReadmeSession.root.appending(path: "docs/TROUBLE.md"), encoding: .utf8)
    }

    @Test func eachErrorHasItsSectionInTheirOrder() {
        let sections = page.components(separatedBy: "\n## ").dropFirst()
        let all = sections.map { $0.prefix { $0 != "\n" } }
        #expect(all.suffix(3) == ["A lost machine", "A lost stick", "Another store"])
        let names = Array(all.dropLast(3))
        #expect(names == ExitCodes.rows.dropFirst().map { $0.name[...] })
        #expect(names.map(String.init) == ErrorName.allCases.map(\.rawValue))
        for (section, row) in zip(sections, ExitCodes.rows.dropFirst()) {
            #expect(section.contains("\n\nExit code \(row.code). "), "\(row.name)")
        }
    }

    @Test(arguments: TresorError.Fault.allCases) func eachFaultHasItsRow(_ fault: TresorError.Fault) {
        #expect(page.contains("\n| \(fault.rawValue) | "))
    }

    @Test func readersAreToldOfIt() throws {
        for file in ["README.md", "Tests/CLITests/help/exit-codes.txt", "docs/tresor-server.1"] {
            let text = try String(contentsOf: ReadmeSession.root.appending(path: file), encoding: .utf8)
            #expect(text.contains("docs/TROUBLE.md"), "\(file)")
        }
    }
}
