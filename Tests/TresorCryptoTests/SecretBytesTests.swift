// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorCrypto

@Suite struct SecretBytesTests {
    @Test(arguments: [0, 1, 31, 32, 4096, 100_000])
    func keepsACopy(count: Int) throws {
        let source = pattern(count)
        let secret = try secret(source)
        #expect(secret.count == count)
        let bytes = secret.span.publicBytes
        #expect(bytes == source)
        let clone = try SecretBytes(copying: secret.span)
        let cloned = clone.span.publicBytes
        #expect(cloned == source)
    }

    @Test func startsZeroed() throws {
        let secret = try SecretBytes(count: 5000)
        let isZero = secret.span.publicBytes.allSatisfy { $0 == 0 }
        #expect(isZero)
    }

    @Test(arguments: [-1, Int.min, (1 << 30) + 1, Int.max])
    func A19_refusesImpossibleSizes(count: Int) {
        let error = thrown { () throws(TresorError) in _ = try SecretBytes(count: count) }
        #expect(error == .failed(.memory))
        let filled = thrown { () throws(TresorError) in _ = try SecretBytes(count: count) { _ throws(TresorError) in } }
        #expect(filled == .failed(.memory))
    }

    @Test func fillsInPlace() throws {
        let secret = try SecretBytes(count: 3) { (output) throws(TresorError) in output[1] = 7 }
        let bytes = secret.span.publicBytes
        #expect(bytes == [0, 7, 0])
        let error = thrown { () throws(TresorError) in
            _ = try SecretBytes(count: 3) { (_) throws(TresorError) in throw .cancelled }
        }
        #expect(error == .cancelled)
    }

    @Test func clonesAreIndependent() throws {
        var first = try secret([1, 2, 3])
        let second = try SecretBytes(copying: first.span)
        var span = first.mutableSpan
        span[0] = 9
        let bytes = [first.span.publicBytes, second.span.publicBytes]
        #expect(bytes == [[9, 2, 3], [1, 2, 3]])
    }

    @Test func comparesEveryBit() throws {
        let source = pattern(33)
        let secret = try secret(source)
        let same = try SecretBytes(copying: secret.span)
        let isSame = secret.matches(same)
        #expect(isSame)
        for bit in 0..<(33 * 8) {
            var other = source
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            let changed = try TresorCryptoTests.secret(other)
            let matches = secret.matches(changed)
            #expect(!matches, "bit \(bit)")
        }
        for other in [[], Array(source.dropLast()), source + [0]] {
            let different = try TresorCryptoTests.secret(other)
            let matches = [secret.matches(different), different.matches(secret)]
            #expect(matches == [false, false])
        }
        let nothing = try SecretBytes(count: 0)
        let nothingElse = try SecretBytes(count: 0)
        let isNothing = nothing.matches(nothingElse)
        #expect(isNothing)
    }

    @Test func prefixIsCutToItsSize() throws {
        let prefix = try secret([1, 2, 3, 4]).prefix(3)
        let bytes = prefix.span.publicBytes
        #expect(bytes == [1, 2, 3])
    }

    @Test(arguments: [-1, 5, Int.min, Int.max])
    func A19_prefixOfMoreThanThereIs(count: Int) throws {
        let error = thrown { () throws(TresorError) in _ = try secret([1, 2, 3, 4]).prefix(count) }
        #expect(error == .usage(.outOfBounds))
    }

    @Test func A39_readingBeyondTheEndEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let secret = try SecretBytes(count: 32)
            try secret.withMutablePointer { pointer in _ = readByte(at: UInt(bitPattern: pointer) + 32) }
        }
    }

    @Test func A39_readingThePageBeforeEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            let secret = try SecretBytes(count: 32)
            let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
            try secret.withMutablePointer { pointer in _ = readByte(at: UInt(bitPattern: pointer) - page) }
        }
    }

    @Test func A39_writingBeforeTheBeginningIsNoticedOnRelease() async {
        await #expect(processExitsWith: .failure) {
            let secret = try SecretBytes(count: 32)
            try secret.withMutablePointer { pointer in (pointer - 1).pointee ^= 1 }
        }
    }

    @Test func A39_releasedMemoryIsGone() async {
        await #expect(processExitsWith: .failure) {
            _ = readByte(at: try addressOfReleasedSecret())
        }
    }

    /// The four tests above can only be believed when the same reads succeed inside.
    @Test func A39_readingInsideDoesNot() async {
        await #expect(processExitsWith: .success) {
            let secret = try SecretBytes(count: 32)
            try secret.withMutablePointer { pointer in _ = readByte(at: UInt(bitPattern: pointer) + 31) }
        }
    }

    /// A type that cannot be copied cannot become `Any`, so it reaches neither `print`, `dump`, `Mirror` nor
    /// interpolation. Without a conformance it is neither compared, hashed nor encoded.
    @Test func A41_secretTypesAreNotCopiedPrintedComparedOrEncoded() throws {
        let secretTypes = ["SecretBytes", "SecretKey", "SigningKey", "BLAKE2b"]
        let sources = try SourceCode.files(of: "Sources").map(\.text).joined(separator: "\n")
        let lines = sources.split(separator: "\n").map(String.init)
        for name in secretTypes {
            let declarations = lines.filter { $0.contains("struct \(name):") || $0.contains("struct \(name)<") }
            #expect(declarations.count == 1, "\(name)")
            for declaration in declarations {
                let conformances = declaration.drop { $0 != ":" }
                #expect(declaration.contains("~Copyable"), "\(name)")
                for forbidden in ["Equatable", "Hashable", "Codable", "Encodable", "StringConvertible", "Reflectable"] {
                    #expect(!conformances.contains(forbidden), "\(name): \(forbidden)")
                }
            }
            let extensions = lines.filter { $0.contains("extension \(name)") && $0.contains(":") }
            #expect(extensions.isEmpty, "\(name)")
        }
    }
}

@inline(never)
private func readByte(at address: UInt) -> UInt8 {
    UnsafePointer<UInt8>(bitPattern: address)?.pointee ?? 0
}

@inline(never)
private func addressOfReleasedSecret() throws -> UInt {
    let secret = try SecretBytes(count: 32)
    var address: UInt = 0
    try secret.withMutablePointer { pointer in address = UInt(bitPattern: pointer) }
    return address
}
