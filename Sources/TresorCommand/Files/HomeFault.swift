// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Why a directory or file of a home is refused: a link, its owner or its mode.
enum HomeFault {
    /// Names the first fault of these paths, and the command that mends it.
    static func failure(at paths: [String]) -> CommandFailure {
        found(at: paths)
            ?? CommandFailure(
                .failed(.permissions), "\(DisplayText.quoted(paths.last ?? "")) cannot be used", file: paths.last)
    }

    /// The first fault of these paths; `nil` for none.
    static func found(at paths: [String]) -> CommandFailure? {
        let error = CommandError.failed(.permissions)
        for path in paths {
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            let (shown, word) = (DisplayText.quoted(path), Shell.path(path))
            if status.isKind(S_IFLNK) {
                let target = target(of: path)
                return CommandFailure(
                    error, "\(shown) is a link to \(DisplayText.quoted(target)), and a home follows no link",
                    hints: ["mv \(Shell.path(target)) \(word)"], file: path)
            }
            let me = geteuid()
            guard status.st_uid == me else {
                return CommandFailure(
                    error,
                    "\(shown) belongs to \(SystemName.of(user: status.st_uid)), and you are \(SystemName.of(user: me))",
                    hints: ["sudo chown \(SystemName.of(user: me)) \(word)"], file: path)
            }
            let isDirectory = status.isKind(S_IFDIR)
            guard status.st_mode & (isDirectory ? 0o022 : 0o077) == 0 else {
                return CommandFailure(
                    error, "\(shown) can be read or changed by others",
                    hints: ["chmod \(isDirectory ? "700" : "600") \(word)"], file: path)
            }
        }
        return nil
    }

    private static func target(of path: String) -> String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        let target = String(decoding: bytes.prefix(max(0, count)).map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
        return target.hasPrefix("/") ? target : Paths.join(AtomicFile.split(path).directory, target)
    }
}
