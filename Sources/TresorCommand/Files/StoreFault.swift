// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Why the file of a store cannot be used.
enum StoreFault {
    /// Names what is wrong with a path at which a store does not open, and the command that mends it.
    static func failure(for error: TresorError, at path: String) -> CommandFailure {
        let (shown, directory) = (DisplayText.quoted(path), AtomicFile.split(path).directory)
        let folder = DisplayText.quoted(directory)
        var status = stat()
        if stat(path, &status) == 0, status.isKind(S_IFDIR) {
            let inside = Shell.path(Paths.join(path, "store.db"))
            return CommandFailure(
                of: error, "\(shown) is a directory, and a store is a file",
                hints: ["tresor … {--store} --store \(inside)"], file: path)
        }
        if stat(directory, &status) != 0, errno == ENOENT {
            return CommandFailure(
                of: error, "there is no directory \(folder)", hints: ["mkdir -p \(Shell.path(directory))"], file: path)
        }
        if !status.isKind(S_IFDIR) {
            return CommandFailure(of: error, "\(folder) cannot be used as a directory", file: path)
        }
        if access(directory, X_OK) != 0 {
            let owner = SystemName.of(user: status.st_uid)
            return CommandFailure(
                of: error, "\(folder) belongs to \(owner), and you may not open files in it", file: path)
        }
        if stat(path, &status) == 0, access(path, R_OK) != 0 {
            let (owner, word) = (SystemName.of(user: status.st_uid), Shell.path(path))
            return CommandFailure(
                of: error, "the store at \(shown) belongs to \(owner), and you may not read it",
                hints: [
                    "sudo chown \(SystemName.of(user: geteuid())) \(word) # for one that you alone use",
                    "chmod g+rw \(word) # as its owner, for a group that shares it",
                ], file: path)
        }
        if case .store(.readOnly) = error { return notWritable(path) }
        return CommandFailure(of: error, CommandFailure(error).message, file: path)
    }

    /// Refuses a store that this process may not write to, before anything is made that needs it.
    static func refuseUnwritable(_ path: String) throws(CommandFailure) {
        let places = [path, AtomicFile.split(path).directory]
        guard places.allSatisfy({ access($0, W_OK) == 0 || errno == ENOENT }) else { throw notWritable(path) }
    }

    /// The failure of an act that changes a store which may only be read. A copy of the file does as well.
    static func needsCopy(_ path: String, for act: String) -> CommandFailure {
        let copy = Shell.path("copy-of-\(InputFile.lastComponent(of: path))")
        return CommandFailure(
            .store(.readOnly), "\(act) changes the store: \(notWritable(path).message)",
            hints: ["cp \(Shell.path(path)) \(copy)", "tresor … {--store} --store \(copy)"], file: path)
    }

    /// SQLite writes beside the store too, so everyone who uses it needs write access to the directory. To open both to
    /// their group helps nobody who is not in it.
    ///
    /// - Parameter obstacle: the error of the system for writing there; 0 for none.
    static func notWritable(
        _ path: String, obstacle: (String) -> Int32 = { access($0, W_OK) == 0 ? 0 : errno }
    ) -> CommandFailure {
        let (folder, shown) = (AtomicFile.split(path).directory, DisplayText.quoted(path))
        let refusal = "the store at \(shown) cannot be written by you"
        let obstacles = [folder, path].map { (path: $0, error: obstacle($0)) }
        if obstacles.contains(where: { $0.error == EROFS }) {
            return CommandFailure(.store(.readOnly), "\(refusal): its file system is mounted read-only", file: path)
        }
        if let group = obstacles.lazy.filter({ $0.error != 0 }).compactMap({ foreignGroup(of: $0.path) }).first {
            let name = SystemName.of(group: group)
            return CommandFailure(
                .store(.readOnly), "\(refusal): it is for the group \(name), which you are not in", file: path)
        }
        let file =
            FileIdentity(path: path) == nil
            ? [] : ["chmod g+w \(Shell.path(path)) # as its owner, for a group that shares it"]
        let directory = Shell.path(folder)
        return CommandFailure(
            .store(.readOnly), refusal,
            hints: file + ["chmod g+ws \(directory) # as its owner; then umask 002 for all"], file: path)
    }

    /// The group of what belongs neither to the caller nor to a group of theirs.
    private static func foreignGroup(of path: String) -> gid_t? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_uid != geteuid(), !isOurs(status.st_gid) else { return nil }
        return status.st_gid
    }

    private static func isOurs(_ group: gid_t) -> Bool {
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return group == getegid() || groups.prefix(Int(max(0, count))).contains(group)
    }
}
