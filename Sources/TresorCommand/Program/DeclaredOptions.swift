// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorConformance

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
        // The declaration is rendered only now, because that takes longer than reading the words.
        let single = singleOptions(of: command)
        guard let name = repeated.sorted().first(where: single.contains) else { return }
        throw CommandFailure(
            .usage, "\(shown(name)) can be given only once", hints: ["tresor help \(command.page.name)"],
            usage: command.page.usage)
    }

    /// The failure for a long option that a command does not have; `nil` if it has them all.
    static func unknown(in words: ArraySlice<String>, of command: any SurfaceCommand.Type) -> CommandFailure? {
        let known = Set(arguments(of: command).flatMap(\.names))
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
    private static let longNames = ["-t": "--tresor", "-q": "--quiet", "-a": "--armour", "-n": "--dry-run"]

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
        Set(arguments(of: command).filter(\.isSingle).flatMap(\.names).map { canonical($0) })
    }

    private static func arguments(of command: any SurfaceCommand.Type) -> [(names: [String], isSingle: Bool)] {
        guard let surface = try? JSONReader.read(Array(command._dumpHelp().utf8)) else { return [] }
        return (surface["command"]?["arguments"]?.list ?? []).map { argument in
            let names = (argument["names"]?.list ?? []).compactMap { name in
                name["name"]?.text.map { name["kind"]?.text == "long" ? "--\($0)" : "-\($0)" }
            }
            return (names, argument["kind"]?.text == "option" && argument["isRepeating"] == .bool(false))
        }
    }
}
