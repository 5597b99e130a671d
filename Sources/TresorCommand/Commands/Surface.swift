// SPDX-License-Identifier: Apache-2.0

import Tresor

/// The commands of the command line, and the words reserved for later.
enum Surface {
    /// Words of the second stage.
    static let laterStage = [
        "serve", "team",
    ]

    static var commandNames: [String] {
        RootCommand.commands.flatMap { [$0.page.name] + $0.page.aliases } + laterStage
    }

    /// The page that `tresor` alone prints.
    static func text() -> String {
        var text = "tresor shares sealed files with the people you choose, and revokes their access\n"
        let width = RootCommand.commands.map { $0.page.name.count }.max() ?? 0
        for group in CommandPage.Group.allCases {
            let pages = RootCommand.commands.map { $0.page }.filter { $0.group == group }
            guard !pages.isEmpty else { continue }
            text += "\n\(group.rawValue)\n"
            for page in pages {
                let gap = String(repeating: " ", count: width - page.name.count + 2)
                text += "  \(page.name)\(gap)\(page.abstract)\n"
            }
        }
        text += "\nReserved for later: \(laterStage.joined(separator: ", "))\n"
        return text + "\ntresor help COMMAND | \(HelpTopic.allCases.map(\.rawValue).joined(separator: " | "))\n"
    }

    /// The failure for a word that is no command.
    static func unknown(_ word: String) -> CommandFailure {
        if laterStage.contains(word) {
            return CommandFailure(
                .unsupported, "\(DisplayText.quoted(word)) is a word of a later stage", hints: ["tresor help"])
        }
        let hints = Suggestion.near(word, among: commandNames).map {
            "did you mean: \(HintCompletion.replacingCommand(with: $0))"
        }
        return .usage("there is no command \(DisplayText.quoted(word))", hints: hints.isEmpty ? ["tresor help"] : hints)
    }
}
