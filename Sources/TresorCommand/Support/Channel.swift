// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Standard output or standard error, written without a buffer.
struct Channel: Sendable {
    static var output: Channel { Surroundings.current.output }
    static var error: Channel { Surroundings.current.error }

    let descriptor: Int32
    let name: String

    var isTerminal: Bool { isatty(descriptor) == 1 }

    /// Writes all of it. A reader that went away ends the process with SIGPIPE, quietly.
    func write(_ bytes: Span<UInt8>) throws(CommandFailure) {
        do throws(SystemError) {
            try SystemCall.write(bytes.bytes, to: descriptor)
        } catch {
            throw CommandFailure(.failed(error.fault), "cannot write to \(name): \(error.fault.rawValue)")
        }
    }

    func write(_ text: String) throws(CommandFailure) {
        try write(Array(text.utf8).span)
    }

    /// Tries to write a message; a failure is ignored.
    func tryWrite(_ text: String) {
        try? write(text)
    }
}
