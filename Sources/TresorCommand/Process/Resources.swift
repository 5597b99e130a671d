// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Tries the resources that the run-time library takes for granted, before it is used: without a thread it waits for
/// ever, without a descriptor it ends the process by a trap.
enum Resources {
    /// The threads needed at once: those of the pool, and those that SQLite and Argon2id wait on.
    private static let threadCount = 4
    /// The descriptors needed besides the standard ones: those of the event loop, of the home and of the store.
    private static let descriptorCount = 12

    /// - Throws: 1 when a limit denies the process the resources that every command needs.
    static func check() throws(CommandFailure) {
        guard hasDescriptors else {
            throw CommandFailure(.failed(.other), "this process may open too few files", hints: ["ulimit -n 64"])
        }
        guard hasThreads else {
            throw CommandFailure(
                .failed(.other),
                "this process may start no more threads: a limit on processes or memory is reached (ulimit -u, -v)")
        }
    }

    private static var hasDescriptors: Bool {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<descriptorCount {
            do throws(SystemError) {
                opened.append(try SystemCall.open("/dev/null", O_RDONLY))
            } catch {
                return error.number != EMFILE && error.number != ENFILE
            }
        }
        return true
    }

    /// Each waits until the last one was tried: one after another would need room for one alone.
    private static var hasThreads: Bool {
        let gate = Gate()
        let threads = gate.closed.withLock { _ in
            (0..<threadCount).compactMap { _ in thread { gate.closed.withLock { _ in } } }
        }
        for thread in threads { pthread_join(thread, nil) }
        return threads.count == threadCount
    }

    private final class Gate: Sendable {
        let closed = Mutex(())
    }

    /// Starts `work` in a thread of its own, which nobody waits for.
    ///
    /// - Returns: whether there is such a thread.
    static func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = thread(work) else { return false }
        pthread_detach(thread)
        return true
    }

    private final class ThreadBody: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }

        static func take(_ pointer: UnsafeMutableRawPointer) {
            Unmanaged<ThreadBody>.fromOpaque(pointer).takeRetainedValue().run()
        }
    }

    private static func thread(_ work: @escaping @Sendable () -> Void) -> pthread_t? {
        let work = Unmanaged.passRetained(ThreadBody(work))
        #if canImport(Darwin)
            var started: pthread_t?
            let code = pthread_create(
                &started, nil,
                { pointer in
                    ThreadBody.take(pointer)
                    return nil
                }, work.toOpaque())
        #else
            var started = pthread_t()
            let code = pthread_create(
                &started, nil,
                { pointer in
                    if let pointer { ThreadBody.take(pointer) }
                    return nil
                }, work.toOpaque())
        #endif
        guard code != 0 else { return started }
        work.release()
        return nil
    }
}
