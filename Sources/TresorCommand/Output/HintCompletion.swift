// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorRemote

/// The words this program was started with, from which hints make commands one can paste.
enum HintCompletion {
    /// Beyond this a hint repeats nothing.
    private static let limit = 400

    /// - Parameter valued: the names of the command's options that take a value, each of them.
    static func remember(_ words: [String], valued: Set<String>) {
        Surroundings.current.words.given.withLock { $0 = words }
        Surroundings.current.words.valued.withLock { $0 = valued }
    }

    /// Remembers the options that name the store in use, once it is known.
    static func remember(store options: @escaping @Sendable () -> [String]) {
        Surroundings.current.words.store.withLock { $0 = options }
    }

    /// Completes a hint: `tresor … OPTION` becomes this run's command with the option and the given places.
    /// `tresor … {-o} OPTION` omits an option that the new one excludes, with its value; there may be several. `{NAME}` omits
    /// the operands. `{store}` at the end is the store in use, which a new home does not note. Any other command gets the
    /// given places, and in another home the store in use. One that names a store says itself which authority vouches for it.
    static func complete(_ hint: String) -> String {
        let words = Surroundings.current.words.given.withLock { $0 }
        // Help needs no place, and the places may be what was wrong.
        guard let rest = hint.removingPrefix("tresor "), !words.isEmpty, !rest.hasPrefix("help ") else { return hint }
        var options = words.prefix { $0 != "--" }
        var operands = words[options.endIndex...]
        guard var added = rest.removingPrefix("… ") else {
            var places = places(in: Array(options))[...]
            if rest.contains("--home ") {
                places = Surroundings.current.words.store.withLock { $0 }()[...]
            } else if let option = rest.firstRange(of: "--store ") {
                places = without("--store-ca", in: without("--store", in: places))
                // An address of IPv6 is quoted.
                let isAddress = ServiceAddress.isMeant(by: String(rest[option.upperBound...].drop { $0 == "'" }))
                if !isAddress { places = without("--store-proxy", in: places) }
            }
            return places.isEmpty || hint.contains(text(places)) ? hint : "tresor \(text(places)) \(rest)"
        }
        while added.hasPrefix("{"), let end = added.firstIndex(of: "}") {
            let name = String(added[added.index(after: added.startIndex)..<end])
            if name.hasPrefix("-") {
                options = without(name, in: options)
            } else {
                let places = Set(parts(of: Array(options)).filter { $0.role == .operand }.map(\.index))
                options = options.enumerated().filter { !places.contains($0.offset) }.map(\.element)[...]
                operands = []
            }
            added = String(added[added.index(after: end)...].drop { $0 == " " })
        }
        if let other = added.removingSuffix(" {store}") {
            let store = gives("--store") ? [] : Surroundings.current.words.store.withLock { $0 }()
            for option in store where option.hasPrefix("--") { options = without(option, in: options) }
            added = ([other] + store.map { Shell.word($0) }).joined(separator: " ")
        }
        // An option that is given already gives way to the one that is added.
        let given = added.split(separator: " ")
        if given.count > 1, given[0].hasPrefix("-"), given[1] == "-" || !given[1].hasPrefix("-") {
            options = without(String(given[0]), in: options)
        }
        let again = ["tresor", text(options), added, text(operands)]
            .filter { !$0.isEmpty }.joined(separator: " ")
        return again.utf8.count <= limit ? again : "tresor … \(added)"
    }

    /// A command inside a sentence, with the places of this run: `recover --new-kit` becomes `tresor --home x recover
    /// --new-kit`.
    static func command(_ words: String) -> String { complete("tresor \(words)") }

    /// The same command with another word in the place of one: where that is the value of one of `options`, else an operand
    /// or an option, else any value. Equal words can be different things. A `--yes` was said to no other
    /// word.
    static func replacing(_ word: String, with other: String, of options: [String] = []) -> String {
        let words = Surroundings.current.words.given.withLock { $0 }
        let meant = parts(of: words).filter { $0.text.utf8.elementsEqual(word.utf8) }
        let isOption = word.hasPrefix("-")
        let part =
            meant.last { if case .value(let option) = $0.role { options.contains(option) } else { false } }
            ?? meant.last { $0.role == (isOption ? .option : .operand) } ?? meant.last
        return part.map { replacing($0, with: other, in: words) } ?? other
    }

    /// The same words behind another command.
    static func replacingCommand(with other: String) -> String {
        let words = Surroundings.current.words.given.withLock { $0 }
        let part = parts(of: words).first { $0.role == .command }
        return part.map { replacing($0, with: other, in: words) } ?? "tresor \(other)"
    }

    /// The same command with its operands behind `--`, and among them the name of a file that was taken for an option. One
    /// that stands behind an option stays its value.
    ///
    /// - Parameter canonical: the long name of an option, or the name itself.
    static func takingAsOperand(_ word: String, canonical: (String) -> String) -> String {
        let words = Surroundings.current.words.given.withLock { $0 }
        let apart = parts(of: words.map { $0 == word ? "operand" : $0 })
        let index = words.firstIndex(of: word)
        if let index, case .value(let option)? = apart.first(where: { $0.index == index })?.role {
            let name = canonical(option)
            // -o and -C alone have no long name, and take paths.
            let value = name.hasPrefix("--") ? ["\(name)=\(word)"] : [words[index - 1], "./\(word)"]
            let again = "tresor \(text(words[..<(index - 1)] + value + words[(index + 1)...]))"
            return again.utf8.count <= limit ? again : "tresor … \(text(value))"
        }
        let operands = Set(apart.filter { $0.role == .operand }.map(\.index))
        let options = words.indices.filter { !operands.contains($0) && words[$0] != "--" }
        let again = "tresor \(text(options.map { words[$0] })) -- \(text(operands.sorted().map { words[$0] }))"
        return again.utf8.count <= limit ? again : "tresor … -- \(Shell.word(word))"
    }

    private static func replacing(_ part: Part, with other: String, in words: [String]) -> String {
        var corrected = words
        corrected[part.index] = part.before + other + part.after
        if part.role != .option, part.role != .command {
            // One that takes a value names what it consents to.
            let consents = parts(of: words).filter { $0.role == .option && $0.text == "--yes" && !takesValue("--yes") }
            for consent in consents.reversed() { corrected.remove(at: consent.index) }
        }
        let again = "tresor \(text(corrected))"
        return again.utf8.count <= limit ? again : part.role == .command ? "tresor \(other)" : other
    }

    private enum Role: Equatable {
        case command, option, operand
        /// The value of an option, by its name as it was given.
        case value(of: String)
    }

    /// A word, or the name or the value in `--name=value`.
    private struct Part {
        let index: Int
        let role: Role
        let text: String
        var before = ""
        var after = ""
    }

    private static func takesValue(_ option: String) -> Bool {
        Surroundings.current.words.valued.withLock { $0.contains(option) }
    }

    private static func parts(of words: [String]) -> [Part] {
        let valued = Surroundings.current.words.valued.withLock { $0 }
        var parts: [Part] = []
        var (option, isOver) = (String?.none, false)
        for (index, word) in words.enumerated() {
            if !isOver, word.hasPrefix("-"), word != "-", word != "--" {
                let (before, after) = (String(word.prefix { $0 != "=" }), String(word.drop { $0 != "=" }))
                // The last letter of `-qt` takes the value.
                let name = before.hasPrefix("--") ? before : "-\(before.suffix(1))"
                parts.append(Part(index: index, role: .option, text: before, after: after))
                option = after.isEmpty && valued.contains(name) ? name : nil
                guard !after.isEmpty else { continue }
                parts.append(
                    Part(index: index, role: .value(of: name), text: String(after.dropFirst()), before: "\(before)="))
            } else if let name = option {
                parts.append(Part(index: index, role: .value(of: name), text: word))
                option = nil
            } else if word == "--", !isOver {
                isOver = true
            } else {
                parts.append(Part(index: index, role: index == 0 ? .command : .operand, text: word))
            }
        }
        return parts
    }

    /// Whether this run was given an option.
    static func gives(_ option: String) -> Bool {
        Surroundings.current.words.given.withLock { $0 }.prefix { $0 != "--" }
            .contains { $0 == option || $0.hasPrefix("\(option)=") }
    }

    private static func without(_ option: String, in words: ArraySlice<String>) -> ArraySlice<String> {
        var rest = words
        while let index = rest.firstIndex(where: { $0 == option || $0.hasPrefix("\(option)=") }) {
            rest.removeSubrange(
                index..<min(index + (rest[index] == option && option.hasPrefix("-") ? 2 : 1), rest.endIndex))
        }
        return rest
    }

    private static let placeOptions = ["--home", "--store", "--store-ca", "--store-proxy"]

    private static func places(in words: [String]) -> [String] {
        var places: [String] = []
        for (index, word) in words.enumerated() {
            if Self.placeOptions.contains(word) {
                places += words[index...].prefix(2)
            } else if Self.placeOptions.contains(where: { word.hasPrefix("\($0)=") }) {
                places.append(word)
            }
        }
        return places
    }

    private static func text(_ words: some Sequence<String>) -> String {
        words.map { Shell.word($0) }.joined(separator: " ")
    }
}

extension String {
    fileprivate func removingPrefix(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }

    fileprivate func removingSuffix(_ suffix: String) -> String? {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : nil
    }
}
