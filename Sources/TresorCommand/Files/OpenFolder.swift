// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A directory whose file system gives each file an owner and a mode of its own, as FAT does: others can read it, and no
/// `chmod` changes that.
enum OpenFolder {
    /// Refuses such a directory, before a secret is made that would lie there. Where no file can be made, the act itself
    /// says so.
    ///
    /// - Parameters:
    ///   - path: the directory; one that is not there yet will be in the nearest one that is.
    ///   - hints: the ways to another place.
    static func refuse(_ path: String, hints: [String]) throws(CommandFailure) {
        let directory = nearest(path)
        guard let draft = try? Draft.open(for: Paths.join(directory, "open")) else { return }
        defer { draft.discard() }
        guard let status = try? SystemCall.status(of: draft.descriptor), !status.keepsSecret else { return }
        let (owner, mode) = (SystemName.of(user: status.st_uid), String(status.st_mode & 0o777, radix: 8))
        throw CommandFailure(
            .failed(.permissions),
            "every file in \(DisplayText.quoted(directory)) belongs to \(owner) and has the mode \(mode), as on a stick with FAT: "
                + "others could read what is secret",
            hints: hints, file: directory)
    }

    private static func nearest(_ path: String) -> String {
        var (directory, status) = (Paths.absolute(path), stat())
        while stat(directory, &status) != 0, directory != "/" { directory = AtomicFile.split(directory).directory }
        return directory
    }
}
