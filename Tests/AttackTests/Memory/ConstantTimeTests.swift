// SPDX-License-Identifier: Apache-2.0

#if os(Linux) && arch(x86_64)
    import Foundation
    import Testing

    /// Under valgrind, a branch or an address that depends on bytes marked as secret is an error.
    @Suite struct ConstantTimeTests {
        private static let isPossible = has("valgrind") && has("strip")

        @Test(
            .enabled(if: isPossible, "valgrind or strip is not present"),
            .disabled(if: isSanitized, "valgrind does not run what a sanitizer built"))
        func A18_noBranchDependsOnASecret() throws {
            let scratch = try Scratch()
            try Data(Self.declassified.utf8).write(to: URL(fileURLWithPath: scratch["suppressions"]))
            let built = URL(fileURLWithPath: Program.path).deletingLastPathComponent().appending(
                path: "ConstantTimeProbe")
            // valgrind need not understand this compiler's debugging information.
            _ = try tool("/usr/bin/strip", ["-g", "-o", scratch["probe"], built.path(percentEncoded: false)])
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/valgrind")
            process.arguments = [
                "--quiet", "--suppressions=\(scratch["suppressions"])", "--log-file=\(scratch["log"])",
                scratch["probe"],
            ]
            try process.run()
            process.waitUntilExit()
            let log = String(decoding: bytes(at: scratch["log"]), as: UTF8.self)
            #expect(process.terminationStatus == 0, "\(log.prefix(6000))")
        }

        /// Where a secret becomes a public yes or no: the comparison of the commitment, that of the tag in the library, and its result.
        private static let declassified = """
            {
               commitment
               Memcheck:Cond
               fun:*12TresorCrypto3TC1O*open*
            }
            {
               status
               Memcheck:Cond
               fun:*12TresorCrypto3TC1O*decrypt*
            }
            {
               tag
               Memcheck:Cond
               fun:crypto_aead_chacha20poly1305_ietf_decrypt*
            }

            """
    }
#endif
