// SPDX-License-Identifier: Apache-2.0

/// A text as one word of a command line to paste.
package enum ShellWord {
    /// Returns a text as one word for a shell, in single quotes unless it is plain.
    ///
    /// A quote is escaped whatever follows it: with a combining mark it is no quote to Swift, and still one to the shell.
    package static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch Unicode.Scalar(byte) {
                case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "/", "@", "+", ":", ",", "=": true
                default: false
                }
            }
        return isPlain ? text : "'" + text.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }
}
