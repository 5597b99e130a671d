// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    package import Darwin
#else
    package import Glibc
#endif

/// A file whatever its name: device and inode.
package struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    package init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// The file an open descriptor stands for.
    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether an open descriptor stands for a regular file.
    package static func isFile(descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.isKind(S_IFREG)
    }

    /// Whether a path leads to a regular file, links followed.
    package static func isFile(path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.isKind(S_IFREG)
    }

    /// The file a path leads to, links followed.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether a file lies in a directory or below it, links followed.
    package static func isInside(_ path: String, directory: String) -> Bool {
        guard let file = resolved(path), let directory = resolved(directory) else { return false }
        return file.utf8.starts(with: "\(directory)/".utf8)
    }

    /// Whether both are on one file system.
    package static func isOnSameDevice(_ left: String, _ right: String) -> Bool {
        var first = stat()
        var second = stat()
        return stat(left, &first) == 0 && stat(right, &second) == 0 && first.st_dev == second.st_dev
    }

    /// The path without links; `nil` if nothing is there.
    package static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(validatingCString: real)
    }
}

extension stat {
    package func isKind(_ kind: mode_t) -> Bool { st_mode & S_IFMT == kind }

    /// Whether a file keeps a secret: this user alone can read it, or it is root's and a group of this user can read it and
    /// nobody else, as a container mounts secrets.
    package var keepsSecret: Bool {
        if st_uid == geteuid() { return st_mode & 0o077 == 0 }
        return st_uid == 0 && st_mode & 0o027 == 0 && isOfOwnGroup
    }

    private var isOfOwnGroup: Bool {
        var groups = [gid_t](repeating: 0, count: max(1, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return st_gid == getegid() || groups.prefix(max(0, Int(count))).contains(st_gid)
    }
}
