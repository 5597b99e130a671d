// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Ends the program at its N-th operation on files: a library loaded before all others counts the calls that change one.
///
/// SQLite's writes go the same way, so store operations are counted with the rest.
enum Killer {
    /// How the program ends: the signal by its negated number.
    static let code: Int32 = -9

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <signal.h>
        #include <stdlib.h>
        #include <sys/types.h>
        #include <unistd.h>
        static long count;
        static void step(void) {
          const char *at = getenv("KILL_AT");
          if (at && __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) == atol(at)) kill(getpid(), SIGKILL);
        }
        #define COUNTED(type, name, parameters, arguments) \\
          type name parameters { \\
            static type (*next) parameters; \\
            if (!next) next = (type (*) parameters)dlsym(RTLD_NEXT, #name); \\
            step(); \\
            return next arguments; \\
          }
        static ssize_t (*next_write)(int, const void *, size_t);
        ssize_t write(int file, const void *bytes, size_t size) {
          if (!next_write) next_write = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
          if (file > 2) step();
          return next_write(file, bytes, size);
        }
        COUNTED(ssize_t, pwrite, (int a, const void *b, size_t c, off_t d), (a, b, c, d))
        COUNTED(ssize_t, pwrite64, (int a, const void *b, size_t c, off64_t d), (a, b, c, d))
        COUNTED(int, ftruncate, (int a, off_t b), (a, b))
        COUNTED(int, ftruncate64, (int a, off64_t b), (a, b))
        COUNTED(int, fsync, (int a), (a))
        COUNTED(int, fdatasync, (int a), (a))
        COUNTED(int, rename, (const char *a, const char *b), (a, b))
        COUNTED(int, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
        COUNTED(int, renameat2, (int a, const char *b, int c, const char *d, unsigned e), (a, b, c, d, e))
        COUNTED(int, link, (const char *a, const char *b), (a, b))
        COUNTED(int, linkat, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e))
        COUNTED(int, unlink, (const char *a), (a))
        COUNTED(int, unlinkat, (int a, const char *b, int c), (a, b, c))
        COUNTED(int, mkdir, (const char *a, mode_t b), (a, b))
        COUNTED(int, fchmod, (int a, mode_t b), (a, b))

        """

    private static let built: Result<String?, any Error> = Result {
        guard let compiler = compiler() else { return nil }
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-killer-\(UUID())")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let (file, library) = (place.appendingPathComponent("killer.c"), place.appendingPathComponent("killer.so"))
        try Data(source.utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: compiler)
        process.arguments = ["-shared", "-fPIC", "-O1", "-o", library.path, file.path, "-ldl"]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ScriptFailure("the compiler refused the counting library") }
        return library.path
    }

    /// The library; `nil` where there is no C compiler.
    static func library() throws -> String? { try built.get() }

    static func variables(at count: Int) throws -> [String: String] {
        guard let library = try library() else { throw ScriptFailure("there is no C compiler for kill") }
        return ["LD_PRELOAD": library, "KILL_AT": String(count)]
    }

    private static func compiler() -> String? {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
        return ["clang", "cc", "gcc"].lazy.flatMap { name in directories.map { "\($0)/\(name)" } }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
