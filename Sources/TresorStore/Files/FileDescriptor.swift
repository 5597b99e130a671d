// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    package import Darwin
#else
    package import Glibc
#endif

/// Permission bits as system calls take them.
package typealias FileMode = mode_t

/// An open file or directory, closed with the value. Never 0, 1 or 2, where other parts of a program write messages.
package struct FileDescriptor: ~Copyable, Sendable {
    package let number: Int32

    /// Opens `path`, relative to the directory `parent`. Every descriptor is closed on exec.
    ///
    /// - Throws: the ``SystemError`` of open(2).
    package init(_ path: String, in parent: Int32 = AT_FDCWD, _ flags: Int32, mode: FileMode = 0) throws(SystemError) {
        try self.init(opened: try SystemCall.open(path, in: parent, flags, mode: mode))
    }

    #if !canImport(Darwin)
        /// Makes a TCP socket of an address family. Its calls do not wait.
        ///
        /// - Throws: the ``SystemError`` of socket(2).
        package init(socketOf family: Int32) throws(SystemError) {
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            try self.init(opened: try SystemError.retrying { socket(family, kind, 0) })
        }
    #endif

    /// Takes over what was opened, under a number above 2.
    private init(opened: Int32) throws(SystemError) {
        guard opened <= 2 else {
            number = opened
            return
        }
        let moved = fcntl(opened, F_DUPFD_CLOEXEC, 3)
        let error = SystemError.current
        close(opened)
        guard moved >= 0 else { throw error }
        number = moved
    }

    /// Opens a file that may be missing; `nil` if it is.
    package static func existing(
        _ path: String, in parent: Int32 = AT_FDCWD, _ flags: Int32
    ) throws(SystemError) -> FileDescriptor? {
        do throws(SystemError) {
            return try FileDescriptor(path, in: parent, flags)
        } catch {
            guard error.number == ENOENT else { throw error }
            return nil
        }
    }

    deinit {
        close(number)
    }

    /// The result of fstat(2).
    package func status() throws(SystemError) -> stat {
        try SystemCall.status(of: number)
    }

    /// Writes all of `bytes`.
    package func write(_ bytes: RawSpan) throws(SystemError) {
        try SystemCall.write(bytes, to: number)
    }

    /// Reads to the end; `nil` for more than `limit` bytes.
    package func read(limit: Int) throws(SystemError) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var memory = chunk.mutableSpan
            let count = try memory.withUnsafeMutableBytes { (memory) throws(SystemError) in
                try SystemCall.read(number, into: memory)
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { return nil }
            bytes += chunk[..<count]
        }
    }

    /// Fills exactly `output`. An earlier end of the file is an error.
    package func read(into output: inout MutableSpan<UInt8>) throws(SystemError) {
        var filled = 0
        while filled < output.count {
            let count = try output.withUnsafeMutableBytes { (memory) throws(SystemError) in
                try SystemCall.read(number, into: UnsafeMutableRawBufferPointer(rebasing: memory[filled...]))
            }
            guard count != 0 else { throw SystemError(EIO) }
            filled += count
        }
    }

    /// Makes written bytes, or the entries of a directory, durable against a power cut.
    package func synchronize() throws(SystemError) {
        #if canImport(Darwin)
            if fcntl(number, F_FULLFSYNC) == 0 { return }
        #endif
        _ = try SystemError.retrying { fsync(number) }
    }
}
