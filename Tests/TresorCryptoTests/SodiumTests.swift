// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorCrypto

/// A11: the library that is linked at run time must follow the suite's rule, or nothing runs.
@Suite struct SodiumTests {
    @Test func linkedLibraryPassesTheCheck() throws {
        try Sodium.start()
        _ = try SecretBytes(count: 32)
    }

    @Test func everyWayIntoTheLibraryChecksFirst() throws {
        let guarded = ["BLAKE2b.swift", "Ed25519.swift", "XWing.swift", "SecretBytes.swift", "Sodium.swift"]
        for (path, text) in try SourceCode.files(of: "Sources/TresorCrypto") {
            guard let name = path.split(separator: "/").last, guarded.contains(String(name)) else { continue }
            #expect(text.contains("Sodium.start()") || name == "Sodium.swift", "\(path)")
        }
    }

    #if os(Linux)
        @Test(
            .disabled(if: isSanitized, "a sanitizer has to be loaded first"),
            arguments: [
                "int sodium_init(void) { return -1; }",
                accepting(["160a1cb0"]), accepting(["21122a84"]), accepting(["160a1cb0", "21122a84", "9046a647"]),
                "int crypto_sign_verify_detached(const unsigned char *s, const unsigned char *m, unsigned long long n,"
                    + " const unsigned char *k) { return -1; }",
                "int crypto_sign_verify_detached(const unsigned char *s, const unsigned char *m, unsigned long long n,"
                    + " const unsigned char *k) { return 0; }",
                "int crypto_core_ed25519_is_valid_point(const unsigned char *p) { return 1; }",
            ])
        func A11_anotherRuleIsRefused(source: String) throws {
            #expect(try runSelf(preloading: source) != 0)
        }

        /// A library that changes nothing is let through: the refusals above are the check's, not the preloading's.
        @Test(
            .disabled(if: isSanitized, "a sanitizer has to be loaded first"),
            arguments: ["int unrelated_symbol(void) { return 0; }", accepting(["9046a647"])])
        func A11_theSameRuleIsNot(source: String) throws {
            #expect(try runSelf(preloading: source) == 0)
        }

        /// A library whose verification accepts just the signatures that begin with these bytes.
        private static func accepting(_ prefixes: [String]) -> String {
            let tests = prefixes.map { prefix in
                let bytes = stride(from: 0, to: 8, by: 2).map { offset in
                    let start = prefix.index(prefix.startIndex, offsetBy: offset)
                    return "s[\(offset / 2)] == 0x\(prefix[start..<prefix.index(start, offsetBy: 2)])"
                }
                return "(" + bytes.joined(separator: " && ") + ")"
            }
            return
                "int crypto_sign_verify_detached(const unsigned char *s, const unsigned char *m, unsigned long long n,"
                + " const unsigned char *k) { return \(tests.joined(separator: " || ")) ? 0 : -1; }"
        }

        /// Runs the first test of this suite in a process of its own with `source` loaded over libsodium.
        private func runSelf(preloading source: String) throws -> Int32 {
            let folder = FileManager.default.temporaryDirectory.appending(path: "tresor-preload-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let code = folder.appending(path: "rule.c")
            let library = folder.appending(path: "rule.so")
            try Data(source.utf8).write(to: code)
            let compiled = try run(
                "/usr/bin/cc",
                ["-shared", "-fPIC", "-w", "-o", library.path(percentEncoded: false), code.path(percentEncoded: false)])
            try #require(compiled == 0)
            return try run(
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
                ["--testing-library", "swift-testing", "--filter", "SodiumTests/linkedLibraryPassesTheCheck"],
                preloading: library.path(percentEncoded: false))
        }

        private func run(_ program: String, _ arguments: [String], preloading library: String? = nil) throws -> Int32 {
            let process = Process()
            process.executableURL = URL(filePath: program)
            process.arguments = arguments
            process.environment = ProcessInfo.processInfo.environment.merging(
                library.map { ["LD_PRELOAD": $0] } ?? [:]
            ) { $1 }
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }
    #endif
}
