// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Too few of what a process needs: the program says so and ends, and signals end it whatever it waits for.
    @Suite(.disabled(if: isSanitized, "a sanitizer starts threads and needs descriptors of its own")) struct LimitTests
    {
        private let stage: Stage

        init() throws { stage = try Stage("anna") }

        private static let commands = [["--version"], ["list"], ["check"]]

        @Test(arguments: [5, 6, 7, 8, 10, 12, 14]) func A109_fewDescriptorsAreAnError(count: Int) throws {
            for arguments in Self.commands {
                var program = stage.program
                program.wrapper = ["/bin/sh", "-c", "ulimit -n \(count) && exec \"$@\"", "sh"]
                let ending = try program.run(stage.words(as: "anna") + arguments)
                #expect(ending.code == 1, "\(arguments): \(ending.code) \(ending.errorText)")
                #expect(ending.errorText.hasPrefix("tresor: error: this process may open too few files\n"))
                #expect(ending.output == [])
            }
        }

        @Test(arguments: [16, 20, 32]) func A109_asManyAsWereTriedAreEnough(count: Int) throws {
            for arguments in Self.commands {
                var program = stage.program
                program.wrapper = ["/bin/sh", "-c", "ulimit -n \(count) && exec \"$@\"", "sh"]
                let ending = try program.run(stage.words(as: "anna") + arguments)
                #expect(ending.code == 0, "\(arguments): \(ending.code) \(ending.errorText)")
            }
        }

        /// After so many threads no more are made, as under a limit on processes.
        private static func limit(_ count: Int) -> String {
            """
            #include <errno.h>
            #include <pthread.h>
            static int count;
            int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) {
              int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
                  dlsym(RTLD_NEXT, "pthread_create");
              return __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) > \(count) ? EAGAIN : next(t, a, f, x);
            }
            """
        }

        @Test(.enabled(if: Compiler.path != nil, "there is no C compiler"), arguments: [0, 1, 3])
        func A109_withoutThreadsItIsAnError(count: Int) throws {
            stage.environment["LD_PRELOAD"] = try Compiler.library(Self.limit(count), in: stage.scratch)
            for arguments in Self.commands {
                let ending = try stage.run(as: "anna", arguments)
                #expect(ending.code == 1, "\(arguments): \(ending.code) \(ending.errorText)")
                #expect(ending.errorText.hasPrefix("tresor: error: this process may start no more threads"))
                #expect(ending.output == [])
            }
        }

        /// Another process takes the threads that existed at the trial: the pool waits, and a signal ends the program.
        @Test(
            .longRun, .enabled(if: Compiler.path != nil, "there is no C compiler"),
            arguments: [SIGINT, SIGTERM, SIGHUP])
        func A109_aSignalEndsWhatWaitsForAThread(signal: Int32) throws {
            var program = stage.program
            // Those that are tried, and the one that starts the pool.
            program.environment["LD_PRELOAD"] = try Compiler.library(Self.limit(5), in: stage.scratch)
            let child = try program.start(
                stage.words(as: "anna") + ["list"], output: stage.scratch["output"], error: stage.scratch["error"])
            usleep(500_000)
            #expect(kill(child.id, 0) == 0)
            kill(child.id, signal)
            #expect(try child.end(within: 20) == 130)
            #expect(String(decoding: stage["error"], as: UTF8.self) == "tresor: error: interrupted\n")
        }
    }
#endif
