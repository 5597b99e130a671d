// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Armour of files that do not pass through memory as a whole is that of files that do.
@Suite struct ArmouredStreamTests {
    private static let sizes = [0, 1, 2, 3, 47, 48, 49, 95, 96, 97, 144, 5000, 48 * 1024, 48 * 1024 + 1, 200_000]

    private func content(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    /// The binary form as the source gives it; `nil` where it refuses.
    private func read(_ text: [UInt8]) async -> [UInt8]? {
        guard let source = try? await ArmouredSource(MemorySource(text)) else { return nil }
        return try? await source.bytes(0..<source.byteCount)
    }

    @Test(arguments: sizes, [1, 7, 48, 100, 65536]) func writtenInPiecesTheTextIsEqual(count: Int, grain: Int)
        async throws
    {
        let bytes = content(count)
        var sink = ArmouringSink(MemorySink())
        for start in stride(from: 0, to: count, by: grain) {
            try await sink.write(bytes.span.extracting(start..<min(start + grain, count)))
        }
        try await sink.finish()
        #expect(sink.base.bytes == Armour.file.armour(bytes))
    }

    @Test(arguments: sizes) func readAtAnyPlaceTheBytesAreEqual(count: Int) async throws {
        let bytes = content(count)
        let text = Armour.file.armour(bytes)
        let lines = Array(text.map { $0 == 0x0a ? [0x0d, 0x0a] : [$0] }.joined())
        for text in [text, lines] {
            let source = try await ArmouredSource(MemorySource(text))
            #expect(source.byteCount == count)
            for start in [0, 1, 47, 48, 49, count / 2, count - 1] where (0...count).contains(start) {
                for length in [0, 1, 48, 49, 97, count] where start + length <= count {
                    #expect(try await source.bytes(start..<(start + length)) == Array(bytes[start..<(start + length)]))
                }
            }
            await #expect(throws: TresorError.altered) { try await source.bytes(count..<(count + 1)) }
        }
    }

    /// A line shortened during the reading would be read again and again for the missing bytes.
    @Test func aTextThatChangesWhileItIsReadIsRefused() async throws {
        let text = Armour.file.armour([UInt8](repeating: 0, count: 48))
        let changing = ChangingSource(text)
        let source = try await ArmouredSource(changing)
        let end = try #require(text.firstRange(of: Array("A\n-----END".utf8)))
        var shorter = text
        shorter[end.lowerBound] = UInt8(ascii: "=")
        changing.bytes.withLock { $0 = shorter }
        await #expect(throws: TresorError.altered) { try await source.bytes(0..<48) }
        await #expect(throws: TresorError.altered) { try await source.bytes(47..<48) }
    }

    private final class ChangingSource: SealedSource {
        let bytes: Mutex<[UInt8]>
        let byteCount: Int

        init(_ bytes: [UInt8]) {
            self.bytes = Mutex(bytes)
            byteCount = bytes.count
        }

        func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
            try MemorySource(bytes.withLock { $0 }).read(from: offset, into: &output)
        }
    }

    @Test func A22_whatIsNoArmourInOnePieceIsNoneAnywhere() async throws {
        for count in [0, 1, 46, 47, 48, 49, 96, 130] {
            let text = Armour.file.armour(content(count))
            for index in text.indices {
                for byte in [0x00, 0x0a, 0x0d, 0x20, 0x2d, 0x3d, 0x41, 0x42, 0x2f] as [UInt8] {
                    var other = text
                    other[index] = byte
                    #expect(await read(other) == (try? Armour.file.dearmour(other)), "\(count) \(index) \(byte)")
                    other = text
                    other.insert(byte, at: index)
                    #expect(await read(other) == (try? Armour.file.dearmour(other)), "\(count) \(index) \(byte)")
                }
                #expect(await read(Array(text.prefix(index))) == nil)
                var shorter = text
                shorter.remove(at: index)
                #expect(await read(shorter) == (try? Armour.file.dearmour(shorter)))
            }
            #expect(await read(text + [0x0a]) == nil)
            #expect(await read(Armour.card.armour(content(count))) == nil)
        }
    }
}
