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
        #if TRESOR_TESTING
            Task.detached {
                exit(await Experiment.$current.withValue(.named(by: CommandLine.arguments), operation: Program.run))
            }
        #else
            Task.detached { exit(await Program.run()) }
        #endif
    }
}

#if TRESOR_TESTING
    extension Experiment {
        /// A program that was started under the name `tresor:CHECK` leaves that check out.
        static func named(by words: [String]) -> Experiment {
            let names = words.prefix(1).flatMap { $0.split(separator: ":").dropFirst() }
            return Experiment(leavingOut: Set(names.compactMap { Defence(rawValue: String($0)) }))
        }
    }
#endif
