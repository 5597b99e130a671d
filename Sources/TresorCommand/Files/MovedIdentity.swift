// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An identity that makes room for another, and comes back if none is made or the program is interrupted.
final class MovedIdentity: Sendable {
    private let path: String
    private let aside: String
    private let token = Mutex<Interrupts.Token?>(nil)

    /// Moves the identity to `identity.SECONDS`, a name that nothing has yet.
    ///
    /// - Returns: `nil` when there is no identity.
    init?(in places: Places) throws(CommandFailure) {
        path = Places.join(places.data, "identity")
        var seconds = time(nil)
        var code = FileSystem.move(path, toFree: "\(path).\(seconds)")
        while code == EEXIST {
            seconds += 1
            code = FileSystem.move(path, toFree: "\(path).\(seconds)")
        }
        aside = "\(path).\(seconds)"
        guard code != ENOENT else { return nil }
        guard code == 0 else { throw CommandFailure(.failed(SystemCall.fault(code)), file: path) }
        token.withLock { $0 = Interrupts.onInterrupt { [weak self] in self?.putBack() } }
    }

    /// Another has taken its place.
    func stays() {
        if let token = token.withLock({ $0 }) { Interrupts.cancel(token) }
    }

    /// An identity that has been made meanwhile keeps its place.
    func putBack() {
        stays()
        _ = FileSystem.move(aside, toFree: path)
    }

    /// Whether a file is called as an identity that was moved.
    static func isName(_ name: String) -> Bool {
        let prefix = "identity."
        let digits = name.utf8.dropFirst(prefix.utf8.count)
        return name.utf8.starts(with: prefix.utf8) && !digits.isEmpty
            && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
