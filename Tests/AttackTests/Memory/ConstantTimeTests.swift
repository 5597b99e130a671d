// SPDX-License-Identifier: Apache-2.0

#if os(Linux) && arch(x86_64)
    import Foundation
    import Testing
    import TresorCrypto

    /// Under valgrind, a branch or an address that depends on bytes marked as secret is an error.
    @Suite struct ConstantTimeTests {
        static let isPossible = has("valgrind") && has("strip")

        @Test(
            .enabled(if: isPossible, "valgrind or strip is not present"),
            .disabled(if: isSanitized, "valgrind does not run what a sanitizer built"))
        func A18_noBranchDependsOnASecret() throws {
            let run = try Self.probe()
            #expect(run.code == 0, "\(run.log.prefix(6000))")
        }

        /// Runs the probe under valgrind. In the copy that `scripts/attacks` builds, the arguments name checks that it
        /// disables.
        static func probe(_ arguments: [String] = []) throws -> (code: Int32, output: String, log: String) {
            let scratch = try Scratch()
            try Data(declassified.utf8).write(to: URL(fileURLWithPath: scratch["suppressions"]))
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
            process.arguments? += arguments
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return (
                process.terminationStatus, String(decoding: output, as: UTF8.self),
                String(decoding: bytes(at: scratch["log"]), as: UTF8.self)
            )
        }

        /// The places where a secret becomes a public yes or no: the comparison of the commitment, that of the tag in
        /// the library, and its result.
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
