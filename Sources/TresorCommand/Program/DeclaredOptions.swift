// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

/// The options that commands declare, for messages better than the parser's.
enum DeclaredOptions {
    /// Refuses an option that is given twice and has one value: the parser would silently take the last.
    ///
    /// - Parameter words: the words before `--`.
    /// - Throws: 64, naming the option.
    static func refuseRepeated(_ words: ArraySlice<String>, for command: any SurfaceCommand.Type) throws(CommandFailure)
    {
        var counts: [String: Int] = [:]
        for name in words.flatMap({ names(in: $0) }) { counts[canonical(name), default: 0] += 1 }
        let repeated = counts.filter { $0.value > 1 }.keys
        guard !repeated.isEmpty else { return }
        guard let name = repeated.sorted().first(where: { isSingle($0, in: command) }) else { return }
        throw CommandFailure(
            .usage, "\(shown(name)) can be given only once", hints: ["tresor help \(command.page.name)"],
            usage: command.page.usage)
    }

    /// The failure for a long option that a command does not have; `nil` if it has them all.
    static func unknown(in words: ArraySlice<String>, of command: any SurfaceCommand.Type) -> CommandFailure? {
        let known = longNames(of: command)
        let typed = words.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
        guard let name = typed.first(where: { !known.contains($0) }) else { return nil }
        // Suggestions never begin with a dash.
        let near = Suggestion.near(String(name.dropFirst(2)), among: known.sorted().map { String($0.dropFirst(2)) })
        return CommandFailure(
            .usage, "there is no option \(DisplayText.quoted(name))",
            hints: near.map { "did you mean: \(HintCompletion.replacing(name, with: "--\($0)"))" }
                + ["tresor help \(command.page.name)"], usage: command.page.usage)
    }

    /// The long name of an option that has two, so that both count as one.
    private static let pairs = ["-t": "--tresor", "-q": "--quiet", "-a": "--armour", "-n": "--dry-run"]

    static func canonical(_ name: String) -> String { pairs[name] ?? name }

    private static func shown(_ name: String) -> String {
        pairs.first { $0.value == name }?.key ?? name
    }

    /// `--name`, `--name=value`, `-n`, `-n=value` and `-abc` name options; a value never begins with a dash.
    private static func names(in word: String) -> [String] {
        guard word.hasPrefix("-"), word != "-" else { return [] }
        let name = word.prefix { $0 != "=" }
        return word.hasPrefix("--") ? [String(name)] : name.dropFirst().map { "-\($0)" }
    }

    /// Whether the option, by its canonical name, has one value in this command.
    static func isSingle(_ name: String, in command: any SurfaceCommand.Type) -> Bool {
        GlobalOptions.valued.contains(name) || single[name]?.contains(command.page.name) == true
    }

    /// The options with one value that not every command has, each with the commands that have it.
    private static let single: [String: Set<String>] = [
        "--argon2id": ["keygen", "passwd", "recover", "rotate"],
        "--as": ["put"],
        "--at": ["members"],
        "--card": ["share", "verify"],
        "--days": ["remember"],
        "--external": ["selftest"],
        "--from": ["decrypt", "recover"],
        "--head": ["check"],
        "--hide": ["list"],
        "--if": ["put"],
        "--invitation": ["register"],
        "--invite": ["register"],
        "--kind": ["create"],
        "--kit": ["keygen", "recover", "rotate"],
        "--mine": ["verify"],
        "--name": ["remember"],
        "--new-password-fd": ["keygen", "passwd", "recover"],
        "--new-password-file": ["keygen", "passwd", "recover"],
        "--number": ["share", "verify"],
        "--record": ["decrypt", "encrypt"],
        "--rev": ["get"],
        "--role": ["share"],
        "--tresor": [
            "compact", "decrypt", "delete", "encrypt", "export", "get", "log", "members", "put", "records", "rotate",
        ],
        "--type": ["encrypt", "put"],
        "--unhide": ["list"],
        "--until": ["share"],
        "--vectors": ["selftest"],
        "--wait": ["share"],
        "--yes": ["delete"],
        "-C": ["decrypt", "encrypt", "get"],
        "-o": ["card", "decrypt", "encrypt", "export", "get"],
    ]

    /// The long names of all options of a command, the common ones too, as its help lists them.
    static func longNames(of command: any SurfaceCommand.Type) -> Set<String> {
        let rows = command.helpMessage(includeHidden: true, columns: 100).matches(of: /\n  (?:-\w, )?(--[\w-]+)/)
        return Set(rows.map { String($0.output.1) })
    }
}
