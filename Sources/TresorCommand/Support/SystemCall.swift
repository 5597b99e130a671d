// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What every caller of system calls repeats.
enum SystemCall {
    /// - Returns: 0, or the `errno` that stopped it.
    static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> CInt {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// `read(2)`, again when a signal came between.
    ///
    /// - Returns: the count, or `nil` with `errno` set.
    static func read(_ descriptor: Int32, into memory: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            #if canImport(Darwin)
                let count = Darwin.read(descriptor, memory.baseAddress, memory.count)
            #else
                let count = Glibc.read(descriptor, memory.baseAddress, memory.count)
            #endif
            if count >= 0 { return count }
            guard errno == EINTR else { return nil }
        }
    }

    /// `pread(2)`, again when a signal came between.
    ///
    /// - Returns: the count, or `nil` with `errno` set.
    static func read(_ descriptor: Int32, at offset: off_t, into memory: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = pread(descriptor, memory.baseAddress, memory.count, offset)
            if count >= 0 { return count }
            guard errno == EINTR else { return nil }
        }
    }

    static func fault(_ code: CInt) -> TresorError.Fault {
        switch code {
        case ENOSPC, EDQUOT, EFBIG: .full
        case EROFS, EACCES, EPERM: .readOnly
        case ENOMEM: .memory
        default: .inputOutput
        }
    }
}

/// Opening, and what is said when that fails.
enum FileSystem {
    static func open(_ path: String, _ flags: CInt) -> Int32 {
        #if canImport(Darwin)
            return Darwin.open(path, flags)
        #else
            return Glibc.open(path, flags)
        #endif
    }

    /// Gives a file another name, which nothing may have yet.
    ///
    /// - Returns: 0, or the `errno` of what failed; the file has its old name then.
    static func move(_ name: String, toFree other: String, in directory: Int32 = AT_FDCWD) -> CInt {
        guard linkat(directory, name, directory, other, 0) == 0 else {
            guard SystemError.current.isLackOfLinks else { return errno }
            guard faccessat(directory, other, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else { return EEXIST }
            return renameat(directory, name, directory, other) == 0 ? 0 : errno
        }
        guard unlinkat(directory, name, 0) != 0 else { return 0 }
        let code = errno
        unlinkat(directory, other, 0)
        return code
    }

    static func cannotOpen(_ path: String, _ code: CInt) -> CommandFailure {
        let name = DisplayText.quoted(path)
        switch code {
        case ENOENT, ENOTDIR: return CommandFailure(.notFound, "there is no file \(name)", file: path)
        case EACCES, EPERM: return CommandFailure(.failed(.inputOutput), "\(name) may not be read by you", file: path)
        default: return CommandFailure(.failed(.inputOutput), "cannot open \(name)", file: path)
        }
    }
}
