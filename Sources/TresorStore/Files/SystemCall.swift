// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    package import Darwin
#else
    package import Glibc
#endif

/// Calls of the operating system, repeated when a signal interrupts them. A descriptor that they take stays its owner's.
package enum SystemCall {
    /// `openat(2)`; every descriptor is closed on exec.
    package static func open(
        _ path: String, in parent: Int32 = AT_FDCWD, _ flags: Int32, mode: FileMode = 0
    ) throws(SystemError) -> Int32 {
        try SystemError.retrying { openat(parent, path, flags | O_CLOEXEC, mode) }
    }

    /// `read(2)`.
    ///
    /// - Returns: how many bytes were read, 0 at the end.
    package static func read(
        _ descriptor: Int32, into memory: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        try SystemError.retrying { systemRead(descriptor, memory.baseAddress, memory.count) }
    }

    /// `pread(2)`, which reads at an offset.
    package static func read(
        _ descriptor: Int32, at offset: off_t, into memory: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> Int {
        try SystemError.retrying { pread(descriptor, memory.baseAddress, memory.count, offset) }
    }

    /// Writes all of `bytes`.
    package static func write(_ bytes: RawSpan, to descriptor: Int32) throws(SystemError) {
        var rest = bytes
        while rest.byteCount > 0 {
            let count = try SystemError.retrying {
                let written = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
                return written
            }
            rest = rest.extracting(droppingFirst: count)
        }
    }

    /// `fstat(2)`.
    package static func status(of descriptor: Int32) throws(SystemError) -> stat {
        var status = stat()
        _ = try SystemError.retrying { fstat(descriptor, &status) }
        return status
    }
}

extension SystemCall {
    /// Where a file is after ``link(_:toFree:in:)``.
    package enum Placement {
        /// Under both names.
        case linked
        /// Under the new name only.
        case moved
    }

    /// Gives a file a second name. Where the file system has no links, the second name replaces the first.
    ///
    /// - Throws: `EEXIST` when something has the name already.
    @discardableResult
    package static func link(
        _ name: String, toFree other: String, in directory: Int32 = AT_FDCWD
    ) throws(SystemError) -> Placement {
        if linkat(directory, name, directory, other, 0) == 0 { return .linked }
        let error = SystemError.current
        guard error.isLackOfLinks else { throw error }
        // Without links, a file that appears between the two calls is replaced.
        guard faccessat(directory, other, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else { throw SystemError(EEXIST) }
        _ = try SystemError.retrying { renameat(directory, name, directory, other) }
        return .moved
    }

    /// Gives a file another name, which nothing may have yet. When that fails, it has its old name.
    ///
    /// - Throws: `EEXIST` when something has the name already.
    package static func move(
        _ name: String, toFree other: String, in directory: Int32 = AT_FDCWD
    ) throws(SystemError) {
        guard try link(name, toFree: other, in: directory) == .linked, unlinkat(directory, name, 0) != 0 else { return }
        let error = SystemError.current
        unlinkat(directory, other, 0)
        throw error
    }
}

private func systemWrite(_ number: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
    write(number, start, count)
}

private func systemRead(_ number: Int32, _ start: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(number, start, count)
}
