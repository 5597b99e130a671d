// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import TresorCore
package import TresorCrypto

/// A file that appears under its name completely or not at all, also after a power cut.
///
/// The bytes go to a temporary file in the same directory. It is locked while in use, which distinguishes it from a
/// temporary of a dead process (``sweep(_:)``). Dropping the value without committing removes the temporary.
package struct AtomicFile: ~Copyable {
    private static let prefix = ".tresor-"
    private static let suffix = ".tmp"

    private let directory: FileDescriptor
    private let temporary: TemporaryFile
    private let name: String

    /// Begins a file for `path`.
    ///
    /// - Parameters:
    ///   - path: the target. A symbolic link there is replaced, never followed.
    ///   - mode: the mode for open(2), lowered by the umask: 0600 for private files, 0666 for others.
    /// - Throws: `TresorError.notFound` if the directory is missing; `TresorError.failed(_:)`, also if `path` is
    ///   neither a file nor a symbolic link.
    package init(at path: String, mode: FileMode) throws(TresorError) {
        let (directory, name) = Self.split(path)
        let opened: FileDescriptor
        do {
            opened = try FileDescriptor(directory, O_RDONLY | O_DIRECTORY)
        } catch {
            throw error.number == ENOENT ? .notFound : .failed(error.fault)
        }
        try self.init(name, in: opened, mode: mode)
    }

    /// Begins a file called `name` in an open directory.
    package init(_ name: String, in directory: consuming FileDescriptor, mode: FileMode) throws(TresorError) {
        try Self.requireReplaceable(name, in: directory)
        do throws(SystemError) {
            temporary = try Self.makeTemporary(for: name, in: directory, mode: mode)
        } catch {
            throw .failed(error.fault)
        }
        self.directory = directory
        self.name = name
    }

    deinit {
        unlinkat(directory.number, temporary.name, 0)
    }

    /// Appends all of `bytes`.
    package func write(_ bytes: Span<UInt8>) throws(TresorError) {
        try SystemError.asFailed { () throws(SystemError) in try temporary.file.write(bytes.bytes) }
    }

    /// Moves the file to its path, durably.
    ///
    /// - Parameter replacing: whether to replace an existing file.
    /// - Returns: `false` if a file exists and was to stay; then nothing changed.
    package consuming func commit(replacing: Bool) throws(TresorError) -> Bool {
        try SystemError.asFailed { () throws(SystemError) in try temporary.file.synchronize() }
        if replacing { try Self.requireReplaceable(name, in: directory) }
        return try SystemError.asFailed { () throws(SystemError) in
            guard replacing ? try rename() : try link() else { return false }
            try directory.synchronize()
            return true
        }
    }

    private func rename() throws(SystemError) -> Bool {
        _ = try SystemError.retrying { renameat(directory.number, temporary.name, directory.number, name) }
        return true
    }

    private func link() throws(SystemError) -> Bool {
        do throws(SystemError) {
            try SystemCall.link(temporary.name, toFree: name, in: directory.number)
            return true
        } catch {
            guard error.number == EEXIST else { throw error }
            return false
        }
    }
}

extension AtomicFile {
    /// The directory of a path, `.` if it names none, and its last component.
    package static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let name = String(path[path.utf8.index(after: slash)...])
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    /// Removes the temporaries of dead processes.
    package static func sweep(_ directory: borrowing FileDescriptor) throws(SystemError) {
        let names = try directory.names().filter { TemporaryMark.stands(in: $0, between: prefix, and: suffix) }
        TemporaryFile.sweep(names, in: directory.number) { unlinkat(directory.number, $0, 0) }
    }

    /// Removes the temporaries of dead processes from the directory of a path, if it can be read.
    package static func sweep(besides path: String) {
        guard let directory = try? FileDescriptor(split(path).directory, O_RDONLY | O_DIRECTORY) else { return }
        try? sweep(directory)
    }

    /// A name that ``sweep(_:)`` recognizes as a temporary.
    package static func temporaryName() -> String { prefix + TemporaryMark.random() + suffix }

    private static func makeTemporary(
        for target: String, in directory: borrowing FileDescriptor, mode: FileMode
    ) throws(SystemError) -> TemporaryFile {
        try TemporaryFile.make(in: directory.number, O_WRONLY, mode: mode, names: temporaryName)
    }

    private static func requireReplaceable(
        _ name: String, in directory: borrowing FileDescriptor
    ) throws(TresorError) {
        var status = stat()
        guard fstatat(directory.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            let error = SystemError.current
            if error.number == ENOENT { return }
            throw .failed(error.fault)
        }
        let isFile = [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT)
        guard isFile else { throw .failed(.inputOutput) }
    }
}
