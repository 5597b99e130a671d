// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

/// Refuses an option that is given twice and has one value: the parser would silently take the last.
enum RepeatedOption {
    /// - Parameter words: the words before `--`.
    /// - Throws: 64, naming the option.
    static func check(_ words: ArraySlice<String>, for command: any SurfaceCommand.Type) throws(CommandFailure) {
        var counts: [String: Int] = [:]
        for name in words.flatMap({ names(in: $0) }) { counts[canonical(name), default: 0] += 1 }
        let repeated = counts.filter { $0.value > 1 }.keys
        guard !repeated.isEmpty else { return }
        // What the command declares is asked only now: to render it takes longer than to read the words.
        let single = singleOptions(of: command)
        guard let name = repeated.sorted().first(where: single.contains) else { return }
        throw CommandFailure(
            .usage, "\(shown(name)) can be given only once", hints: ["tresor help \(command.page.name)"],
            usage: command.page.usage)
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
        guard let surface = try? JSONReader.read(Array(command._dumpHelp().utf8)),
            let arguments = surface["command"]?["arguments"]?.list
        else { return [] }
        var names: Set<String> = []
        for argument in arguments
        where argument["kind"]?.text == "option" && argument["isRepeating"] == .bool(false) {
            for name in argument["names"]?.list ?? [] {
                guard let text = name["name"]?.text else { continue }
                names.insert(canonical(name["kind"]?.text == "long" ? "--\(text)" : "-\(text)"))
            }
        }
        return names
    }
}
