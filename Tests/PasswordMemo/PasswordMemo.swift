// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A library loaded before libsodium into the programs that tests start. It remembers what Argon2id gave at its floor
/// cost, until the tests end: the same password, salt and cost give the same key without the work.
///
/// The program does everything else as always. A password or salt that the table does not have costs what it costs, and
/// so does any cost but the floor.
public enum PasswordMemo {
    /// The variables that load it, before those of the tests themselves; none where there is no C compiler, or under a
    /// sanitizer, which has to be loaded first.
    public static let environment: [String: String] =
        library.map { library in
            let inherited = ProcessInfo.processInfo.environment["LD_PRELOAD"].map { [$0] } ?? []
            return ["LD_PRELOAD": ([library] + inherited).joined(separator: ":")]
        } ?? [:]

    /// How many keys the table holds; beyond that, nothing more is remembered.
    private static let capacity = 1 << 15

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <stdint.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <unistd.h>
        struct line { uint32_t state; unsigned char name[32], key[32]; };
        enum { EMPTY, BEGUN, WHOLE };
        static struct line *table(void) {
          static struct line *lines;
          struct line *known = __atomic_load_n(&lines, __ATOMIC_ACQUIRE);
          if (known) return known;
          int file = open(TABLE, O_RDWR | O_CLOEXEC);
          if (file < 0) return 0;
          void *mapped = mmap(0, CAPACITY * sizeof(struct line), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
          close(file);
          if (mapped == MAP_FAILED) return 0;
          __atomic_store_n(&lines, mapped, __ATOMIC_RELEASE);
          return mapped;
        }
        typedef int (*hash_function)(unsigned char *, size_t, const unsigned char *, unsigned long long,
                                     const unsigned char *, size_t);
        typedef int (*key_function)(unsigned char *, unsigned long long, const char *, unsigned long long,
                                    const unsigned char *, unsigned long long, size_t, int);
        int crypto_pwhash(unsigned char *out, unsigned long long size, const char *password, unsigned long long count,
                          const unsigned char *salt, unsigned long long passes, size_t memory, int algorithm) {
          key_function next = (key_function)dlsym(RTLD_NEXT, "crypto_pwhash");
          hash_function hash = (hash_function)dlsym(RTLD_NEXT, "crypto_generichash");
          struct line *lines = table();
          unsigned char name[32];
          if (size != 32 || passes != 3 || memory != 64 << 20 || algorithm != 2 || !lines
              || hash(name, 32, (const unsigned char *)password, count, salt, 16))
            return next(out, size, password, count, salt, passes, memory, algorithm);
          uint64_t place;
          memcpy(&place, name, sizeof place);
          struct line *line = 0;
          for (int tries = 0; tries < 64; tries++) {
            line = lines + (place + tries) % CAPACITY;
            uint32_t state = __atomic_load_n(&line->state, __ATOMIC_ACQUIRE);
            if (state == EMPTY) break;
            if (state == WHOLE && !memcmp(line->name, name, 32)) {
              memcpy(out, line->key, 32);
              return 0;
            }
          }
          int status = next(out, size, password, count, salt, passes, memory, algorithm);
          uint32_t empty = EMPTY;
          if (status == 0
              && __atomic_compare_exchange_n(&line->state, &empty, BEGUN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            memcpy(line->name, name, 32);
            memcpy(line->key, out, 32);
            __atomic_store_n(&line->state, WHOLE, __ATOMIC_RELEASE);
          }
          return status;
        }

        """

    /// Where the library and the table lie, until the tests end.
    private static let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
        "tresor-memo-\(UUID())")

    private static let library: String? = {
        let variables = ProcessInfo.processInfo.environment
        let directories = (variables["PATH"] ?? "/usr/bin").split(separator: ":")
        let compilers = ["clang", "cc", "gcc"].lazy.flatMap { name in directories.map { "\($0)/\(name)" } }
        guard variables["TRESOR_SANITIZER"] == nil,
            let compiler = compilers.first(where: { FileManager.default.isExecutableFile(atPath: $0) })
        else { return nil }
        return try? build(with: compiler)
    }()

    private static func build(with compiler: String) throws -> String? {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        atexit { try? FileManager.default.removeItem(at: PasswordMemo.directory) }
        let (text, library) = (directory.appendingPathComponent("memo.c"), directory.appendingPathComponent("memo"))
        let table = directory.appendingPathComponent("table")
        try Data(source.utf8).write(to: text)
        try Data().write(to: table)
        let handle = try FileHandle(forWritingTo: table)
        try handle.truncate(atOffset: UInt64(capacity * 68))
        try handle.close()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: compiler)
        process.arguments = [
            "-shared", "-fPIC", "-O1", "-DTABLE=\"\(table.path)\"", "-DCAPACITY=\(capacity)", "-o", library.path,
            text.path,
            "-ldl",
        ]
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0 ? library.path : nil
    }
}
