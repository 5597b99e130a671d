// SPDX-License-Identifier: Apache-2.0

import Foundation
import PasswordMemo
import TestSupport

/// A library loaded into the program before all others. It counts the calls that change a file (SQLite's go the same
/// way, so store operations are counted with the rest), ends or interrupts the program at one of them, and sets its
/// clock.
struct Intruder {
    /// How the program ends when it is killed: the signal by its negated number.
    static let killed: Int32 = -9

    /// At which operation, and with which signal, the program is stopped.
    var stop: (operation: Int, signal: Int32)?
    /// A file without which it is not stopped; with it, at what makes writes durable alone.
    var marker: URL?
    /// A file to which one letter is added for each operation: `s` for what makes writes durable, `r` for what gives,
    /// changes or takes a name, `w` for a write, `f` for the rest.
    var trace: URL?
    /// By how many seconds the program's clock is wrong.
    var shift = 0

    /// Whether it has nothing to do.
    var isIdle: Bool { stop == nil && trace == nil && shift == 0 }

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <signal.h>
        #include <stdarg.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/types.h>
        #include <time.h>
        #include <unistd.h>
        static long count;
        static void step(char letter) {
          const char *at = getenv("STOP_AT"), *number = getenv("STOP_SIGNAL"), *trace = getenv("STOP_TRACE");
          if (trace) {
            long file = syscall(SYS_openat, AT_FDCWD, trace, O_WRONLY | O_APPEND | O_CREAT, 0600);
            syscall(SYS_write, file, &letter, 1);
            syscall(SYS_close, file);
          }
          const char *marker = getenv("STOP_MARKER");
          if (marker && (letter != 's' || access(marker, F_OK) != 0)) return;
          if (at && number && __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) == atol(at)) kill(getpid(), atoi(number));
        }
        #define COUNTED(letter, type, name, parameters, arguments) \\
          type name parameters { \\
            static type (*next) parameters; \\
            if (!next) next = (type (*) parameters)dlsym(RTLD_NEXT, #name); \\
            step(letter); \\
            return next arguments; \\
          }
        static ssize_t (*next_write)(int, const void *, size_t);
        ssize_t write(int file, const void *bytes, size_t size) {
          if (!next_write) next_write = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
          if (file > 2) step('w');
          return next_write(file, bytes, size);
        }
        #define OPENED(name, first, second) \\
          int name(first const char *path, int flags, ...) { \\
            static int (*next)(first const char *, int, ...); \\
            if (!next) next = (int (*)(first const char *, int, ...))dlsym(RTLD_NEXT, #name); \\
            if (!(flags & O_CREAT) && (flags & O_TMPFILE) != O_TMPFILE) return next(second path, flags); \\
            va_list rest; \\
            va_start(rest, flags); \\
            mode_t mode = va_arg(rest, mode_t); \\
            va_end(rest); \\
            step('f'); \\
            return next(second path, flags, mode); \\
          }
        #define NOTHING
        #define DIRECTORY int directory,
        #define ITS directory,
        OPENED(open, NOTHING, NOTHING)
        OPENED(open64, NOTHING, NOTHING)
        OPENED(openat, DIRECTORY, ITS)
        OPENED(openat64, DIRECTORY, ITS)
        time_t time(time_t *place) {
          const char *shift = getenv("CLOCK_SHIFT");
          struct timespec now;
          clock_gettime(CLOCK_REALTIME, &now);
          time_t shown = now.tv_sec + (shift ? atol(shift) : 0);
          if (place) *place = shown;
          return shown;
        }
        COUNTED('w', ssize_t, pwrite, (int a, const void *b, size_t c, off_t d), (a, b, c, d))
        COUNTED('w', ssize_t, pwrite64, (int a, const void *b, size_t c, off64_t d), (a, b, c, d))
        COUNTED('f', int, ftruncate, (int a, off_t b), (a, b))
        COUNTED('f', int, ftruncate64, (int a, off64_t b), (a, b))
        COUNTED('s', int, fsync, (int a), (a))
        COUNTED('s', int, fdatasync, (int a), (a))
        COUNTED('r', int, rename, (const char *a, const char *b), (a, b))
        COUNTED('r', int, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
        COUNTED('r', int, renameat2, (int a, const char *b, int c, const char *d, unsigned e), (a, b, c, d, e))
        COUNTED('r', int, link, (const char *a, const char *b), (a, b))
        COUNTED('r', int, linkat, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e))
        COUNTED('r', int, unlink, (const char *a), (a))
        COUNTED('r', int, unlinkat, (int a, const char *b, int c), (a, b, c))
        COUNTED('f', int, mkdir, (const char *a, mode_t b), (a, b))
        COUNTED('f', int, fchmod, (int a, mode_t b), (a, b))

        """

    private static let built: Result<String?, any Error> = Result {
        guard let compiler = compiler() else { return nil }
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-intruder-\(UUID())")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        SharedFiles.removeAtExit(place.path)
        let (file, library) = (place.appendingPathComponent("intruder.c"), place.appendingPathComponent("intruder.so"))
        try Data(source.utf8).write(to: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: compiler)
        process.arguments = ["-shared", "-fPIC", "-O1", "-o", library.path, file.path, "-ldl"]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ScriptFailure("the compiler refused the library") }
        return library.path
    }

    /// The library; `nil` where there is no C compiler.
    static func library() throws -> String? { try built.get() }

    /// The environment that loads it; empty if it has nothing to do.
    func variables() throws -> [String: String] {
        guard !isIdle else { return [:] }
        guard let library = try Self.library() else { throw ScriptFailure("there is no C compiler for kill and clock") }
        let libraries = [library, PasswordMemo.environment["LD_PRELOAD"]].compactMap(\.self)
        var variables = ["LD_PRELOAD": libraries.joined(separator: ":"), "CLOCK_SHIFT": String(shift)]
        if let stop {
            variables["STOP_AT"] = String(stop.operation)
            variables["STOP_SIGNAL"] = String(stop.signal)
        }
        variables["STOP_TRACE"] = trace?.path
        variables["STOP_MARKER"] = marker?.path
        return variables
    }

    private static func compiler() -> String? {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
        return ["clang", "cc", "gcc"].lazy.flatMap { name in directories.map { "\($0)/\(name)" } }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
