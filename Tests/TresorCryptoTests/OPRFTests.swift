// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import TresorCrypto

/// The oblivious function and its hashes against published numbers.
@Suite struct OPRFTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let input, blinded, evaluated, output: String
        var testDescription: String { input }
    }

    /// RFC 9497 Appendix A.1.1. The blind is the same in both.
    private static let blind = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"
    private static let cases = [
        Case(
            input: "00", blinded: "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
            evaluated: "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
            output: """
                527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3\
                ab9135e3bd69955851de4b1f9fe8a0973396719b7912ba9ee8aa7d0b5e24bcf6
                """),
        Case(
            input: "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
            blinded: "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
            evaluated: "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
            output: """
                f4a74c9c592497375e796aa837e907b1a045d34306a749db9f34221f7e750cb4\
                f2a6413a6bf6fa5e19ba6348eb673934a722a7ede2e7621306d18951e7cf2c73
                """),
    ]

    @Test("RFC 9497 A.1.1", arguments: cases)
    func published(example: Case) throws {
        let seed = try secretBytes([UInt8](repeating: 0xa3, count: 32))
        let key = try OPRF.deriveKey(seed: seed, info: Array("test key".utf8))
        let keyBytes = key.span.publicBytes
        #expect(Hex.text(keyBytes) == "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e")
        let request = try OPRF.Request(
            secretBytes(bytes(example.input)), blind: secretBytes(bytes(Self.blind)))
        let element = request.element
        let evaluated = try OPRF.evaluate(element.span, key: key)
        let output = try request.finalize(evaluated.span)
        let outputBytes = output.span.publicBytes
        #expect(Hex.text(element) == example.blinded)
        #expect(Hex.text(evaluated) == example.evaluated)
        #expect(Hex.text(outputBytes) == example.output)
    }

    @Test("Two requests for one input differ, and give one output")
    func blinds() throws {
        let key = try Ristretto255.randomScalar()
        func request() throws -> (element: [UInt8], output: [UInt8]) {
            let input: [UInt8] = [1, 2, 3]
            let request = try OPRF.Request(secretBytes(input))
            let element = request.element
            let evaluated = try OPRF.evaluate(element.span, key: key)
            let output = try request.finalize(evaluated.span)
            return (element, output.span.publicBytes)
        }
        let (one, other) = (try request(), try request())
        #expect(one.element != other.element)
        #expect(one.output == other.output)
    }

    @Test("A longer input than 65 535 bytes is refused")
    func refusesLongInputs() throws {
        do throws(TresorError) {
            _ = try OPRF.Request(SecretBytes(count: 65_536))
            Issue.record("it was taken")
        } catch {
            #expect(error == .usage(.outOfBounds))
        }
    }

    @Test("HMAC and HKDF agree with swift-crypto", arguments: [0, 1, 63, 64, 65, 128, 129, 300])
    func agrees(count: Int) throws {
        let key = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let info = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 3) }
        var code = try HMACSHA512(key: key.span)
        code.update(info)
        let expected = HMAC<Crypto.SHA512>.authenticationCode(for: info, using: SymmetricKey(data: key))
        let made = try code.finalize()
        let madeBytes = made.span.publicBytes
        #expect(madeBytes == Array(expected))

        let (one, other) = (Array(key.prefix(count / 2)), Array(key.dropFirst(count / 2)))
        let extracted = try HKDFSHA512.extract(
            secretBytes(one), secretBytes(other))
        let theirs = HKDF<Crypto.SHA512>.extract(
            inputKeyMaterial: SymmetricKey(data: key), salt: Data())
        let extractedBytes = extracted.span.publicBytes
        #expect(extractedBytes == theirs.withUnsafeBytes { Array($0) })
        for size in [1, 64, 65, 200] {
            let expanded = try HKDFSHA512.expand(extracted, info: info, count: size)
            let theirs = HKDF<Crypto.SHA512>.expand(
                pseudoRandomKey: SymmetricKey(data: extractedBytes), info: info, outputByteCount: size)
            let expandedBytes = expanded.span.publicBytes
            #expect(expandedBytes == theirs.withUnsafeBytes { Array($0) })
        }
        #expect(try TresorCrypto.SHA512.hash(info) == Array(Crypto.SHA512.hash(data: info)))
    }
}
