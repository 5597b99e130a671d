// SPDX-License-Identifier: Apache-2.0

import TresorCore

#if os(Linux)
    import Foundation
    import Testing
    import Tresor
    import TresorSQLite
    import TresorStore

    @testable import TresorCrypto

    /// The library calls of the program with a wrong server share of a device, counted at the call.
    @Suite(
        .enabled(if: Compiler.path != nil, "there is no C compiler"),
        .disabled(if: isSanitized, "a sanitizer has to be loaded first"))
    struct DeviceWorkTests {
        private let stage: Stage

        init() throws {
            stage = try Stage("anna")
            try stage.expect(as: "anna", ["remember", "--name", "desk"])
            stage.environment["LD_PRELOAD"] = try Compiler.library(Self.source, in: stage.scratch)
            stage.environment["CALLS"] = stage.scratch["calls"]
            stage.isKept = { $0 != "calls" }
        }

        /// Each call that hashes or decrypts becomes a letter of a file.
        private static let source = """
            #include <fcntl.h>
            #include <stdlib.h>
            #include <unistd.h>
            static void note(char letter) {
              int file = open(getenv("CALLS"), O_WRONLY | O_CREAT | O_APPEND, 0600);
              if (file < 0 || write(file, &letter, 1) != 1) abort();
              close(file);
            }
            int crypto_aead_chacha20poly1305_ietf_decrypt(
                unsigned char *m, unsigned long long *n, unsigned char *s, const unsigned char *c, unsigned long long k,
                const unsigned char *a, unsigned long long l, const unsigned char *p, const unsigned char *q) {
              int (*next)(unsigned char *, unsigned long long *, unsigned char *, const unsigned char *,
                  unsigned long long, const unsigned char *, unsigned long long, const unsigned char *,
                  const unsigned char *) = dlsym(RTLD_NEXT, "crypto_aead_chacha20poly1305_ietf_decrypt");
              note('d');
              return next(m, n, s, c, k, a, l, p, q);
            }
            int crypto_stream_chacha20_ietf_xor_ic(
                unsigned char *c, const unsigned char *m, unsigned long long n, const unsigned char *p, unsigned int i,
                const unsigned char *k) {
              int (*next)(unsigned char *, const unsigned char *, unsigned long long, const unsigned char *, unsigned int,
                  const unsigned char *) = dlsym(RTLD_NEXT, "crypto_stream_chacha20_ietf_xor_ic");
              note('x');
              return next(c, m, n, p, i, k);
            }
            int crypto_generichash(
                unsigned char *o, size_t n, const unsigned char *m, unsigned long long l, const unsigned char *k, size_t s) {
              int (*next)(unsigned char *, size_t, const unsigned char *, unsigned long long, const unsigned char *, size_t) =
                  dlsym(RTLD_NEXT, "crypto_generichash");
              note('g');
              return next(o, n, m, l, k, s);
            }
            int crypto_generichash_final(void *state, unsigned char *o, size_t n) {
              int (*next)(void *, unsigned char *, size_t) = dlsym(RTLD_NEXT, "crypto_generichash_final");
              note('h');
              return next(state, o, n);
            }
            int sodium_memcmp(const void *a, const void *b, size_t n) {
              int (*next)(const void *, const void *, size_t) = dlsym(RTLD_NEXT, "sodium_memcmp");
              note('c');
              return next(a, b, n);
            }
            """

        /// The calls of a run that needs the device, without any other unlock method.
        private func calls(_ code: Int32) throws -> String {
            try? FileManager.default.removeItem(atPath: stage.scratch["calls"])
            let ending = try stage.program.run(["--home", stage.scratch["homes/anna"], "--batch", "list"])
            #expect(ending.code == code, "\(ending.errorText)")
            return String(decoding: stage["calls"], as: UTF8.self)
        }

        @Test func A34_aWrongShareCostsTheSameWorkAndDecryptsNothing() async throws {
            let opened = try calls(0)
            #expect(opened.contains("d"))
            let user = try IdentityFile(stage["homes/anna/identity"]).chain.user
            let device = try #require(try IdentityFile(stage["homes/anna/identity"]).devices.first?.id)
            let store = try await SQLiteStore.open(at: stage.store, creating: false)
            let right = try #require(try await store.serverShare(user: user, device: device))
            var shares = [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xff, count: 32)]
            shares += [0, 7, 100, 255].map { bit in
                var share = right
                share[bit / 8] ^= 1 << UInt8(bit % 8)
                return share
            }
            var works: Set<String> = []
            for share in shares {
                try await store.putServerShare(share, deviceKey: .zero, user: user, device: device)
                works.insert(try calls(14))
            }
            #expect(works.count == 1, "\(works)")
            let work = try #require(works.first)
            #expect(!work.contains("d") && !work.contains("x"), "\(work)")
            // As far as the right share's, which is then compared and decrypted; what is compared behind it ends
            // secrets.
            let common = work.lastIndex { $0 != "c" }.map { work[...$0] } ?? ""
            #expect(common.contains("g") && opened.hasPrefix(common + "cd"), "\(opened) \(work)")
        }
    }
#endif
