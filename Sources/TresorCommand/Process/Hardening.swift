// SPDX-License-Identifier: Apache-2.0

import Cvariadic
import Tresor
import TresorCrypto

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Hardens the process before it reads anything. The target `Cerasure` overwrites freed memory, because the KEM library
/// keeps a seed on its own heap during a call.
enum Hardening {
    /// - Throws: for a set-uid or set-gid program, which would trust its caller's environment with another user's rights.
    static func apply() throws(CommandFailure) {
        occupyStandardDescriptors()
        guard getuid() == geteuid(), getgid() == getegid() else {
            throw CommandFailure(
                .failed(.permissions), "the program is installed set-uid or set-gid and does not run so")
        }
        _ = variadic_forbid_dumps()
        signal(SIGPIPE, SIG_DFL)
        // A caller who ignores it would have the system take away the end of the password command.
        signal(SIGCHLD, SIG_DFL)
        // A file that may not grow further is a failed write, not the end of the program.
        signal(SIGXFSZ, SIG_IGN)
        _ = creationMask
    }

    /// The process's umask, read once while there is one thread.
    static let creationMask: mode_t = {
        let mask = umask(0o077)
        umask(mask)
        return mask
    }()

    /// A closed descriptor 0, 1 or 2 would go to the next file opened. The replacement is opened the wrong way round,
    /// so that using it is an error and not a silent success.
    private static func occupyStandardDescriptors() {
        for (descriptor, flags) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
        where fcntl(descriptor, F_GETFD) == -1 {
            let opened = open("/dev/null", flags)
            if opened >= 0, opened != descriptor {
                dup2(opened, descriptor)
                close(opened)
            }
        }
    }
}
