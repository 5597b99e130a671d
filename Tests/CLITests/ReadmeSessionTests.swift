// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The sessions that README shows are sessions that run.
@Suite struct ReadmeSessionTests {
    /// Each command of the section is a command of the script, in this order, and each line of its output is one that
    /// the script expects there. `ScriptTests` runs the script.
    @Test func theSessionWithoutAServerIsTheOneOfTheScript() throws {
        let steps = try ReadmeSession(section: "Without a server").steps
        #expect(steps.count == 7)
        let script = try #require(try Script.all().first { $0.name == "readme-without-a-server" })
        var commands = script.commands.map(\.text)[...]
        for step in steps {
            let place = try #require(commands.firstIndex(of: step.command), "\(step.command)")
            commands = commands[(place + 1)...]
            let expected = commands.prefix { $0.hasPrefix("stderr ") || $0.hasSuffix(" tty") }
            let patterns = try expected.compactMap { try $0.firstMatch(of: /'(.+)'/).map { try Regex(String($0.1)) } }
            for line in step.output {
                #expect(try patterns.contains { try $0.firstMatch(in: line) != nil }, "\(line)")
            }
        }
    }
}
