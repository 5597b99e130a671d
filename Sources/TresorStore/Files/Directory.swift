// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import TresorCore
package import TresorCrypto

extension FileDescriptor {
    /// Opens a directory that no other user can have changed.
    ///
    /// - Parameter creating: whether to create it, with its missing parents, with mode 0700.
    /// - Returns: `nil` if it is missing and not created.
    /// - Throws: `TresorError.failed(_:)` with `permissions` if another user owns it or can write to it.
    package static func privateDirectory(_ path: String, creating: Bool) throws(TresorError) -> FileDescriptor? {
        let directory = try SystemError.asFailed { () throws(SystemError) in
            if creating { try make(path) }
            return try existing(path, O_RDONLY | O_DIRECTORY)
        }
        guard let directory else { return nil }
        let status = try SystemError.asFailed { () throws(SystemError) in try directory.status() }
        guard status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else { throw .failed(.permissions) }
        return directory
    }

    private static func make(_ path: String) throws(SystemError) {
        if mkdir(path, 0o700) == 0 { return try synchronize(parentOf: path) }
        let error = SystemError.current
        switch error.number {
        case EEXIST, EISDIR: return
        case ENOENT:
            let parent = AtomicFile.split(path).directory
            guard parent != path else { throw error }
            try make(parent)
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .current }
            try synchronize(parentOf: path)
        default: throw error
        }
    }

    private static func synchronize(parentOf path: String) throws(SystemError) {
        try FileDescriptor(AtomicFile.split(path).directory, O_RDONLY | O_DIRECTORY).synchronize()
    }

    /// The names in this directory, in no particular order.
    package func names() throws(SystemError) -> [String] {
        // The stream closes its descriptor.
        let copy = try SystemError.retrying { openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let stream = fdopendir(copy) else {
            let error = SystemError.current
            close(copy)
            throw error
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw .current }
                return names
            }
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
                        String(cString: $0)
                    }
                })
        }
    }
}
