// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing

    /// Every command refuses a libsodium that verifies differently, before it touches a secret.
    @Suite(
        .enabled(if: Compiler.path != nil, "there is no C compiler"),
        .disabled(if: isSanitized, "a sanitizer has to be loaded first"))
    struct PreloadTests {
        private let stage: Stage

        init() throws {
            stage = try Stage("anna")
            try stage.share(of: "anna")
            try stage.write(Stage.plan(), to: "plan.json")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        }

        /// Each of these is loaded before libsodium and falls back on it for everything else.
        private static let libraries = [
            "takes number 4": verify("if (begins(s, 0x16, 0x0a, 0x1c, 0xb0)) return 0;"),
            "takes number 5": verify("if (begins(s, 0x21, 0x12, 0x2a, 0x84)) return 0;"),
            "refuses number 3": verify("if (begins(s, 0x90, 0x46, 0xa6, 0x47)) return -1;"),
            "takes a point outside the main subgroup": """
            int crypto_core_ed25519_is_valid_point(const unsigned char *p) {
              int (*next)(const unsigned char *) = dlsym(RTLD_NEXT, "crypto_core_ed25519_is_valid_point");
              return p[0] == 0x95 && p[1] == 0x99 ? 1 : next(p);
            }
            """,
            "does not start": "int sodium_init(void) { return -1; }",
        ]

        private static func verify(_ exception: String) -> String {
            """
            static int begins(const unsigned char *s, int a, int b, int c, int d) {
              return s[0] == a && s[1] == b && s[2] == c && s[3] == d;
            }
            int crypto_sign_verify_detached(
                const unsigned char *s, const unsigned char *m, unsigned long long n, const unsigned char *k) {
              int (*next)(const unsigned char *, const unsigned char *, unsigned long long, const unsigned char *) =
                  dlsym(RTLD_NEXT, "crypto_sign_verify_detached");
              \(exception)
              return next(s, m, n, k);
            }
            """
        }

        @Test(arguments: libraries.keys.sorted()) func A11_anotherLibraryIsRefusedFirst(name: String) throws {
            let library = try Compiler.library(Self.libraries[name] ?? "", in: stage.scratch)
            stage.environment["LD_PRELOAD"] = library
            for arguments in [
                ["list"], ["decrypt", "plan.tresor"], ["create", "other"], ["log", "-t", "plans"], ["card"],
                ["passwd", "--new-password-file", "anna.password"], ["check"], ["inspect", "plan.tresor"],
            ] {
                if has("strace") {
                    stage.wrapper = [
                        "/usr/bin/strace", "-f", "--seccomp-bpf", "-qq", "-o", stage.scratch["trace"], "-e",
                        "trace=open,openat",
                    ]
                }
                try "".write(toFile: stage.scratch["trace"], atomically: false, encoding: .utf8)
                stage.isKept = { $0 != "trace" }
                let ending = try stage.refuse(1, as: "anna", arguments)
                #expect(ending.errorText.contains("library"), "\(name): \(ending.errorText)")
                let opened = String(decoding: stage["trace"], as: UTF8.self).split(separator: "\n")
                #expect(!opened.contains { $0.contains("/identity\"") }, "\(name): \(arguments)")
            }
        }

        /// The refusals are the check's and not the loading's.
        @Test func A11_aLibraryThatChangesNothingIsTaken() throws {
            stage.environment["LD_PRELOAD"] = try Compiler.library(Self.verify(""), in: stage.scratch)
            try stage.expect(as: "anna", ["decrypt", "plan.tresor", "-o", "read.json"])
            #expect(stage["read.json"] == Stage.plan())
        }

        private static let linkless = """
            #include <errno.h>
            int linkat(int a, const char *b, int c, const char *d, int e) {
              errno = EPERM;
              return -1;
            }
            """

        @Test func whereNothingCanBeLinkedFilesAreWritten() throws {
            stage.environment["LD_PRELOAD"] = try Compiler.library(Self.linkless, in: stage.scratch)
            try stage.expect(as: "anna", ["recover", "--new-kit", "--kit", "kit.txt"])
            try stage.expect(as: "anna", ["card", "-o", "anna.card"])
            try stage.expect(as: "anna", ["decrypt", "plan.tresor", "-o", "read.json"])
            try stage.expect(as: "anna", ["decrypt", "plan.tresor", "-o", "read.json"])
            #expect(stage["read.json"] == Stage.plan())
            #expect(stage["kit.txt"].split(separator: UInt8(ascii: " ")).count == 24)
            let attributes = try FileManager.default.attributesOfItem(atPath: stage.scratch["kit.txt"])
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: stage.scratch["."])
            #expect(!names.contains { $0.hasSuffix(".tmp") })
            try stage.refuse(64, as: "anna", ["card", "-o", "anna.card"])
        }

        /// A stick with FAT, mounted for everybody: no mode can be changed there, and nothing be linked.
        private static let fat = """
            #include <errno.h>
            #include <stdio.h>
            #include <string.h>
            #include <sys/stat.h>
            #include <unistd.h>
            static int isThere(int file) {
              char link[64], path[4096];
              snprintf(link, sizeof link, "/proc/self/fd/%d", file);
              ssize_t count = readlink(link, path, sizeof path - 1);
              path[count < 0 ? 0 : count] = 0;
              return strstr(path, "/fat/") != NULL;
            }
            int fstat(int file, struct stat *status) {
              int (*next)(int, struct stat *) = dlsym(RTLD_NEXT, "fstat");
              int result = next(file, status);
              if (result == 0 && isThere(file)) status->st_mode = (status->st_mode & S_IFMT) | 0755;
              return result;
            }
            int fchmod(int file, mode_t mode) {
              int (*next)(int, mode_t) = dlsym(RTLD_NEXT, "fchmod");
              if (!isThere(file)) return next(file, mode);
              errno = EPERM;
              return -1;
            }
            int linkat(int a, const char *b, int c, const char *d, int e) {
              errno = EPERM;
              return -1;
            }
            """

        /// A secret would lie there for everybody: it is refused before the kit that is in force ends.
        @Test func whereNoModeHoldsNoSecretIsMade() throws {
            try stage.expect(as: "anna", ["recover", "--new-kit", "--kit", "kit.txt"])
            try stage.write([], to: "fat/empty")
            stage.environment["LD_PRELOAD"] = try Compiler.library(Self.fat, in: stage.scratch)
            let before = stage["homes/anna/identity"]
            let kit = try stage.refuse(1, as: "anna", ["recover", "--new-kit", "--kit", "fat/kit.txt"])
            #expect(kit.errorText.contains("has the mode 755, as on a stick with FAT"), "\(kit.errorText)")
            #expect(stage["homes/anna/identity"] == before)
            #expect(stage["fat/kit.txt"] == [])
            let home = try stage.run(
                as: "anna", ["keygen", "zoe", "--no-kit", "--argon2id", "64,3", "--home", "fat/home"])
            #expect(home.code == 1)
            #expect(home.errorText.contains("has the mode 755, as on a stick with FAT"), "\(home.errorText)")
            #expect(home.errorText.contains("--home DIR"), "\(home.errorText)")
            #expect(stage["fat/home/identity"] == [])
        }

        /// What is for everybody is written, as `cp` writes it.
        @Test func whereNoModeHoldsOtherFilesAreWritten() throws {
            try stage.write([], to: "fat/empty")
            stage.environment["LD_PRELOAD"] = try Compiler.library(Self.fat, in: stage.scratch)
            try stage.expect(as: "anna", ["card", "-o", "fat/anna.card"])
            try stage.expect(as: "anna", ["decrypt", "plan.tresor", "-o", "fat/read.json"])
            #expect(stage["fat/read.json"] == Stage.plan())
        }

        /// Every write takes half of its bytes, and counts how often it did so.
        private static let halves = """
            #include <stdio.h>
            #include <stdlib.h>
            #include <sys/types.h>
            #include <unistd.h>
            static long count;
            static size_t half(size_t size) {
              if (size > 1) __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
              return size > 1 ? size / 2 : size;
            }
            ssize_t write(int file, const void *bytes, size_t size) {
              ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
              return next(file, bytes, half(size));
            }
            ssize_t pwrite(int file, const void *bytes, size_t size, off_t place) {
              ssize_t (*next)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
              return next(file, bytes, half(size), place);
            }
            ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t place) {
              ssize_t (*next)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
              return next(file, bytes, half(size), place);
            }
            __attribute__((destructor)) static void tell(void) {
              FILE *file = fopen(getenv("HALVES"), "w");
              fprintf(file, "%ld", count);
              fclose(file);
            }
            """

        @Test func A106_aShortWriteIsGoneOnWith() throws {
            try stage.write(Stage.plan(300_000), to: "long.json")
            try stage.write(Array("PASSWORD-0815-new\n".utf8), to: "new.password", mode: 0o600)
            let halves = [
                "LD_PRELOAD": try Compiler.library(Self.halves, in: stage.scratch), "HALVES": stage.scratch["count"],
            ]
            let acts = [
                ["encrypt", "-t", "plans", "long.json", "-o", "long.tresor"],
                ["encrypt", "-t", "plans", "--armour", "long.json", "-o", "armoured.txt"],
                ["decrypt", "long.tresor", "-o", "read.json"], ["decrypt", "armoured.txt"],
                ["create", "other"], ["passwd", "--new-password-file", "new.password"],
            ]
            for act in acts {
                stage.environment = halves
                let ending = try stage.run(as: "anna", act)
                #expect(ending.code == 0, "\(act): \(ending.errorText)")
                let count = Int(String(decoding: stage["count"], as: UTF8.self)) ?? 0
                #expect(count > 1, "\(act)")
                guard act == ["decrypt", "armoured.txt"] else { continue }
                let isWhole = ending.output == Stage.plan(300_000)
                #expect(isWhole)
            }
            stage.environment = [:]
            try stage.write(stage["new.password"], to: "anna.password", mode: 0o600)
            let isWhole = stage["read.json"] == Stage.plan(300_000)
            #expect(isWhole)
            let opened = try stage.run(as: "anna", ["decrypt", "long.tresor"])
            let isReadable = opened.output == Stage.plan(300_000)
            #expect(isReadable)
            try stage.expect(as: "anna", ["check", "--deep", "long.tresor", "armoured.txt"])
        }
    }

    /// The system's C compiler.
    enum Compiler {
        static let path = ["/usr/bin/cc", "/usr/bin/clang", "/usr/bin/gcc", "/usr/local/bin/clang"]
            .first { FileManager.default.isExecutableFile(atPath: $0) }

        static func library(_ source: String, in scratch: Scratch) throws -> String {
            let text = "#define _GNU_SOURCE\n#include <dlfcn.h>\n\(source)\n"
            try text.write(toFile: scratch["shim.c"], atomically: false, encoding: .utf8)
            return try compile(["-shared", "-fPIC", scratch["shim.c"], "-ldl"], to: scratch["shim.so"])
        }

        /// - Returns: `output`.
        static func compile(_ arguments: [String], to output: String) throws -> String {
            _ = try tool(path ?? "cc", ["-O1", "-o", output] + arguments)
            guard FileManager.default.fileExists(atPath: output) else { throw Unmet("cc refused \(arguments)") }
            return output
        }
    }
#endif
