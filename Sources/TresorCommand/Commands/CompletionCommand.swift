// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct CompletionCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "completion", group: .proof, abstract: "Print the completions for a shell.",
            usage: "tresor completion bash|zsh|fish", examples: ["tresor completion bash > ~/.bash_completion.d/tresor"]
        )
    }

    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish
    }

    @Argument(help: ArgumentHelp("The shell: bash, zsh or fish.", valueName: "SHELL"))
    var shell: Shell

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let target: CompletionShell =
            switch shell {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        GlobalOptions.offer()
        try Channel.output.write(RootCommand.completionScript(for: target) + "\n")
    }
}
