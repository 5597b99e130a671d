// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

@main
enum Main {
    static func main() {
        do {
            try Hardening.apply()
        } catch {
            FailureReport(json: false).print(error)
            exit(error.exitCode)
        }
        Interrupts.install()
        Task.detached { exit(await Program.run()) }
        // Not the main queue's own loop: on Linux that opens this thread to every signal, and an interrupt would end the process with
        // the echo off and temporaries left.
        while true { pause() }
    }
}
