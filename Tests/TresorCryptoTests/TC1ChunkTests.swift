// SPDX-License-Identifier: Apache-2.0

import Clibsodium
import Testing

@testable import TresorCrypto

/// A5: chunks reordered, repeated, dropped, cut, appended and spliced.
@Suite struct TC1ChunkTests {
    private let salt = [UInt8](0x40..<0x58)
    private let whole = TC1.chunkByteCount + 16

    /// The parts of a sealed message.
    private struct Message {
        let prefix: [UInt8]
        let chunks: [[UInt8]]

        init(_ sealed: [UInt8], whole: Int) {
            prefix = Array(sealed[..<TC1.prefixByteCount])
            let body = Array(sealed[TC1.prefixByteCount...])
            chunks = stride(from: 0, to: body.count, by: whole).map { Array(body[$0..<min($0 + whole, body.count)]) }
        }

        func with(_ chunks: [[UInt8]]) -> [UInt8] { prefix + chunks.joined() }
    }

    private func sealed(_ count: Int, with key: borrowing SecretKey<TestUse>) throws -> Message {
        Message(try TresorCryptoTests.sealed(pattern(count), with: key), whole: whole)
    }

    @Test(arguments: [3 * 65536, 2 * 65536 + 1, 2 * 65536 + 100])
    func A5_chunksReorderedDroppedRepeated(count: Int) throws {
        let key = try SecretKey<TestUse>()
        let message = try sealed(count, with: key)
        try #require(message.chunks.count == 3)
        let orders = (0..<4).flatMap { length in sequences(of: length) }.filter { $0 != [0, 1, 2] }
        #expect(orders.count == 1 + 3 + 9 + 27 - 1)
        for order in orders + [[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2], [0, 1, 2, 0]] {
            let error = openingError(message.with(order.map { message.chunks[$0] }), with: key)
            #expect(error == .altered, "\(order)")
        }
        let untouched = openingError(message.with(message.chunks), with: key)
        #expect(untouched == nil)
    }

    private func sequences(of length: Int) -> [[Int]] {
        (0..<length).reduce([[]]) { lists, _ in lists.flatMap { list in (0..<3).map { list + [$0] } } }
    }

    @Test(arguments: [0, 1, 65535, 65536, 65537, 2 * 65536, 2 * 65536 + 100])
    func A5_messageCut(count: Int) throws {
        let key = try SecretKey<TestUse>()
        let message = try sealed(count, with: key)
        let bytes = message.with(message.chunks)
        let boundaries = [0, 24, 56] + (0..<3).map { 56 + $0 * whole } + [bytes.count]
        let cuts = Set(boundaries.flatMap { boundary in (-17...17).map { boundary + $0 } })
        for cut in cuts where (0..<bytes.count).contains(cut) {
            let error = openingError(Array(bytes[..<cut]), with: key)
            #expect(error == .altered, "cut to \(cut)")
        }
        for cut in 1...40 where bytes.count - cut > 0 {
            let error = openingError(Array(bytes[cut...]), with: key)
            #expect(error == .altered, "without the first \(cut)")
        }
    }

    @Test(arguments: [0, 1, 65535, 65536, 65537])
    func A5_bytesAppended(count: Int) throws {
        let key = try SecretKey<TestUse>()
        let message = try sealed(count, with: key)
        let bytes = message.with(message.chunks)
        for extra in [1, 15, 16, 17, 65535, 65536, 65552, 65553] {
            let error = openingError(bytes + [UInt8](repeating: 0, count: extra), with: key)
            #expect(error == .altered, "\(extra) more")
        }
        let twice = openingError(bytes + bytes[TC1.prefixByteCount...], with: key)
        #expect(twice == .altered)
    }

    @Test func A5_messagesOfOneKeySpliced() throws {
        let key = try SecretKey<TestUse>()
        let first = try sealed(3 * 65536, with: key)
        let second = try sealed(3 * 65536, with: key)
        for mask in 1..<7 {
            let chunks = (0..<3).map { mask >> $0 & 1 == 1 ? second.chunks[$0] : first.chunks[$0] }
            let error = openingError(first.with(chunks), with: key)
            #expect(error == .altered, "mask \(mask)")
        }
        let otherSalt = openingError(
            Array(second.prefix[..<24] + first.prefix[24...]) + first.chunks.joined(), with: key)
        #expect(otherSalt == .altered)
        let otherCommitment = openingError(
            Array(first.prefix[..<24] + second.prefix[24...]) + first.chunks.joined(), with: key)
        #expect(otherCommitment == .altered)
    }

    /// Chunks made with the right message key, as only a holder of the key could: the form alone must refuse them.
    @Test func A5_lastMarkAndEmptyLastChunk() throws {
        let key = try SecretKey<TestUse>()
        let full = pattern(65536)
        let forms: [(name: String, chunks: [(plaintext: [UInt8], index: Int, isLast: Bool)], opens: Bool)] = [
            ("honest, one", [(full, 0, true)], true),
            ("honest, two", [(full, 0, false), ([7], 1, true)], true),
            ("last mark missing", [(full, 0, false)], false),
            ("last mark missing on two", [(full, 0, false), ([7], 1, false)], false),
            ("last mark early", [(full, 0, true), ([7], 1, true)], false),
            ("empty last chunk", [(full, 0, false), ([], 1, true)], false),
            ("nothing but an unmarked empty chunk", [([], 0, false)], false),
            ("number skipped", [(full, 0, false), ([7], 2, true)], false),
            ("numbers from one", [(full, 1, false), ([7], 2, true)], false),
            ("short first chunk", [(Array(full.dropLast()), 0, false), ([7], 1, true)], false),
        ]
        for form in forms {
            let sealed = try assemble(form.chunks, with: key)
            let error = openingError(sealed, with: key)
            #expect(error == (form.opens ? nil : .altered), "\(form.name)")
        }
    }

    private func assemble(
        _ chunks: [(plaintext: [UInt8], index: Int, isLast: Bool)], with key: borrowing SecretKey<TestUse>
    ) throws -> [UInt8] {
        var hash = try BLAKE2b(outputCount: 64, key: key.span)
        let labels = ["tresor/v1/seal", "tresor/v1/file-seal"].flatMap { lengthPrefixed(Array($0.utf8)) }
        try hash.update((labels + salt + [0, 0, 0, 0]).span)
        let okm = try hash.finalize()
        return chunks.reduce(salt + okm[32...]) { sealed, chunk in
            var output = [UInt8](repeating: 0, count: chunk.plaintext.count + 16)
            let nonce = [0, 0, 0] + bigEndianBytes(UInt64(chunk.index)) + [chunk.isLast ? 1 : 0]
            crypto_aead_chacha20poly1305_ietf_encrypt(
                &output, nil, chunk.plaintext, UInt64(chunk.plaintext.count), nil, 0, nil, nonce, Array(okm[..<32]))
            return sealed + output
        }
    }

    @Test func noncesAreNumberAndMark() {
        func nonce(_ number: Int, _ isLast: Bool) -> [UInt8] {
            let nonce = TC1.nonce(chunk: number, isLast: isLast)
            return nonce.indices.map { nonce[$0] }
        }
        #expect(nonce(0, false) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        #expect(nonce(0, true) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        #expect(nonce(0x01_0203, false) == [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0])
    }
}
