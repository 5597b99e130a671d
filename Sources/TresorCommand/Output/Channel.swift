// SPDX-License-Identifier: Apache-2.0

import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Standard output or standard error, written without a buffer in between: what was written is written.
struct Channel: Sendable {
    static var output: Channel { Surroundings.current.output }
    static var error: Channel { Surroundings.current.error }

    let descriptor: Int32
    let name: String

    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Writes all of it. A reader that went away ends the process with SIGPIPE, quietly.
    func write(_ bytes: Span<UInt8>) throws(CommandFailure) {
        let code = bytes.withUnsafeBytes { SystemCall.writeAll($0, to: descriptor) }
        guard code == 0 else {
            let fault = SystemCall.fault(code)
            throw CommandFailure(.failed(fault), "cannot write to \(name): \(fault.rawValue)")
        }
    }

    func write(_ text: String) throws(CommandFailure) {
        try write(Array(text.utf8).span)
    }

    /// For talk, which is worth an attempt and no failure.
    func tryWrite(_ text: String) {
        try? write(text)
    }
}

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
