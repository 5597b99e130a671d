// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The sessions that README and docs/TROUBLE.md show are sessions that run.
@Suite struct ReadmeSessionTests {
    /// A section with commands, and the script that runs them.
    struct Session: CustomTestStringConvertible, Sendable {
        var page = "docs/TROUBLE.md"
        let section: String
        let script: String
        /// How many commands the section has.
        let count: Int

        var testDescription: String { section }
    }

    private static let sessions = [
        Session(page: "README.md", section: "Without a server", script: "readme-without-a-server", count: 7),
        Session(page: "README.md", section: "A second machine", script: "readme-second-machine", count: 4),
        Session(page: "README.md", section: "A new machine", script: "readme-new-machine", count: 5),
        Session(section: "forked", script: "forked-exports", count: 8),
        Session(section: "A lost machine", script: "lost-machine", count: 4),
        Session(section: "A lost stick", script: "lost-stick", count: 3),
        Session(section: "Another store", script: "another-store", count: 3),
    ]

    /// Each command of the section is a command of the script, in this order, and each line of its output is one that
    /// the script expects there. `ScriptTests` runs the script.
    @Test(arguments: sessions) func theSessionIsTheOneOfTheScript(_ session: Session) throws {
        let steps = try ReadmeSession(section: session.section, of: session.page).steps
        #expect(steps.count == session.count)
        let script = try #require(try Script.all().first { $0.name == session.script })
        var commands = script.commands.map(\.text)[...]
        for step in steps {
            let command = Self.inScript(step.command)
            let place = try #require(commands.firstIndex { $0 == command || $0 == "! \(command)" }, "\(command)")
            commands = commands[(place + 1)...]
            let expected = commands.prefix { $0.hasPrefix("stderr ") || $0.hasSuffix(" tty") }
            let patterns = try expected.compactMap { try $0.firstMatch(of: /'(.+)'/).map { try Regex(String($0.1)) } }
            for line in step.output {
                #expect(try patterns.contains { try $0.firstMatch(in: line) != nil }, "\(line)")
            }
        }
    }

    /// A command with the places that a script has.
    private static func inScript(_ command: String) -> String {
        command.replacing("/media/stick/", with: "$WORK/stick/")
            .replacing("https://tresor.clinic.example:8443", with: "http://127.0.0.1:$PORT")
    }
}
