// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorStore

/// Text made fit to be pasted into a shell.
enum Shell {
    /// A word as one argument; never taken for an option.
    static func path(_ path: String) -> String {
        word(path.utf8.first == UInt8(ascii: "-") ? "./\(path)" : path)
    }

    /// A handle or a tresor name as one argument; the beginning of the id if the name would be taken for an option.
    static func word(_ name: Name, or id: some CustomStringConvertible) -> String {
        name.bytes.first == UInt8(ascii: "-") ? String(id.description.prefix(10)) : word(name.text)
    }

    /// Quotes text that would not survive being shown as `$'…'`, which bash, zsh and ksh read.
    private static func escaped(_ text: String) -> String {
        "$'"
            + text.unicodeScalars.map { scalar in
                if scalar == "'" || scalar == "\\" { return "\\\(scalar)" }
                guard DisplayText.isUnsafe(scalar) else { return String(scalar) }
                return String(scalar).utf8.map { "\\x" + DisplayText.hexadecimal(UInt32($0), digits: 2) }.joined()
            }.joined() + "'"
    }

    /// A text as one argument.
    static func word(_ text: String) -> String {
        text.unicodeScalars.contains { DisplayText.isUnsafe($0) } ? escaped(text) : ShellWord.quoted(text)
    }
}
