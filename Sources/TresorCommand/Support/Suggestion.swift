// SPDX-License-Identifier: Apache-2.0

/// Suggestions for a mistyped name: shown, never executed.
enum Suggestion {
    /// The candidates at most two edits away, nearest first, at most three. A name that would be taken for an option
    /// is none.
    static func near(_ word: String, among candidates: [String]) -> [String] {
        let typed = Array(word.unicodeScalars)
        return candidates.filter { $0.utf8.first != UInt8(ascii: "-") }.enumerated()
            .compactMap { index, candidate in
                distance(typed, Array(candidate.unicodeScalars)).map { (distance: $0, index: index, candidate) }
            }
            .sorted { ($0.distance, $0.index) < ($1.distance, $1.index) }
            .prefix(3).map(\.2)
    }

    /// The number of insertions, deletions, substitutions and swaps of neighbours, or `nil` above two, or where two
    /// edits would leave nothing of the word.
    static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int? {
        let limit = 2
        guard left.count <= 256, abs(left.count - right.count) <= limit else { return nil }
        var before: [Int] = []
        var previous = Array(0...right.count)
        for (row, scalar) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                let replaced = previous[column] + (scalar == other ? 0 : 1)
                var best = min(previous[column + 1] + 1, current[column] + 1, replaced)
                if row > 0, column > 0, scalar == right[column - 1], left[row - 1] == other {
                    best = min(best, before[column - 1] + 1)
                }
                current.append(best)
            }
            (before, previous) = (previous, current)
        }
        let distance = previous[right.count]
        return distance <= limit && distance < max(left.count, right.count) ? distance : nil
    }
}
