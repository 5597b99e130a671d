// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// INT, TERM, HUP and QUIT: the atomic step under way is finished, then what is temporary is undone, the terminal
/// restored, and the process leaves with 130. A second signal leaves at once.
///
/// The main thread waits for the signals, so cleanup is ordinary code and not a signal handler. It must be the main
/// thread: under Dispatch, that thread would take every signal itself and end the process.
enum Interrupts {
    typealias Token = Int

    private struct State {
        var cleanups: [(token: Token, run: @Sendable () -> Void)] = []
        var nextToken = 0
        var isLeaving = false
        var underWay = 0
        var reportsJSON = false
        var words: (@Sendable () -> String)?
        var prompt: Prompt?
    }

    /// The actions of a prompt without echo when the process is stopped and continued.
    struct Prompt: Sendable {
        let suspend: @Sendable () -> Void
        let resume: @Sendable () -> Void
    }

    private static let state = Mutex(State())
    private static let steps = DispatchGroup()

    static func reportsJSON(_ json: Bool) {
        state.withLock { $0.reportsJSON = json }
    }

    /// Says more than that the process was interrupted; `nil` ends that.
    static func explaining(_ words: (@Sendable () -> String)?) {
        state.withLock { $0.words = words }
    }

    /// Runs `cleanup` if the process is interrupted before ``cancel(_:)``.
    static func onInterrupt(_ cleanup: @escaping @Sendable () -> Void) -> Token {
        state.withLock { state in
            state.nextToken += 1
            state.cleanups.append((state.nextToken, cleanup))
            return state.nextToken
        }
    }

    static func cancel(_ token: Token) {
        state.withLock { $0.cleanups.removeAll { $0.token == token } }
    }

    static func prompting(_ prompt: Prompt?) {
        state.withLock { $0.prompt = prompt }
    }

    /// A step that is either done or not: an interrupt waits for its end.
    static func atomically<Result, Failure: Error>(_ step: () throws(Failure) -> Result) throws(Failure) -> Result {
        begin()
        defer { end() }
        return try step()
    }

    /// The same for a step that suspends.
    static func atomically<Result, Failure: Error>(
        _ step: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        begin()
        defer { end() }
        return try await step()
    }

    /// Begins a step that ``end()`` ends, where a closure cannot hold it.
    static func begin() {
        let isLate = state.withLock { state in
            // A step that begins during another one may be a part of it.
            guard !state.isLeaving || state.underWay > 0 else { return true }
            state.underWay += 1
            steps.enter()
            return false
        }
        while isLate { pause() }
    }

    static func end() {
        state.withLock { state in
            state.underWay -= 1
            steps.leave()
        }
    }

    /// Waits before the step under way has changed anything: an interrupt does not wait for the step.
    static func aside(_ wait: () async -> Void) async {
        let isInside = state.withLock { $0.underWay > 0 }
        if isInside { end() }
        await wait()
        if isInside { begin() }
    }

    /// The signals to wait for: all except those that the caller has made the process ignore, as nohup does.
    private static let signals: sigset_t = {
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] where !isIgnored(number) {
            sigaddset(&signals, number)
        }
        sigaddset(&signals, SIGCONT)
        return signals
    }()

    /// Blocks the signals in this thread, and so in all that it starts. A mask that the caller left does not count.
    static func block() {
        var signals = signals
        pthread_sigmask(SIG_SETMASK, &signals, nil)
    }

    private static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            return unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
        #else
            return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
        #endif
    }

    /// Waits for the signals that ``block()`` has blocked, as long as the process lives.
    static func wait() -> Never {
        var signals = signals
        while true {
            var number: CInt = 0
            guard sigwait(&signals, &number) == 0 else { continue }
            switch number {
            case SIGTSTP:
                state.withLock { $0.prompt }?.suspend()
                if !stop() { state.withLock { $0.prompt }?.resume() }
            case SIGCONT:
                Surroundings.current.turns.end()
                state.withLock { $0.prompt }?.resume()
            default:
                leave()
            }
        }
    }

    /// Stops as a program without a handler for SIGTSTP does, but not in an orphaned process group, where nobody would
    /// continue it.
    ///
    /// - Returns: whether it was stopped, and the SIGCONT that ended this waits.
    private static func stop() -> Bool {
        var stopping = sigset_t()
        sigemptyset(&stopping)
        sigaddset(&stopping, SIGTSTP)
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &stopping, nil)
        pthread_sigmask(SIG_BLOCK, &stopping, nil)
        var waiting = sigset_t()
        return sigpending(&waiting) == 0 && sigismember(&waiting, SIGCONT) == 1
    }

    private static func leave() -> Never {
        var signals = signals
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { signal(number) { _ in _exit(130) } }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        state.withLock { $0.isLeaving = true }
        steps.wait()
        let (cleanups, json, words) = state.withLock { ($0.cleanups, $0.reportsJSON, $0.words) }
        for cleanup in cleanups.reversed() { cleanup.run() }
        FailureReport(json: json).print(CommandFailure(.interrupted, words?() ?? CommandFailure.interrupted))
        _exit(130)
    }
}
