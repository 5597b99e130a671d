// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import Tresor

@main
enum Main {
    static func main() {
        do {
            try Hardening.apply()
            try Resources.check()
        } catch {
            FailureReport(json: false).print(error)
            exit(error.exitCode)
        }
        Interrupts.block()
        // The pool waits for as long as it gets no thread. This one waits for signals, whatever becomes of the pool.
        guard Resources.start(begin) else { exit(1) }
        Interrupts.wait()
    }

    @Sendable private static func begin() {
        Task.detached { exit(await Program.run()) }
    }
}
