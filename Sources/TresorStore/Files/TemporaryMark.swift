// SPDX-License-Identifier: Apache-2.0

/// The mark in the name of a temporary: 16 lower-case hexadecimal digits. It keeps files of other programs from being
/// removed.
package enum TemporaryMark {
    private static let count = 16

    package static func random() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: count - digits.count) + digits
    }

    /// Whether a name consists of `start`, a mark and `end`.
    package static func stands(in name: String, between start: String, and end: String) -> Bool {
        let (name, start, end) = (Array(name.utf8), Array(start.utf8), Array(end.utf8))
        guard name.count == start.count + count + end.count, name.starts(with: start) else { return false }
        let mark = name[start.count..<(start.count + count)]
        return mark.allSatisfy(Array("0123456789abcdef".utf8).contains) && name.suffix(end.count).elementsEqual(end)
    }
}
