// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto

/// Secret words as a terminal shows them: in rows that no terminal of 80 columns breaks.
enum WordSheet {
    /// No word of the list is longer.
    private static let longest = 8

    /// The words of a kit, four in a row, each with its number in front.
    ///
    /// - Parameter words: one blank between two.
    static func numbered(_ words: borrowing SecretBytes) throws(TresorError) -> SecretBytes {
        let cell = 4 + longest
        let count = wordCount(words)
        let typed = words.span
        return try SecretBytes(count: (count + 3) / 4 * (4 * cell + 1)) { (output) throws(TresorError) in
            for place in 0..<output.count {
                output[place] = place % (4 * cell + 1) == 4 * cell ? 0x0a : 0x20
            }
            var (word, place) = (0, 0)
            for index in 0...typed.count {
                if index == 0 || typed[index - 1] == 0x20 {
                    place = word / 4 * (4 * cell + 1) + word % 4 * cell
                    word += 1
                    if word > 9 { output[place + 1] = UInt8(0x30 + word / 10) }
                    output[place + 2] = UInt8(0x30 + word % 10)
                    place += 4
                }
                guard index < typed.count, typed[index] != 0x20 else { continue }
                output[place] = typed[index]
                place += 1
            }
        }
    }

    /// The words of a password, five in a row. A row ends where a blank is typed.
    static func rows(_ words: borrowing SecretBytes) throws(TresorError) -> SecretBytes {
        let typed = words.span
        return try SecretBytes(count: typed.count) { (output) throws(TresorError) in
            var blanks = 0
            for index in 0..<typed.count {
                if typed[index] == 0x20 { blanks += 1 }
                output[index] = typed[index] == 0x20 && blanks % 5 == 0 ? 0x0a : typed[index]
            }
        }
    }

    private static func wordCount(_ words: borrowing SecretBytes) -> Int {
        let typed = words.span
        var count = 1
        for index in 0..<typed.count where typed[index] == 0x20 { count += 1 }
        return count
    }
}
