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
        Interrupts.block()
        Task.detached { exit(await Program.run()) }
        Interrupts.wait()
    }
}
