// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The words this program was started with, from which hints make commands one can paste.
enum HintCompletion {
    /// Beyond this a hint repeats nothing.
    private static let limit = 400

    static func remember(_ words: [String]) {
        Surroundings.current.words.given.withLock { $0 = words }
    }

    /// Remembers the options that name the store in use, once it is known.
    static func remember(store options: @escaping @Sendable () -> [String]) {
        Surroundings.current.words.store.withLock { $0 = options }
    }

    /// Completes a hint: `tresor … OPTION` becomes this run's command with the option and the given places.
    /// `tresor … {-o} OPTION` omits an option that the new one excludes, with its value, or another word; there may be
    /// several. Any other command gets the given places, and in another home the store in use.
    static func complete(_ hint: String) -> String {
        let words = Surroundings.current.words.given.withLock { $0 }
        // Help needs no place, and the places may be what was wrong.
        guard let rest = hint.removingPrefix("tresor "), !words.isEmpty, !rest.hasPrefix("help ") else { return hint }
        var options = words.prefix { $0 != "--" }
        let operands = words[options.endIndex...]
        guard var added = rest.removingPrefix("… ") else {
            var places = places(in: Array(options))[...]
            if rest.contains("--home ") {
                places = Surroundings.current.words.store.withLock { $0 }()[...]
            } else if rest.contains("--store ") {
                places = without("--store", in: places)
            }
            return places.isEmpty || hint.contains(text(places)) ? hint : "tresor \(text(places)) \(rest)"
        }
        while added.hasPrefix("{"), let end = added.firstIndex(of: "}") {
            options = without(String(added[added.index(after: added.startIndex)..<end]), in: options)
            added = String(added[added.index(after: end)...].drop { $0 == " " })
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

    /// The same command with another word in the place of one: where it is the value of one of `options`, of that.
    static func replacing(_ word: String, with other: String, of options: [String] = []) -> String {
        let words = Surroundings.current.words.given.withLock { $0 }
        let places = words.indices.filter { Array(words[$0].utf8) == Array(word.utf8) }
        let values = places.filter { $0 > 0 && options.contains(words[$0 - 1]) }
        guard let index = values.last ?? places.last else { return other }
        var corrected = words
        corrected[index] = other
        let again = "tresor \(text(corrected))"
        return again.utf8.count <= limit ? again : other
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
}
