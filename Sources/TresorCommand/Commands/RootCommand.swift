// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The root of the surface, from which completions and the machine-readable surface are generated. `Program` finds the
/// command itself, so that the parser's own messages never replace ours.
struct RootCommand: ParsableCommand {
    static let commands: [any SurfaceCommand.Type] = [
        KeygenCommand.self, CardCommand.self, VerifyCommand.self, RememberCommand.self, ForgetCommand.self,
        DeviceCommand.self, PasswdCommand.self, RecoverCommand.self, RegisterCommand.self, LoginCommand.self,
        LogoutCommand.self, ApproveCommand.self,
        CreateCommand.self, ListCommand.self, MembersCommand.self, ShareCommand.self, RevokeCommand.self,
        RotateCommand.self, DeleteCommand.self, LogCommand.self, ExportCommand.self, ImportCommand.self,
        EncryptCommand.self, DecryptCommand.self, InspectCommand.self, ResealCommand.self,
        PutCommand.self, GetCommand.self, RecordsCommand.self, SyncCommand.self, CompactCommand.self,
        CheckCommand.self, SelftestCommand.self, CompletionCommand.self,
        HelpCommand.self,
    ]

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "tresor", abstract: "Share sealed files with the people you choose, and revoke their access.",
            usage: "tresor COMMAND …",
            // The parser adds a `help` of its own to the tree.
            subcommands: commands.filter { $0 != HelpCommand.self }.map { $0 as any ParsableCommand.Type })
    }

    static var _errorPrefix: String { "tresor: error: " }

    @Flag(help: "Print the versions of the program, the specification and the suite.")
    var version = false

    static func command(named word: String) -> (any SurfaceCommand.Type)? {
        commands.first { $0.page.name == word || $0.page.aliases.contains(word) }
    }
}
