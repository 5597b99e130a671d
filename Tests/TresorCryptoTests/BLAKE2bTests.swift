// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct BLAKE2bTests {
    private func hash(_ input: [UInt8], outputCount: Int, key: [UInt8]? = nil) throws(TresorError) -> [UInt8] {
        guard let key else {
            var hash = try BLAKE2b(outputCount: outputCount)
            try hash.update(input.span)
            return try hash.finalize()
        }
        var hash = try BLAKE2b(outputCount: outputCount, key: key.span)
        try hash.update(input.span)
        return try hash.finalize()
    }

    /// RFC 7693, appendix A.
    @Test func hashesABC() throws {
        let abc = Array("abc".utf8)
        let expected = """
            ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
            7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923
            """
        #expect(Hex.text(try hash(abc, outputCount: 64)) == expected)
        let memory = try SecretBytes(count: 64)
        var second = try BLAKE2b(outputCount: 64)
        try second.update(abc.span)
        try second.finalize(into: memory)
        #expect(Hex.text(memory.span.publicBytes) == expected)
    }

    /// RFC 7693, appendix E: a hash over the hashes of 24 plain and 24 keyed inputs.
    @Test func passesTheSelfTestOfTheRFC() throws {
        func sequence(_ count: Int) -> [UInt8] {
            var a = 0xdead_4bad &* UInt32(count)
            var b: UInt32 = 1
            return (0..<count).map { _ in
                let sum = a &+ b
                a = b
                b = sum
                return UInt8(sum >> 24)
            }
        }
        var total = try BLAKE2b(outputCount: 32)
        for outputCount in [20, 32, 48, 64] {
            for inputCount in [0, 3, 128, 129, 255, 1024] {
                let input = sequence(inputCount)
                let plain = try hash(input, outputCount: outputCount)
                try total.update(plain.span)
                let keyed = try hash(input, outputCount: outputCount, key: sequence(outputCount))
                try total.update(keyed.span)
            }
        }
        let result = Hex.text(try total.finalize())
        #expect(result == "c23a7800d98123bd10f506c61e29da5603d763b8bbad2e737f5e765a7bccd475")
    }

    @Test(.published("blake2b/crypto-test-vectors-blake2-nosalt-nopersonalization.txt"))
    func hashesEveryPublishedRow() throws {
        let rows = try Published.lines("blake2b/crypto-test-vectors-blake2-nosalt-nopersonalization.txt")
        #expect(rows.count == 40)
        for row in rows {
            try #require(row.count == 4)
            let outputCount = try #require(Int(row[2]))
            let result = try hash(try bytes(row[0]), outputCount: outputCount, key: try bytes(row[1]))
            #expect(Hex.text(result) == row[3])
        }
    }

    @Test func partsMakeTheSameHashAsTheWhole() throws {
        let input = pattern(1000)
        let whole = try hash(input, outputCount: 32)
        for step in [1, 7, 127, 128, 129, 999] {
            var hash = try BLAKE2b(outputCount: 32)
            for start in stride(from: 0, to: input.count, by: step) {
                try hash.update(Array(input[start..<min(start + step, input.count)]).span)
            }
            let parts = try hash.finalize()
            #expect(parts == whole)
        }
    }

    @Test func shorterOutputIsNotAPrefix() throws {
        let long = try hash([1], outputCount: 64)
        #expect(try hash([1], outputCount: 32) != Array(long[..<32]))
    }

    @Test(arguments: [(0, 32), (65, 32), (-1, 32), (Int.max, 32), (Int.min, 32), (32, 65), (32, 1000)])
    func refusesOtherSizes(outputCount: Int, keyCount: Int) {
        let key = [UInt8](repeating: 0, count: keyCount)
        let error = thrown { () throws(TresorError) in _ = try BLAKE2b(outputCount: outputCount, key: key.span) }
        #expect(error == .usage(.outOfBounds))
    }

    @Test func refusesSecretMemoryOfAnotherSize() throws {
        for count in [0, 31, 33] {
            let memory = try SecretBytes(count: count)
            let error = thrown { () throws(TresorError) in
                try BLAKE2b(outputCount: 32).finalize(into: memory)
            }
            #expect(error == .usage(.outOfBounds))
        }
    }

    /// Computed with Python's hashlib.
    @Test func labelledHashIsTheKnownAnswer() throws {
        let abc = Array("abc".utf8)
        let def = Array("def".utf8)
        let expected = "7cb027193ee7ccb6fcd09423e0a83463a368f0a961069bd787bdd7b75b834e4a"
        #expect(Hex.text(try BLAKE2b.hash(.cardHash, abc, def).bytes) == expected)
        #expect(Hex.text(try BLAKE2b.hash(.cardHash, abc + def).bytes) == expected)
        let secret = try BLAKE2b.hash(.cardHash, abc, secret: def.span)
        #expect(Hex.text(secret.bytes) == expected)
        let nothing = try BLAKE2b.hash(.userID)
        #expect(Hex.text(nothing.bytes) == "ec0a2c9623145559fb6dd2e349f3365cbd062a1c4b282ba7c0598e8cb058dceb")
    }

    /// A copy and its original go on from the same place, each by itself.
    @Test func aCopyGoesOnByItself() throws {
        let start = [UInt8](repeating: 1, count: 200)
        let (left, right): ([UInt8], [UInt8]) = ([2, 3], [4])
        var original = try BLAKE2b(outputCount: 32)
        try original.update(start.span)
        var copy = BLAKE2b(copying: original)
        try original.update(left.span)
        try copy.update(right.span)
        let (first, second) = (try original.finalize(), try copy.finalize())
        #expect(try first == hash(start + left, outputCount: 32))
        #expect(try second == hash(start + right, outputCount: 32))
    }

    @Test func integersAreBigEndian() {
        #expect(bigEndianBytes(UInt32(0x0102_0304)) == [1, 2, 3, 4])
        #expect(bigEndianBytes(UInt8(0xff)) == [0xff])
        #expect(bigEndianBytes(UInt64.max) == [UInt8](repeating: 0xff, count: 8))
    }

    @Test func labelsArePrefixedWithTheirWholeLength() throws {
        for (label, _) in DomainLabel.registry { #expect(label.prefixed == lengthPrefixed(Array(label.text.utf8))) }
        let longest = try DomainLabel(application: String(repeating: "x", count: 255))
        #expect(longest.prefixed == [0, 0, 0, 255] + [UInt8](repeating: 0x78, count: 255))
    }
}
