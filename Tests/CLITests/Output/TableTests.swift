// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCommand

@Suite("Tables")
struct TableTests {
    @Test("Columns are aligned and nothing trails")
    func aligned() {
        var table = Table("NAME", "ROLE", "VERIFIED")
        table.add("anna", "owner", "you")
        table.add("dr-house", "reader", "yes")
        let expected = "NAME      ROLE    VERIFIED\nanna      owner   you\ndr-house  reader  yes\n"
        #expect(table.text(.plain) == expected)
    }

    @Test("Without rows there is nothing")
    func empty() {
        #expect(Table("NAME").text(.plain).isEmpty)
    }

    @Test("Bold depends on the choice, and with auto on NO_COLOR, TERM and the terminal")
    func bold() {
        var environment = Environment()
        environment.terminal = "xterm"
        #expect(Style(.auto, environment: environment, isTerminal: true).bold("x") == "\u{1b}[1mx\u{1b}[0m")
        #expect(Style(.auto, environment: environment, isTerminal: false).bold("x") == "x")
        #expect(Style(.always, environment: environment, isTerminal: false).isBold)
        #expect(!Style(.never, environment: environment, isTerminal: true).isBold)
        environment.noColor = true
        #expect(!Style(.auto, environment: environment, isTerminal: true).isBold)
        environment = Environment()
        environment.terminal = "dumb"
        #expect(!Style(.auto, environment: environment, isTerminal: true).isBold)
    }
}
