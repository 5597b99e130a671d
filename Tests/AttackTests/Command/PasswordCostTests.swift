// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing

    @testable import Tresor
    @testable import TresorCore
    @testable import TresorCrypto

    /// How often the program asks the library for an Argon2id, counted where it calls it: what an attacker writes into
    /// an identity file must not cost a guess less, nor its owner the machine.
    @Suite(
        .enabled(if: Compiler.path != nil, "there is no C compiler"),
        .disabled(if: isSanitized, "a sanitizer has to be loaded first"))
    struct PasswordCostTests {
        private let stage: Stage

        init() throws {
            stage = try Stage("anna")
            stage.isKept = { $0 != "calls" }
            stage.environment["LD_PRELOAD"] = try Compiler.library(
                """
                #include <fcntl.h>
                #include <unistd.h>
                int crypto_pwhash(
                    unsigned char *out, unsigned long long n, const char *password, unsigned long long m,
                    const unsigned char *salt, unsigned long long passes, size_t memory, int algorithm) {
                  int (*next)(unsigned char *, unsigned long long, const char *, unsigned long long,
                      const unsigned char *, unsigned long long, size_t, int) = dlsym(RTLD_NEXT, "crypto_pwhash");
                  int file = open("\(stage.scratch["calls"])", O_WRONLY | O_CREAT | O_APPEND, 0600);
                  if (file < 0 || write(file, "x", 1) != 1) return -1;
                  close(file);
                  return next(out, n, password, m, salt, passes, memory, algorithm);
                }
                """, in: stage.scratch)
        }

        /// How often Argon2id was called by what `body` runs.
        private func calls(_ body: () throws -> Void) throws -> Int {
            try? FileManager.default.removeItem(atPath: stage.scratch["calls"])
            try body()
            return stage["calls"].count
        }

        private func write(_ text: String, to name: String) throws {
            try stage.write(Array(text.utf8), to: name, mode: 0o600)
        }

        @Test func A23_A24_costsOutsideTheBoundsNeverReachArgon2id() throws {
            let identity = stage["homes/anna/identity"]
            // Behind the slot's kind, id and date.
            let cost = 14 + (try IdentityFile(identity).chain.bytes.count) + 2 + 1 + 16 + 8
            for (memory, passes) in [(64_512, 3), (8, 3), (65_536, 2), (.max, 3), (65_536, 17)] as [(UInt32, UInt32)] {
                var forged = identity
                forged.replaceSubrange(cost..<(cost + 8), with: bigEndianBytes(memory) + bigEndianBytes(passes))
                try stage.write(forged, to: "homes/anna/identity", mode: 0o600)
                let count = try calls { try stage.refuse(14, as: "anna", ["list"]) }
                #expect(count == 0, "\(memory) KiB, \(passes) passes")
            }
            try stage.write(identity, to: "homes/anna/identity", mode: 0o600)
            #expect(try calls { try stage.expect(as: "anna", ["list"]) } == 1)
        }

        /// Opening asks for one; setting would ask for another.
        @Test func A29_whatCannotBeTypedAgainIsRefusedBeforeArgon2id() throws {
            let change = ["passwd", "--new-password-file", "new.password", "--argon2id", "64,3"]
            for password in ["pass\u{7}word 0815", "pass\u{0}word 0815", "pass\u{200d}word 0815"] {
                try write(password + "\n", to: "new.password")
                #expect(try calls { try stage.refuse(64, as: "anna", change) } == 1)
                try write(password + "\n", to: "bob.password")
                let made = ["keygen", "bob", "--no-kit", "--argon2id", "64,3"]
                #expect(try calls { try stage.refuse(64, as: "bob", made) } == 0)
            }
            try write("another password 0815\n", to: "new.password")
            #expect(try calls { try stage.expect(as: "anna", change) } == 2)
            try write("pass\u{7}word 0815\n", to: "anna.password")
            #expect(try calls { try stage.refuse(64, as: "anna", ["list"]) } == 0)
        }
    }
#endif
