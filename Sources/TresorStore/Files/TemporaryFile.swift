// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A new file under a temporary name, locked for as long as its process lives. Its owner removes the name.
package struct TemporaryFile: ~Copyable {
    package let file: FileDescriptor
    package let name: String

    package init(file: consuming FileDescriptor, name: String) {
        self.file = file
        self.name = name
    }

    /// The file; its name is known to the caller.
    package consuming func take() -> FileDescriptor { file }

    /// Makes a file under a name that nothing has, and locks it.
    ///
    /// - Parameters:
    ///   - access: `O_WRONLY` or `O_RDWR`.
    ///   - mode: given at open(2), hence lowered by the umask.
    ///   - requiresLock: whether a file system without locks is an error.
    ///   - names: gives a new name for each attempt.
    package static func make(
        in parent: Int32 = AT_FDCWD, _ access: Int32, mode: FileMode, requiresLock: Bool = true, names: () -> String
    ) throws(SystemError) -> TemporaryFile {
        for _ in 0..<16 {
            let name = names()
            let file = try FileDescriptor(name, in: parent, access | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
            do throws(SystemError) {
                _ = try SystemError.retrying { flock(file.number, LOCK_EX) }
            } catch {
                guard !requiresLock else { throw error }
            }
            // Another process that sweeps may have removed it between the two calls.
            if try file.status().st_nlink > 0 { return TemporaryFile(file: file, name: name) }
        }
        throw SystemError(EIO)
    }

    /// Calls `remove` for each temporary whose process is no more, while its lock is held.
    package static func sweep(_ names: [String], in parent: Int32 = AT_FDCWD, remove: (String) -> Void) {
        for name in names {
            guard let file = try? FileDescriptor(name, in: parent, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
                flock(file.number, LOCK_EX | LOCK_NB) == 0
            else { continue }
            remove(name)
        }
    }
}
