// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The terminal in the hands of a program that asks a person itself: a pin entry, or `read -s`.
///
/// Its process group is the terminal's foreground group until ``takeBack()``, also across a stop by Ctrl-Z. Then group,
/// echo and everything else are as they were.
final class LentTerminal: Sendable {
    private struct State {
        var borrower: pid_t?
        /// The modes that the program set, while it is stopped.
        var borrowed: termios?
        /// Whether this program was stopped, and the terminal may belong to another one since.
        var isAway = false
    }

    private let terminal: Terminal
    private let group = getpgrp()
    private let modes: termios
    private let state = Mutex(State())

    /// Remembers how the terminal is.
    ///
    /// - Returns: `nil` in the background, where the terminal belongs to another program.
    init?(_ terminal: Terminal) {
        var modes = termios()
        guard tcgetpgrp(terminal.descriptor) == group, tcgetattr(terminal.descriptor, &modes) == 0 else { return nil }
        self.terminal = terminal
        self.modes = modes
    }

    /// Makes a program's group the foreground group. It may have stopped because it read before.
    func give(to borrower: pid_t) {
        state.withLock { $0.borrower = borrower }
        Interrupts.prompting(Interrupts.Prompt(suspend: { self.suspend() }, resume: { self.resume() }))
        pass(to: borrower)
    }

    func takeBack() {
        let (borrower, isAway) = state.withLock { ($0.borrower.take(), $0.isAway) }
        guard borrower != nil else { return }
        Interrupts.prompting(nil)
        guard !isAway else { return }
        Self.unstopped {
            tcsetpgrp(terminal.descriptor, group)
            var modes = modes
            // Input that was typed and not read is a part of a secret.
            tcsetattr(terminal.descriptor, TCSAFLUSH, &modes)
        }
    }

    /// Stops this program with the one that Ctrl-Z has stopped, so that the shell gets the terminal.
    func stopToo() {
        let isFirst = state.withLock { state in
            guard state.borrower != nil, state.borrowed == nil else { return false }
            state.borrowed = current
            return true
        }
        if isFirst { kill(0, SIGTSTP) }
    }

    private func suspend() {
        state.withLock { state in
            guard state.borrower != nil else { return }
            if state.borrowed == nil { state.borrowed = current }
            state.isAway = true
        }
        Self.unstopped {
            var modes = modes
            tcsetattr(terminal.descriptor, TCSANOW, &modes)
        }
    }

    /// Leaves the terminal alone in the background, where it belongs to another process.
    private func resume() {
        guard [group, state.withLock { $0.borrower }].contains(tcgetpgrp(terminal.descriptor)) else { return }
        let (borrower, borrowed) = state.withLock { state in
            defer { (state.borrowed, state.isAway) = (nil, false) }
            return (state.borrower, state.borrowed)
        }
        guard let borrower else { return }
        if var borrowed { Self.unstopped { tcsetattr(terminal.descriptor, TCSANOW, &borrowed) } }
        pass(to: borrower)
    }

    private func pass(to borrower: pid_t) {
        Self.unstopped { tcsetpgrp(terminal.descriptor, borrower) }
        kill(-borrower, SIGCONT)
    }

    private var current: termios {
        var current = modes
        tcgetattr(terminal.descriptor, &current)
        return current
    }

    /// Runs calls that stop a program in the background, unless it blocks the signal.
    private static func unstopped(_ calls: () -> Void) {
        var stopping = sigset_t()
        var before = sigset_t()
        sigemptyset(&stopping)
        sigaddset(&stopping, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &stopping, &before)
        calls()
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
