// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorStore

/// The declared options of a command, for messages better than the parser's.
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
        let single = singleOptions(of: command)
        guard let name = repeated.sorted().first(where: single.contains) else { return }
        throw CommandFailure(
            .usage, "\(shown(name)) can be given only once", hints: ["tresor help \(command.page.name)"],
            usage: command.page.usage)
    }

    /// The failure for a long option that a command does not have, and for the name of a file that stands where options do;
    /// `nil` if there is neither.
    static func unknown(in words: ArraySlice<String>, of command: any SurfaceCommand.Type) -> CommandFailure? {
        let all = all(of: command).keys
        let file = words.first { word in
            word.hasPrefix("-") && word != "-" && !all.contains(canonical(String(word.prefix { $0 != "=" })))
                && FileIdentity(path: word) != nil
        }
        if let file {
            return CommandFailure(
                .usage, "\(DisplayText.quoted(file)) is taken for an option, because it begins with a hyphen",
                hints: [HintCompletion.takingAsOperand(file, canonical: canonical)], usage: command.page.usage)
        }
        let known = all.filter { $0.hasPrefix("--") }
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
    private static let longNames = [
        "-t": "--tresor", "-q": "--quiet", "-a": "--armour", "-n": "--dry-run", "-h": "--help",
    ]

    static func canonical(_ name: String) -> String { longNames[name] ?? name }

    private static func shown(_ name: String) -> String {
        longNames.first { $0.value == name }.map { "\($0.key)" } ?? name
    }

    /// `--name`, `--name=value`, `-n`, `-n=value` and `-abc` name options; a value never begins with a dash.
    private static func names(in word: String) -> [String] {
        guard word.hasPrefix("-"), word != "-" else { return [] }
        let name = word.prefix { $0 != "=" }
        return word.hasPrefix("--") ? [String(name)] : name.dropFirst().map { "-\($0)" }
    }

    /// The options of a command that take one value, by their canonical names.
    static func singleOptions(of command: any SurfaceCommand.Type) -> Set<String> {
        Set(all(of: command).filter { $0.value }.keys)
    }

    /// The options of a command that take values, one or several, by all their names.
    static func valuedOptions(of command: any SurfaceCommand.Type) -> Set<String> {
        let own = (own[command.page.name] ?? "").split(separator: " ").filter { $0.contains("=") }
        let names = GlobalOptions.valued.union(own.map { String($0.prefix { $0 != "=" }) })
        return names.union(longNames.filter { names.contains($0.value) }.keys)
    }

    /// The options of a command by their canonical names, and whether each takes one value.
    static func all(of command: any SurfaceCommand.Type) -> [String: Bool] {
        var options = ["--help": false]
        for name in GlobalOptions.flags { options[canonical(name)] = false }
        for name in GlobalOptions.valued { options[name] = true }
        for word in (own[command.page.name] ?? "").split(separator: " ") {
            options[String(word.prefix { $0 != "=" })] = word.hasSuffix("=")
        }
        return options
    }

    /// The options that a command has beside the common ones. `=` stands behind one that takes one value, `=…` behind one
    /// that takes several. A test compares them with what the parser knows.
    private static let own = [
        "approve": "--refuse --yes",
        "card": "--number --publish -o= --force",
        "check": "--tresor=… --head= --deep --repair",
        "compact": "--tresor= --dry-run --yes",
        "create": "--kind= --approver=…",
        "decrypt": """
        --tresor= --record= --any-record --from= --current --accept-unverified --accept-forked \
        -o= -C= --force
        """,
        "delete": "--tresor= --yes=",
        "device": "--yes",
        "encrypt": "--tresor= --record= --type= --armour --allow-empty -o= -C=",
        "export": "--tresor= --recovery --armour --without-attachments -o=",
        "get": "--tresor= --rev= --all --accept-incomplete -o= -C= --force",
        "keygen": "--kit= --no-kit --argon2id= --force --new-password-file= --new-password-fd=",
        "list": "--hide= --unhide= --all",
        "log": "--tresor= --head",
        "login": "--argon2id=",
        "logout": "--erase --force --yes",
        "members": "--tresor= --at=",
        "passwd": "--revoke-devices --argon2id= --new-password-file= --new-password-fd=",
        "put": "--tresor= --as= --type= --if= --delete --later --allow-empty",
        "records": "--tresor= --versions --deleted",
        "recover": "--kit= --from= --from-device --new-kit --argon2id= --new-password-file= --new-password-fd=",
        "register": "--invitation= --no-login --replace --invite= --yes",
        "remember": "--name= --days= --accept-same-disk",
        "reseal": "--dry-run --accept-newcomers",
        "revoke": "--tresor=… --me --dry-run --yes",
        "rotate": "--tresor= --identity --approver=… --no-approver --kit= --no-kit --argon2id= --dry-run --yes",
        "share": """
        --tresor=… --role= --from-now --until= --number= --card= --yes \
        --accept-unverified --wait= --dry-run
        """,
        "sync": "--tresor=… --watch --drop --yes",
        "verify": "--number= --card= --mine= --replace --give-up --yes",
    ]
}
