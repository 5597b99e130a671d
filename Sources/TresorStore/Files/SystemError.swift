// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import TresorCore
package import TresorCrypto

/// An error number of the operating system.
package struct SystemError: Error, Hashable, Sendable {
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    /// Whether a link failed because the file system has none.
    package var isLackOfLinks: Bool { [EPERM, ENOSYS, EOPNOTSUPP, ENOTSUP].contains(number) }

    /// The error of the last failed call.
    package static var current: SystemError { SystemError(errno) }

    /// The maximum number of interruptions in a row before a call fails.
    private static let mostInterruptions = 1024

    /// Repeats a call until no signal interrupts it. Throws a negative result as its error.
    package static func retrying<Count: SignedInteger>(_ call: () -> Count) throws(SystemError) -> Count {
        for _ in 0..<mostInterruptions {
            let result = call()
            if result >= 0 { return result }
            let error = current
            guard error.number == EINTR else { throw error }
        }
        throw SystemError(EINTR)
    }

    /// The matching `TresorError`.
    package var fault: TresorError.Fault {
        switch number {
        case ENOSPC, EDQUOT, EFBIG: .full
        case EROFS, EACCES, EPERM: .readOnly
        case ENOMEM: .memory
        default: .inputOutput
        }
    }

    /// Runs `body` and reports its failure as a failure of this machine.
    package static func asFailed<Result: ~Copyable>(
        _ body: () throws(SystemError) -> Result
    ) throws(TresorError) -> Result {
        do { return try body() } catch { throw .failed(error.fault) }
    }
}
