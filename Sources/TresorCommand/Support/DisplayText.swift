// SPDX-License-Identifier: Apache-2.0

import TresorCore

/// Text from others, made fit to be shown: it cannot forge a line, move the cursor or turn the writing direction.
enum DisplayText {
    /// A handle, a tresor name, a record name: as it is when it is usual, otherwise quoted and escaped.
    static func name(_ text: String) -> String { ShownText.name(text) }

    /// The same for bytes; those that are not UTF-8 are shown as `\xHH`.
    static func name(_ bytes: [UInt8]) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { return quoted(bytes) }
        return name(text)
    }

    /// Quoted whatever it is, as file and record names are.
    static func quoted(_ text: String) -> String { ShownText.quoted(text) }

    static func quoted(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return quoted(text) }
        let shown = bytes.map { byte in
            let scalar = Unicode.Scalar(byte)
            if scalar == "\"" || scalar == "\\" { return "\\\(scalar)" }
            return (0x20...0x7e).contains(byte) ? String(scalar) : "\\x" + hexadecimal(UInt32(byte), digits: 2)
        }
        return "\"" + shown.joined() + "\""
    }

    /// Escapes only the unsafe characters of a whole sentence.
    static func escaped(_ text: String) -> String { ShownText.escaped(text) }

    /// Whether a scalar is control, direction, invisible, unassigned or private, or a blank that is not the space.
    static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool { ShownText.isUnsafe(scalar) }

    /// Whether bytes are UTF-8 without control characters other than tab and line ends. A CR alone would write over its
    /// own line. A sign that turns the writing direction, ends a line or takes no room counts as a control
    /// character (SPEC §14.4 P5).
    static func isTextForTerminal(_ bytes: Span<UInt8>) -> Bool {
        guard let text = try? UTF8Span(validating: bytes) else { return false }
        var scalars = text.makeUnicodeScalarIterator()
        var endsLine = false
        while let scalar = scalars.next() {
            guard !endsLine || scalar == "\n" else { return false }
            endsLine = scalar == "\r"
            switch scalar {
            case "\t", "\n", "\r": continue
            default: if drivesTerminal(scalar) { return false }
            }
        }
        return !endsLine
    }

    /// A variation selector alone takes no room and is harmless: it chooses how the sign before it is drawn.
    private static func drivesTerminal(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0xfe00...0xfe0f: return false
        case 0xfff9...0xfffb: return true
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    static func hexadecimal(_ value: UInt32, digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
