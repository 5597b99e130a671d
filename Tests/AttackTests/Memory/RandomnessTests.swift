// SPDX-License-Identifier: Apache-2.0

import CProbe
import Foundation
import Testing

@testable import TresorCrypto

/// One generator, which no copy of the process shares.
@Suite struct RandomnessTests {
    #if os(Linux)
        @Test func A17_parentAndForkedChildDrawDifferentSalts() async {
            await #expect(processExitsWith: .success) {
                let key = try SecretKey<ForkUse>()
                let before = try salt(key)
                var ends: [Int32] = [-1, -1]
                try #require(pipe(&ends) == 0)
                let child = probe_fork()
                if child == 0 {
                    var own = (try? salt(key)) ?? []
                    own += (try? randomBytes(24)) ?? []
                    probe_exit(write(ends[1], own, own.count) == 48 ? 0 : 1)
                }
                let mine = try salt(key) + randomBytes(24)
                var theirs = [UInt8](repeating: 0, count: 48)
                #expect(read(ends[0], &theirs, 48) == 48)
                var status: Int32 = 0
                waitpid(child, &status, 0)
                #expect(status == 0)
                let drawn = [
                    before, Array(mine.prefix(24)), Array(mine.suffix(24)), Array(theirs.prefix(24)),
                    Array(theirs.suffix(24)),
                ]
                #expect(Set(drawn).count == 5)
            }
        }
    #endif

    /// No source takes its bytes from another generator, and none can be given one. A temporary file's name needs no
    /// secret.
    @Test func A17_thereIsOneGenerator() throws {
        let others = [
            "SystemRandomNumberGenerator", "RandomNumberGenerator", ".random(in", "arc4random", "/dev/urandom",
            "getrandom",
            "randombytes_set_implementation", "randombytes_stir", "drand48", "SymmetricKey(size",
        ]
        let named = "Sources/TresorStore/Files/TemporaryMark.swift"
        for file in try Repository.files(of: "Sources", ending: ".swift") {
            for other in others where file.text.contains(other) {
                #expect(file.path == named, "\(file.path): \(other)")
            }
        }
    }
}

private enum ForkUse: SealingUse {}

private func salt(_ key: borrowing SecretKey<ForkUse>) throws -> [UInt8] {
    let nothing: [UInt8] = []
    return Array(try TC1.seal(nothing.span, with: key, label: .fileSeal, context: nothing.span).prefix(24))
}
