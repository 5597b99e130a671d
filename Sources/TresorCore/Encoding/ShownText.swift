// SPDX-License-Identifier: Apache-2.0

/// Text from others, made fit to be shown by the command and by the service: it cannot forge a line, move the cursor,
/// turn the writing direction or go on as the sentence around it does.
package enum ShownText {
    /// A handle, as it is when it is usual, otherwise quoted and escaped. So it does not go on as the sentence does.
    package static func name(_ name: Name) -> String { Self.name(name.text) }

    /// A handle, a tresor name, a record name: as it is when it is usual, otherwise quoted and escaped.
    package static func name(_ text: String) -> String {
        isUsual(text) ? text : quoted(text)
    }

    /// Quoted whatever it is, as file and record names are.
    package static func quoted(_ text: String) -> String {
        "\"" + text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : escaped($0) }.joined() + "\""
    }

    /// Escapes only the unsafe characters of a whole sentence.
    package static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { escaped($0) }.joined()
    }

    /// Whether a scalar is control, direction, invisible, unassigned or private, or a blank that is not the space.
    package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7f }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse,
            .unassigned:
            return true
        default:
            return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    private static func isUsual(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, first != "-", !isMark(first),
            first.properties.generalCategory != .modifierLetter
        else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            if scalar.isASCII { return isUsual(scalar) }
            return !isUnsafe(scalar) && (isOfWords(scalar) || isMark(scalar))
        }
    }

    /// Letters that look like punctuation: clicks like bars and an exclamation mark, glottal stops like a question mark and
    /// quotes, a dot of Latin, and finals of Canadian syllables like accents, a stop, strokes, a plus and a quote.
    private static let lookalikes: Set<UInt32> = [
        0x1c0, 0x1c1, 0x1c2, 0x1c3, 0x294, 0xa78b, 0xa78c, 0xa78f, 0x141f, 0x1420, 0x1427, 0x1428, 0x1429, 0x144a,
    ]

    /// Whether a scalar outside of ASCII is a letter or a digit that does not look like punctuation.
    private static func isOfWords(_ scalar: Unicode.Scalar) -> Bool {
        guard !lookalikes.contains(scalar.value) else { return false }
        return switch scalar.properties.generalCategory {
        // Commas, stops, colons and quotes of many scripts are modifier letters. Some of them repeat or lengthen a letter;
        // of these, the two that Latin has look like colons.
        case .modifierLetter: scalar.properties.isExtender && scalar.value > 0x2d1
        // Digits in brackets, and with a stop or a comma.
        case .otherNumber: false
        default: scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        }
    }

    private static func isUsual(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "@", "+": true
        default: false
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        case _ where isUnsafe(scalar): "\\u{" + String(scalar.value, radix: 16) + "}"
        default: String(scalar)
        }
    }
}
