// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// `TRESOR_PASSWORD_COMMAND`: run by sh, its output is the password. It has 30 seconds, and the terminal if there is one, to
/// ask a person.
struct PasswordCommand: Sendable {
    private static let what = "the output of TRESOR_PASSWORD_COMMAND"

    let command: String
    var patience: Duration = .seconds(30)
    /// The terminal at which it may ask.
    var terminal: Terminal?
    /// Why there is none.
    var absence = "there is no terminal"

    func read() throws(CommandFailure) -> SecretBytes {
        defer { Surroundings.current.turns.end() }
        let deadline = ContinuousClock.now.advanced(by: patience)
        let lent = terminal.flatMap { LentTerminal($0) }
        let (child, descriptor) = try start()
        let token = Interrupts.onInterrupt {
            kill(-child, SIGKILL)
            lent?.takeBack()
        }
        var isReaped = false
        defer {
            Interrupts.cancel(token)
            close(descriptor)
            if !isReaped { Self.end(child) }
            lent?.takeBack()
        }
        lent?.give(to: child)
        // A background process of the command may hold its output open.
        let content = try SecretInput.readAll(
            descriptor, limit: SecretInput.passwordContentLimit, what: Self.what, deadline: deadline,
            hasEnded: { Self.isOver(child, lent) })
        let status = try wait(for: child, until: deadline, lent)
        isReaped = true
        guard status == 0 else {
            throw isInterrupt(status) ? Self.interrupted : failure(Self.words(for: status), lent)
        }
        if lent == nil, Self.isBlank(content) { throw failure("\(Self.what) is empty", lent, .usage) }
        return content
    }

    private static let interrupted = CommandFailure(.interrupted, CommandFailure.interrupted)

    /// Ctrl-C goes to the group in the foreground alone. A shell gives on what has ended its last command as 128 and more.
    private func isInterrupt(_ status: CInt) -> Bool {
        let (signal, code) = (status & 0x7f, status >> 8 & 0xff)
        return [SIGINT, SIGQUIT].contains { $0 == signal || signal == 0 && code == 128 + $0 }
    }

    /// Says how the command ended. The shell gives 127 where there is no such program, and 126 where it may not run it.
    private static func words(for status: CInt) -> String {
        let signal = status & 0x7f
        return "TRESOR_PASSWORD_COMMAND ended with "
            + (signal == 0 ? "exit code \(status >> 8 & 0xff)" : "signal \(signal)")
    }

    /// Whether an output is nothing but a line end, as what `read` gives without a terminal.
    private static func isBlank(_ content: borrowing SecretBytes) -> Bool {
        let bytes = content.span
        for index in bytes.indices where bytes[index] != 0x0a && bytes[index] != 0x0d { return false }
        return true
    }

    /// Says beside the reason that the command could ask nobody, which may be another one.
    private func failure(
        _ what: String, _ lent: LentTerminal?, _ error: CommandError = .failed(.other)
    ) -> CommandFailure {
        guard lent == nil else { return CommandFailure(error, what) }
        let absence = terminal == nil ? absence : "the terminal belongs to another program"
        return CommandFailure(
            error, "\(what) (it can ask nobody: \(absence))", hints: ["tresor … --password-file FILE"])
    }

    /// Starts the child in its own process group, so that all of it can be ended, with standard error for its
    /// messages. It does not get standard input, which may be data; it can open the terminal.
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

    /// Whether the shell has ended, or has stopped because it has no terminal; it stays to be waited for.
    private static func isOver(_ child: pid_t, _ lent: LentTerminal?) -> Bool {
        guard let event = event(of: child) else { return false }
        guard event == .stop, let lent else { return true }
        lent.stopToo()
        return false
    }

    private enum Event {
        case stop, end
    }

    /// The end or stop of the shell; `nil` while it runs.
    private static func event(of child: pid_t) -> Event? {
        var information = siginfo_t()
        guard waitid(P_PID, id_t(child), &information, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0,
            information.si_signo == SIGCHLD
        else { return nil }
        return Int(information.si_code) == Int(CLD_STOPPED) ? .stop : .end
    }

    private func wait(
        for child: pid_t, until deadline: ContinuousClock.Instant, _ lent: LentTerminal?
    ) throws(CommandFailure) -> CInt {
        while true {
            if Self.isOver(child, lent), Self.event(of: child) == .stop {
                throw failure("TRESOR_PASSWORD_COMMAND wants the terminal", lent)
            }
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
