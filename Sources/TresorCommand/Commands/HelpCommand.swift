// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct HelpCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "help", group: .proof, abstract: "Explain a command or a subject.",
            usage: "tresor help [COMMAND | options | exit-codes | environment | files | json]",
            examples: ["tresor help exit-codes"])
    }

    @Argument(help: ArgumentHelp("A command or a subject.", valueName: "COMMAND"))
    var subject: String?

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        try Channel.output.write(text())
    }

    private func text() throws(CommandFailure) -> String {
        guard let subject else { return Surface.text() }
        if let topic = HelpTopic(rawValue: subject) { return topic.text }
        if let command = RootCommand.command(named: subject) { return CommandPage.text(of: command) }
        let failure = Surface.unknown(subject)
        guard failure.error == .usage else { throw failure }
        let known =
            RootCommand.commands.flatMap { [$0.page.name] + $0.page.aliases } + HelpTopic.allCases.map(\.rawValue)
        let hints = Suggestion.near(subject, among: known).map { "did you mean: tresor help \($0)" }
        throw .usage(
            "there is no help on \(DisplayText.quoted(subject))", hints: hints.isEmpty ? ["tresor help"] : hints)
    }
}
