// SPDX-License-Identifier: Apache-2.0

import CProbe
import Foundation
import TestSupport
import Testing

@testable import TresorCrypto

@Suite struct Argon2idTests {
    private let salt = [UInt8](0..<16)

    @Test(
        arguments: [
            (0, 3), (8, 1), (8, 3), (64_512, 3), (65_535, 3), (65_536, 0), (65_536, 2), (262_144, 2),
        ] as [(UInt32, UInt32)])
    func A23_costBelowTheFloor(memoryKiB: UInt32, passes: UInt32) {
        #expect(throws: TresorError.altered) { try Argon2id.Cost(memoryKiB: memoryKiB, passes: passes) }
    }

    @Test(
        arguments: [
            (.max, 3), (4_194_305, 3), (65_536, 17), (65_536, .max), (.max, .max),
        ] as [(UInt32, UInt32)])
    func A24_costAboveTheCeiling(memoryKiB: UInt32, passes: UInt32) {
        #expect(throws: TresorError.altered) { try Argon2id.Cost(memoryKiB: memoryKiB, passes: passes) }
    }

    @Test(arguments: [(65_536, 3), (65_536, 16), (4_194_304, 3), (4_194_304, 16), (262_144, 4)] as [(UInt32, UInt32)])
    func costWithinTheBounds(memoryKiB: UInt32, passes: UInt32) throws {
        let cost = try Argon2id.Cost(memoryKiB: memoryKiB, passes: passes)
        #expect(cost.memoryKiB == memoryKiB)
        #expect(cost.passes == passes)
    }

    @Test func namedCostsLieWithinTheBounds() throws {
        #expect(try Argon2id.Cost(memoryKiB: 65_536, passes: 3) == .floor)
        #expect(try Argon2id.Cost(memoryKiB: 262_144, passes: 3) == .standard)
    }

    /// Computed with Python's cryptography.
    @Test(arguments: [
        (UInt32(3), "e3c889ca40ed01e6b6771fc8a5bf16e35ad60b41c9bd5d7e6d63adf51e50b0fd"),
        (UInt32(4), "842b17a58f6a6c4a721da4861ff0ef937cd6dec280d12ad33f319e6eed6e0f38"),
    ])
    func makesTheKnownKey(passes: UInt32, expected: String) throws {
        let password = try secret(Array("correct horse".utf8))
        let cost = try Argon2id.Cost(memoryKiB: 65_536, passes: passes)
        let key: SecretKey<TestUse> = try Argon2id.key(password: password, salt: salt, cost: cost)
        let text = Hex.text(key.span.publicBytes)
        #expect(text == expected)
    }

    @Test func makesTheKnownKeyOfAnEmptyPassword() throws {
        let nothing: [UInt8] = []
        let output = try Argon2id.hash(
            password: nothing.span, salt: salt, outputCount: 32, passes: 1, memoryByteCount: 64 * 1024)
        let text = Hex.text(output.span.publicBytes)
        #expect(text == "df74a3b95ebfcf38d2020538740fc2c02ae1a7a665967e702f90d921d585809a")
    }

    @Test(arguments: [0, 15, 17, 32])
    func saltOfAnotherSizeIsAltered(count: Int) throws {
        let password = try secret([1, 2, 3])
        let salt = [UInt8](repeating: 0, count: count)
        let error = thrown { () throws(TresorError) in
            let _: SecretKey<TestUse> = try Argon2id.key(password: password, salt: salt, cost: .floor)
        }
        #expect(error == .altered)
        let bytes: [UInt8] = [1, 2, 3]
        let below = thrown { () throws(TresorError) in
            _ = try Argon2id.hash(
                password: bytes.span, salt: salt, outputCount: 32, passes: 1, memoryByteCount: 64 * 1024)
        }
        #expect(below == .altered)
    }

    #if os(Linux)
        @Test(.longRun, .disabled(if: isSanitized, "a sanitizer needs more memory than the limit"))
        func A24_legalCostWithoutTheMemory() async {
            await #expect(processExitsWith: .exitCode(42)) {
                let password = try secret([1, 2, 3])
                guard probe_limit_memory(64 << 20) != 0 else { exit(1) }
                let error = thrown { () throws(TresorError) in
                    let _: SecretKey<TestUse> = try Argon2id.key(
                        password: password, salt: [UInt8](0..<16), cost: .standard)
                }
                exit(error == .failed(.memory) ? 42 : 1)
            }
        }

        @Test(.longRun, .disabled(if: isSanitized, "a sanitizer needs more memory than the limit"))
        func A24_secretMemoryWithoutTheMemory() async {
            await #expect(processExitsWith: .exitCode(42)) {
                try Sodium.start()
                guard probe_limit_memory(64 << 20) != 0 else { exit(1) }
                let error = thrown { () throws(TresorError) in _ = try SecretBytes(count: 1 << 28) }
                exit(error == .failed(.memory) ? 42 : 1)
            }
        }
    #endif

    private struct File: Decodable {
        struct Row: Decodable {
            let passwd, salt, result: String
            let hash: String?
            let outlen, memlimit: Int
            let opslimit: UInt64
        }
        let tests: [Row]
    }

    @Test(.published("argon2/libsodium-argon2id.json"))
    func makesNineOfTenPublishedHashes() throws {
        let file: File = try Published.json("argon2/libsodium-argon2id.json")
        var refused = 0
        for row in file.tests {
            let (password, salt) = (try bytes(row.passwd), try bytes(row.salt))
            var output: [UInt8]?
            let error = thrown { () throws(TresorError) in
                let hashed = try Argon2id.hash(
                    password: password.span, salt: salt, outputCount: row.outlen, passes: row.opslimit,
                    memoryByteCount: row.memlimit)
                output = hashed.span.publicBytes
            }
            #expect(output.map { Hex.text($0) } == row.hash)
            #expect((error == nil) == (row.result == "valid"))
            if error != nil { refused += 1 }
        }
        #expect(file.tests.count == 10)
        #expect(refused == 1)
    }
}
