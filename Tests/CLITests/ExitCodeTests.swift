// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCommand

@Suite("Exit codes")
struct ExitCodeTests {
    /// Exit codes that a command declares and cannot reach: it does not read the faulty object, or cannot be
    /// interrupted. The codes that only a service brings about are those of `RegistrationCommandTests`.
    private static let unreached: [String: Set<Int32>] = [
        "keygen": [14, 15, 16, 19], "card": [130], "verify": [13, 19], "remember": [13, 15, 16],
        "forget": [10, 14, 15, 16, 19, 130], "device": [15, 16, 17], "recover": [13, 17], "create": [16],
        "log": [16], "export": [16], "import": [16, 130],
        "register": [11, 19, 130], "login": [13, 19, 130],
        "logout": [13, 19, 130], "approve": [11, 14, 15, 16, 19, 130],
        "inspect": [130], "selftest": [1, 130], "completion": [1, 130], "help": [1, 130],
    ]

    /// The exit codes that scripts see of each command.
    private static func seen() throws -> [String: Set<Int32>] {
        var seen: [String: Set<Int32>] = [:]
        for script in try Script.all() {
            var command: String?
            for line in script.commands {
                let words = line.text.split(separator: " ").map(String.init)
                if words.first == "tresor" || words.starts(with: ["!", "tresor"]) {
                    command = words.lazy.compactMap { RootCommand.command(named: $0)?.page.name }.first
                    if let command, words.first == "tresor" { seen[command, default: []].insert(0) }
                } else if words.count == 2, words[0] == "code", let code = Int32(words[1]), let command {
                    seen[command, default: []].insert(code)
                }
            }
        }
        return seen
    }

    /// Causes that a page does not name: a word of a later stage, a missing directory.
    private static let beside: [String: Set<Int32>] = ["help": [19]]

    @Test("Every exit code of every command has a script, and no script sees one that the page does not name")
    func everyCode() throws {
        let seen = try Self.seen()
        for page in RootCommand.commands.map({ $0.page }) {
            let named = Set(page.exitStatus.map(\.code))
            let unreached = Self.unreached[page.name] ?? []
            #expect(named.subtracting(seen[page.name] ?? []) == unreached, "\(page.name)")
            #expect((seen[page.name] ?? []).subtracting(named) == Self.beside[page.name] ?? [], "\(page.name)")
        }
    }
}
