// SPDX-License-Identifier: Apache-2.0

#if os(Linux) && arch(x86_64)
    import CProbe
    import Foundation
    import Testing

    @testable import TresorCrypto

    /// Under valgrind, a branch or an address that depends on bytes marked as secret is an error. The outer test runs the inner ones there.
    @Suite struct ConstantTimeTests {
        @Test(.enabled(if: has("valgrind"), "valgrind is not present"), .enabled(if: !isWatched, "it runs there already"))
        func A18_noBranchDependsOnASecret() throws {
            let scratch = try Scratch()
            try Data(Self.declassified.utf8).write(to: URL(fileURLWithPath: scratch["suppressions"]))
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/valgrind")
            process.arguments =
                ["--quiet", "--suppressions=\(scratch["suppressions"])", "--log-file=\(scratch["log"])"]
                + [CommandLine.arguments[0], "--testing-library", "swift-testing"]
                + CommandLine.arguments.filter { $0.hasSuffix(".xctest") }.flatMap { ["--test-bundle-path", $0] }
                + ["--no-parallel", "--filter", "AttackTests.WatchedTests"]
            var environment = ProcessInfo.processInfo.environment
            environment["TRESOR_WATCHED"] = "1"
            process.environment = environment
            let pipe = Pipe()
            process.standardOutput = pipe
            process.standardError = pipe
            try process.run()
            let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            let log = String(decoding: bytes(at: scratch["log"]), as: UTF8.self)
            #expect(process.terminationStatus == 0, "\(output.suffix(3000))\n\(log.prefix(6000))")
            #expect(output.contains("Test run with 4 tests"), "\(output.suffix(3000))")
        }

        /// The two places where a secret becomes a public yes or no: the commitment's comparison, and the tag's in the library.
        private static let declassified = """
            {
               commitment
               Memcheck:Cond
               fun:*TresorCrypto3TC1*
            }
            {
               tag
               Memcheck:Cond
               fun:crypto_aead_chacha20poly1305_ietf_decrypt*
            }

            """
    }

    private let isWatched = ProcessInfo.processInfo.environment["TRESOR_WATCHED"] != nil

    @Suite(.enabled(if: isWatched, "run under valgrind by another test"), .serialized) struct WatchedTests {
        private func errors(_ body: () throws -> Void) rethrows -> UInt {
            let before = probe_error_count()
            try body()
            return UInt(probe_error_count() - before)
        }

        @Test func aBranchOnASecretIsSeen() throws {
            try #require(probe_is_watched() == 1)
            let bytes = try randomBytes(32)
            bytes.withUnsafeBufferPointer { probe_mark_secret($0.baseAddress, 32) }
            let count = errors { bytes.withUnsafeBufferPointer { pointer in _ = pointer.baseAddress.map(probe_branch) } }
            bytes.withUnsafeBufferPointer { probe_mark_public($0.baseAddress, 32) }
            #expect(count > 0)
        }

        @Test func comparingHalvesKeysAndTags() throws {
            let one = try SecretKey<WatchedUse>()
            let other = try SecretKey<WatchedUse>()
            hide(one)
            hide(other)
            var isSame = true
            let count = errors { isSame = one.matches(other) }
            #expect(count == 0)
            probe_mark_public(&isSame, 1)
            #expect(!isSame)
        }

        @Test func derivingKeys() throws {
            let key = try SecretKey<WatchedUse>()
            hide(key)
            let context: [UInt8] = [1, 2, 3]
            let count = try errors {
                let derived: SecretKey<WatchedUse> = try key.derive(.identitySign, context: context.span)
                _ = try key.commitment(.commitTK, prefix: context)
                _ = try derived.deriveDigest(.identityTag, context: context.span)
            }
            #expect(count == 0)
        }

        @Test func sealingAndOpening() throws {
            let key = try SecretKey<WatchedUse>()
            let context: [UInt8] = [1, 2, 3]
            let plain = [UInt8](repeating: 7, count: 70_000)
            hide(key)
            let count = try errors {
                let sealed = try TC1.seal(plain.span, with: key, label: .fileSeal, context: context.span)
                sealed.withUnsafeBufferPointer { probe_mark_public($0.baseAddress, sealed.count) }
                let opened = try TC1.open(sealed.span, with: key, label: .fileSeal, context: context.span)
                opened.withUnsafeBufferPointer { probe_mark_public($0.baseAddress, opened.count) }
                let secret = try TC1.openSecret(sealed.span, with: key, label: .fileSeal, context: context.span)
                _ = secret.count
                var damaged = sealed
                damaged[30] ^= 1
                _ = try? TC1.open(damaged.span, with: key, label: .fileSeal, context: context.span)
            }
            #expect(count == 0)
        }

        private func hide(_ key: borrowing SecretKey<WatchedUse>) {
            key.span.withUnsafeBufferPointer { probe_mark_secret($0.baseAddress, 32) }
        }
    }

    private enum WatchedUse: SealingUse {}
#endif
