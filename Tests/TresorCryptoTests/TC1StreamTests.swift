// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import TresorCrypto

/// A message sealed and opened piece by piece, and by another library.
@Suite struct TC1StreamTests {
    private let context: [UInt8] = [1, 2, 3]

    private func sealedInRuns(
        _ plaintext: [UInt8], of sizes: [Int], with key: borrowing SecretKey<TestUse>, salt: [UInt8]
    ) throws -> [UInt8] {
        var sealing = try TC1.Sealing(with: key, label: .fileSeal, context: context.span, salt: salt)
        var sealed = sealing.prefix
        var start = 0
        for size in sizes {
            let run = try sealing.next(size, endsMessage: start + size == plaintext.count)
            var output = [UInt8](repeating: 0, count: TC1.sealedByteCount(size))
            var span = output.mutableSpan
            let count = try run.seal(plaintext.span.extracting(start..<(start + size)), into: &span)
            sealed += output[..<count]
            start += size
        }
        return sealed
    }

    @Test(arguments: [0, 1, 65535, 65536, 65537, 3 * 65536, 3 * 65536 + 5])
    func inRunsAndInOnePieceTheBytesAreEqual(count: Int) throws {
        let key = try SecretKey<TestUse>()
        let salt = try randomBytes(24)
        let plaintext = pattern(count)
        let whole = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span, salt: salt)
        for runs in 1...3 {
            var sizes: [Int] = []
            while sizes.reduce(0, +) + runs * 65536 < count { sizes.append(runs * 65536) }
            sizes.append(count - sizes.reduce(0, +))
            #expect(try sealedInRuns(plaintext, of: sizes, with: key, salt: salt) == whole)
        }
    }

    @Test func A5_chunksOpenInAnyOrderAndInNoOtherPlace() throws {
        let key = try SecretKey<TestUse>()
        let plaintext = pattern(4 * 65536 + 9)
        let sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span)
        let opening = try TC1.Opening(
            prefix: sealed.span.extracting(first: 56), sealedByteCount: sealed.count, with: key, label: .fileSeal,
            context: context.span)
        #expect(opening.byteCount == plaintext.count)
        #expect(opening.chunkCount == 5)
        for range in [4..<5, 0..<1, 1..<4, 0..<5, 2..<5] {
            let place = opening.sealedRange(range)
            var output = [UInt8](repeating: 0, count: range.count * 65536)
            var span = output.mutableSpan
            let count = try opening.open(range, from: sealed.span.extracting(place), into: &span)
            #expect(Array(output[..<count]) == Array(plaintext[(range.lowerBound * 65536)...].prefix(count)))
        }
        var output = [UInt8](repeating: 7, count: 65536)
        let first = sealed.span.extracting(opening.sealedRange(0..<1))
        var refused: TresorError?
        do throws(TresorError) {
            var span = output.mutableSpan
            _ = try opening.open(1..<2, from: first, into: &span)
        } catch {
            refused = error
        }
        #expect(refused == .altered)
        #expect(output.allSatisfy { $0 == 0 })
    }

    @Test func A5_runsAreGivenOutInOrderAndOnce() throws {
        let key = try SecretKey<TestUse>()
        func error(_ sizes: [(Int, Bool)]) throws -> TresorError? {
            var sealing = try TC1.Sealing(with: key, label: .fileSeal, context: context.span)
            do throws(TresorError) {
                for (count, ends) in sizes { _ = try sealing.next(count, endsMessage: ends) }
            } catch {
                return error
            }
            return nil
        }
        #expect(try error([(65536, false), (1, true)]) == nil)
        #expect(try error([(0, true)]) == nil)
        let wrong: [[(Int, Bool)]] = [
            [(1, false)], [(0, false)], [(65536, false), (0, true)], [(-1, true)],
            [(1 << 40, false), (1, true)], [((1 << 40) + 1, true)],
        ]
        for sizes in wrong { #expect(try error(sizes) == .usage(.outOfBounds)) }
        #expect(try error([(1, true), (1, true)]) == .usage(.outOfOrder))
    }

    /// The chunks are RFC 8439 whichever library makes them: swift-crypto's seals what libsodium opens, and the other
    /// way round.
    @Test(arguments: [0, 1, 1024, 65535, 65536, 2 * 65536 + 77])
    func bothLibrariesMakeTheSameBytes(count: Int) throws {
        let secret = try SecretBytes(randomCount: 32)
        let key = try SecretKey<TestUse>(secret)
        let salt = try randomBytes(24)
        let plaintext = pattern(count)
        let sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span, salt: salt)
        var hash = try BLAKE2b(outputCount: 64, key: key.span)
        try hash.updatePrefixed(.seal)
        try hash.updatePrefixed(.fileSeal)
        try hash.update(salt.span)
        try hash.updatePrefixed(context.span)
        let okm = try hash.finalize()
        let message = SymmetricKey(data: okm[..<32])
        var other = salt + okm[32...]
        let chunks = max(1, (count + 65535) / 65536)
        for index in 0..<chunks {
            let part = plaintext[(index * 65536)..<min((index + 1) * 65536, count)]
            let nonce = [0, 0, 0] + bigEndianBytes(UInt64(index)) + [index == chunks - 1 ? 1 : 0]
            let box = try ChaChaPoly.seal(part, using: message, nonce: ChaChaPoly.Nonce(data: nonce))
            other += Array(box.ciphertext) + Array(box.tag)
        }
        #expect(other == sealed)
    }
}
