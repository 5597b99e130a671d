// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import TresorCore
package import TresorCrypto
import TresorStore

/// The file of a store in the file system.
package enum StoreFile {
    /// Whether `path` exists.
    package static func exists(at path: String) throws(TresorError) -> Bool {
        var status = stat()
        if stat(path, &status) == 0 { return true }
        let error = SystemError.current
        if error.number == ENOENT { return false }
        throw .store(error.number == EACCES ? .inputOutput : error.fault)
    }

    /// Whether a file is empty or large enough to be a database. SQLite would overwrite a file of a few bytes.
    package static func hasRoom(at path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && (status.st_size == 0 || status.st_size >= 512)
    }

    /// Whether the disk of a file has less than 1 MiB left, several times what a request without content takes; `false` for
    /// one that does not tell. To ask takes no room.
    package static func isDiskFull(at path: String) -> Bool { room(at: path).map { $0 < 1 << 20 } ?? false }

    /// The bytes that the disk of a file has left for this user; `nil` for a disk that does not tell.
    package static func room(at path: String) -> UInt64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0, status.f_blocks > 0 else { return nil }
        let (room, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: max(1, UInt64(status.f_frsize)))
        return overflow ? .max : room
    }

    /// The size of the write-ahead log of a file in bytes.
    static func logByteCount(of path: String) -> UInt64 {
        var status = stat()
        return stat("\(path)-wal", &status) == 0 ? UInt64(max(0, status.st_size)) : 0
    }

    /// A read-only store file without a write-ahead log.
    struct Still: Sendable {
        let path: String
        /// The URI that tells SQLite that nobody writes to the file.
        var location: String { "file:\(StoreFile.escaped(path))?mode=ro&immutable=1" }
        fileprivate let moment: Moment

        /// Whether the file is unchanged since it was opened.
        var isUnchanged: Bool { StoreFile.moment(of: path) == moment && !StoreFile.hasLog(path) }
    }

    /// The attributes of a file that change with every write.
    fileprivate struct Moment: Equatable {
        let inode: UInt64
        let size: Int64
        let seconds: Int
        let nanoseconds: Int
    }

    /// Returns a file that this process cannot write to, or beside which it cannot create files; `nil` for all others,
    /// and for one with a write-ahead log, which has its last writes.
    static func still(at path: String) -> Still? {
        let directory = AtomicFile.split(path).directory
        guard access(path, R_OK) == 0, !isWritable(path) || !isWritable(directory), !hasLog(path),
            let moment = moment(of: path)
        else { return nil }
        return Still(path: path, moment: moment)
    }

    private static func isWritable(_ path: String) -> Bool {
        access(path, W_OK) == 0 || ![EACCES, EROFS, EPERM].contains(errno)
    }

    private static func hasLog(_ path: String) -> Bool { logByteCount(of: path) > 0 }

    private static func moment(of path: String) -> Moment? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        return Moment(
            inode: UInt64(status.st_ino), size: Int64(status.st_size), seconds: Int(time.tv_sec),
            nanoseconds: Int(time.tv_nsec))
    }

    /// Encodes a path for a URI. It is the path of a regular file, so bytes that are not UTF-8 were refused before.
    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            switch Unicode.Scalar(byte) {
            case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "/": String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }.joined()
    }

    /// Creates a temporary file, fills it with `fill`, and links it to its path. Nobody ever opens an incomplete store.
    ///
    /// If another process was faster, its file stays.
    package static func create(at path: String, fill: (_ temporary: String) throws -> Void) throws {
        sweep(path)
        let temporary = try makeTemporary(path)
        defer { remove(temporary.name) }
        try fill(temporary.name)
        do {
            try place(temporary.name, at: path)
        } catch {
            throw TresorError.store(error.fault)
        }
    }

    /// Removes the second name of a store whose creator was killed before it could. Opens nothing: closing a file drops
    /// the locks of SQLite on it.
    static func sweepSecondName(of path: String) {
        var store = stat()
        guard stat(path, &store) == 0, store.st_nlink > 1 else { return }
        for temporary in temporaries(of: path) {
            var other = stat()
            guard lstat(temporary, &other) == 0, FileIdentity(other) == FileIdentity(store) else { continue }
            remove(temporary)
        }
    }

    private static let suffix = ".new"

    private static func makeTemporary(_ path: String) throws(TresorError) -> TemporaryFile {
        do throws(SystemError) {
            return try TemporaryFile.make(O_RDWR, mode: 0o666) { "\(path).\(TemporaryMark.random())\(suffix)" }
        } catch {
            throw .store(error.fault)
        }
    }

    /// Removes the temporaries of dead processes.
    private static func sweep(_ path: String) {
        TemporaryFile.sweep(temporaries(of: path), remove: remove)
    }

    private static func temporaries(of path: String) -> [String] {
        let (directory, name) = AtomicFile.split(path)
        let names = (try? FileDescriptor(directory, O_RDONLY | O_DIRECTORY).names()) ?? []
        return names.filter { TemporaryMark.stands(in: $0, between: "\(name).", and: suffix) }.map {
            "\(directory)/\($0)"
        }
    }

    private static func remove(_ temporary: String) {
        for suffix in ["-wal", "-shm", "-journal", ""] { unlink(temporary + suffix) }
    }

    private static func place(_ temporary: String, at path: String) throws(SystemError) {
        do throws(SystemError) {
            try SystemCall.link(temporary, toFree: path)
        } catch {
            guard error.number == EEXIST else { throw error }
            return
        }
        try FileDescriptor(AtomicFile.split(path).directory, O_RDONLY | O_DIRECTORY).synchronize()
    }
}
