// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
import Tresor

/// The file of a store, as the file system sees it.
enum StoreFile {
    /// Whether there is anything at `path`.
    static func exists(at path: String) throws(TresorError) -> Bool {
        var status = stat()
        if stat(path, &status) == 0 { return true }
        let error = SystemError.current
        if error.number == ENOENT { return false }
        throw .store(error.number == EACCES ? .inputOutput : error.fault)
    }

    /// Makes the file beside its place, lets `fill` write it, and links it into place: nobody ever opens half a store.
    ///
    /// If somebody else was faster, theirs stays.
    static func create(at path: String, fill: (_ temporary: String) throws -> Void) throws {
        let random = UInt64.random(in: .min ... .max)
        let temporary = "\(path).\(String(random, radix: 16)).new"
        do {
            _ = try FileDescriptor(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666)
        } catch {
            throw TresorError.store(error.fault)
        }
        defer { for suffix in ["", "-wal", "-shm", "-journal"] { unlink(temporary + suffix) } }
        try fill(temporary)
        do {
            try place(temporary, at: path)
        } catch {
            throw TresorError.store(error.fault)
        }
    }

    private static func place(_ temporary: String, at path: String) throws(SystemError) {
        if link(temporary, path) != 0 {
            let error = SystemError.current
            if error.number == EEXIST { return }
            // Not every file system has links; on those, somebody faster is noticed only if they were faster by now.
            guard [EPERM, ENOSYS, EOPNOTSUPP].contains(error.number), access(path, F_OK) != 0 else { throw error }
            _ = try SystemError.retrying { rename(temporary, path) }
        }
        try FileDescriptor(AtomicFile.split(path).directory, O_RDONLY | O_DIRECTORY).synchronize()
    }
}
