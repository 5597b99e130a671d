// SPDX-License-Identifier: Apache-2.0

/// The beginning of an id, as a person can type it.
enum ShortID {
    static func text(of id: some CustomStringConvertible) -> String { String(id.description.prefix(10)) }

    /// The same when `text` means several: a handle or a tresor name can be the beginning of an id.
    static func text(of id: some CustomStringConvertible, unlike text: String) -> String {
        let short = Self.text(of: id)
        return Array(short.utf8) == Array(text.utf8) ? id.description : short
    }
}
