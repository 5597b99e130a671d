// SPDX-License-Identifier: Apache-2.0

/// The path of a database, as somebody types it.
package enum StorePath {
    private static let endings = [".db", ".sqlite", ".sqlite3", ".store", ".tresor"]

    /// Whether a text names a file, and not a host or an address without its scheme: it begins with `/` or `./`, or a
    /// file is there, or it has no colon before its first `/`, and either a `/` or the ending of a database.
    package static func isMeant(by text: String) -> Bool {
        if text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("../") { return true }
        if FileIdentity(path: text) != nil { return true }
        let components = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = components.first, !first.contains(":") else { return false }
        return components.count > 1 || endings.contains { text.lowercased().hasSuffix($0) }
    }
}
