// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// `TRESOR_PASSWORD_COMMAND`: run by sh, its output is the password. It has 30 seconds.
struct PasswordCommand: Sendable {
    private static let what = "the output of TRESOR_PASSWORD_COMMAND"

    let command: String
    var patience: Duration = .seconds(30)

    func read() throws(CommandFailure) -> SecretBytes {
        let deadline = ContinuousClock.now.advanced(by: patience)
        let (child, descriptor) = try start()
        let token = Interrupts.onInterrupt { kill(-child, SIGKILL) }
        var isReaped = false
        defer {
            Interrupts.cancel(token)
            close(descriptor)
            if !isReaped { Self.end(child) }
        }
        // A background process of the command may hold its output open.
        let content = try SecretInput.readAll(
            descriptor, limit: SecretInput.passwordContentLimit, what: Self.what, deadline: deadline,
            hasEnded: { Self.hasEnded(child) })
        let status = try wait(for: child, until: deadline)
        isReaped = true
        guard status == 0 else {
            throw CommandFailure(.failed(.other), "TRESOR_PASSWORD_COMMAND failed")
        }
        return content
    }

    /// Starts the child in its own process group, so that all of it can be ended, with standard error for its
    /// messages. It does not get standard input, which may be data.
    private func start() throws(CommandFailure) -> (child: pid_t, descriptor: Int32) {
        let failure = CommandFailure(.failed(.other), "TRESOR_PASSWORD_COMMAND cannot be started")
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw failure }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var child = pid_t()
        let result = "/bin/sh".withCString { shell in
            "-c".withCString { option in
                command.withCString { text in
                    let words = [shell, option, text, nil].map { UnsafeMutablePointer(mutating: $0) }
                    return posix_spawn(&child, shell, &actions, &attributes, words, environ)
                }
            }
        }
        close(ends[1])
        guard result == 0 else {
            close(ends[0])
            throw failure
        }
        return (child, ends[0])
    }

    /// Whether the shell has ended; it stays to be waited for.
    private static func hasEnded(_ child: pid_t) -> Bool {
        var information = siginfo_t()
        #if canImport(Darwin)
            return waitid(P_PID, id_t(child), &information, WEXITED | WNOHANG | WNOWAIT) == 0
                && information.si_pid == child
        #else
            return waitid(P_PID, id_t(child), &information, WEXITED | WNOHANG | WNOWAIT) == 0
                && information.si_signo == SIGCHLD
        #endif
    }

    private func wait(for child: pid_t, until deadline: ContinuousClock.Instant) throws(CommandFailure) -> CInt {
        while true {
            var status: CInt = 0
            let result = waitpid(child, &status, WNOHANG)
            if result == child { return status }
            guard result == 0 || errno == EINTR, ContinuousClock.now < deadline else {
                throw CommandFailure(.failed(.other), "TRESOR_PASSWORD_COMMAND took too long")
            }
            usleep(5_000)
        }
    }

    private static func end(_ child: pid_t) {
        kill(-child, SIGKILL)
        var status: CInt = 0
        while waitpid(child, &status, 0) == -1, errno == EINTR {}
    }
}
