// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// The use of the 32 bytes of a recovery kit.
package enum KitUse: KeyUse {}

/// A recovery kit: 256 random bits as 24 words of BIP-39 (SPEC §8.2). The bits are the key. There is no slow hash, and
/// the words do not yield the seed of a wallet.
public struct RecoveryKit: ~Copyable, Sendable {
    /// The number of words in a kit.
    package static let wordCount = 24
    /// The maximum size in bytes of a typed kit: 1024.
    package static let maximumByteCount = 1024
    /// The size of the longest word of the list and the beginning of a blank in bytes: 8 and 2.
    private static let maximumOpenByteCount = 8 + 2

    package let key: SecretKey<KitUse>

    /// Draws a new kit.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    public init() throws(TresorError) {
        key = try SecretKey()
    }

    package init(_ key: consuming SecretKey<KitUse>) {
        self.key = key
    }

    /// Reads 24 words, separated by white space, in either case. Ignores numbers of one or two digits.
    ///
    /// - Throws: ``TresorError/wrongPassword`` for another count, an unknown word or a wrong checksum.
    ///   ``isWord(_:)`` tells which one.
    public init(typed: borrowing SecretBytes) throws(TresorError) {
        guard let ranges = Self.ranges(of: typed.span), ranges.count == Self.wordCount else { throw .wrongPassword }
        let typedSpan = typed.span
        let bits = try SecretBytes(count: 33) { (output) throws(TresorError) in
            for (position, range) in ranges.enumerated() {
                guard let index = Self.index(of: typedSpan.extracting(range)) else { throw .wrongPassword }
                for bit in 0..<11 where index >> (10 - bit) & 1 == 1 {
                    let place = position * 11 + bit
                    output[place >> 3] |= UInt8(0x80 >> (place & 7))
                }
            }
        }
        let key = try SecretKey<KitUse>(SecretBytes(copying: bits.span.extracting(first: 32)))
        let isWhole = try Self.checksum(key) == bits.span[32]
        guard isWhole else { throw .wrongPassword }
        self.key = key
    }

    /// Whether a text that begins with these bytes may be a kit: each word that ends among them is in the list.
    package static func mayBegin(with start: ArraySlice<UInt8>) -> Bool {
        let span = start.span
        guard let ranges = ranges(of: span) else { return false }
        for range in ranges where range.upperBound < span.count && index(of: span.extracting(range)) == nil {
            return false
        }
        return ranges.last.map { $0.count <= maximumOpenByteCount } ?? true
    }

    /// The 24 words in lower case, one blank between two.
    public borrowing func words() throws(TresorError) -> SecretBytes {
        let checksum = try Self.checksum(key)
        let span = key.span
        func index(_ position: Int) -> Int {
            (0..<11).reduce(0) { index, bit in
                let place = position * 11 + bit
                let byte = place >> 3 == 32 ? checksum : span[place >> 3]
                return index << 1 | Int(byte >> UInt8(7 - place & 7) & 1)
            }
        }
        var total = Self.wordCount - 1
        for position in 0..<Self.wordCount { total += WordList.words[index(position)].count }
        var written = 0
        return try SecretBytes(count: total) { (output) throws(TresorError) in
            for position in 0..<Self.wordCount {
                if position > 0 {
                    output[written] = 0x20
                    written += 1
                }
                for byte in WordList.words[index(position)] {
                    output[written] = byte
                    written += 1
                }
            }
        }
    }

    /// The position, counted from 1, of the first word that is not in the list; `nil` if all are.
    package static func firstUnknownWord(in typed: borrowing SecretBytes) -> Int? {
        guard let ranges = ranges(of: typed.span) else { return nil }
        let span = typed.span
        for (position, range) in ranges.enumerated() where index(of: span.extracting(range)) == nil {
            return position + 1
        }
        return nil
    }

    /// Whether the typed word at a position, counted from 1, has a character of ASCII that is no letter: the words were
    /// typed with commas or hyphens between them, or with `1)` before them.
    package static func hasSign(wordAt position: Int, in typed: borrowing SecretBytes) -> Bool {
        let span = typed.span
        guard let ranges = ranges(of: span), ranges.indices.contains(position - 1) else { return false }
        for index in ranges[position - 1] where span[index] < 0x80 && !(0x61...0x7a).contains(span[index] | 0x20) {
            return true
        }
        return false
    }

    /// The words of the list that the typed word at a position, counted from 1, may stand for, `, ` between two: those one
    /// letter or one swap of neighbours away, else those with the same first four letters; at most three.
    ///
    /// They are for the eyes of the person who typed (SPEC §8.7): one of them is probably a word of the kit.
    ///
    /// - Returns: `nil` if there are none.
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package static func nearWords(
        to position: Int, in typed: borrowing SecretBytes
    ) throws(TresorError) -> SecretBytes? {
        let span = typed.span
        guard let ranges = ranges(of: span), ranges.indices.contains(position - 1) else { return nil }
        let word = span.extracting(ranges[position - 1])
        let edited = WordList.words.filter { isOneEdit(word, from: $0) }
        let near = (edited.isEmpty ? WordList.words.filter { beginsAlike(word, $0) } : edited).prefix(3)
        guard !near.isEmpty else { return nil }
        var written = 0
        return try SecretBytes(count: near.reduce(-2) { $0 + $1.count + 2 }) { (output) throws(TresorError) in
            for (place, word) in near.enumerated() {
                for byte in (place == 0 ? [] : [0x2c, 0x20]) + word {
                    output[written] = byte
                    written += 1
                }
            }
        }
    }

    private static func isOneEdit(_ typed: Span<UInt8>, from word: [UInt8]) -> Bool {
        var start = 0
        while start < min(typed.count, word.count), typed[start] | 0x20 == word[start] { start += 1 }
        var (end, last) = (typed.count, word.count)
        while min(end, last) > start, typed[end - 1] | 0x20 == word[last - 1] { (end, last) = (end - 1, last - 1) }
        switch (end - start, last - start) {
        case (1, 1), (1, 0), (0, 1): return true
        case (2, 2): return typed[start] | 0x20 == word[start + 1] && typed[start + 1] | 0x20 == word[start]
        default: return false
        }
    }

    /// No two words of the list have the same first four letters.
    private static func beginsAlike(_ typed: Span<UInt8>, _ word: [UInt8]) -> Bool {
        guard typed.count >= 4, word.count >= 4 else { return false }
        for place in 0..<4 where typed[place] | 0x20 != word[place] { return false }
        return true
    }

    /// The number of typed words; `nil` if one of them is not in the list, or if the text is too long.
    package static func wordCount(in typed: borrowing SecretBytes) -> Int? {
        guard firstUnknownWord(in: typed) == nil else { return nil }
        return ranges(of: typed.span)?.count
    }

    /// Whether a word is in the list of the kits, as a person types it.
    public static func isWord(_ word: String) -> Bool {
        let bytes = Array(word.utf8)
        return bytes.count <= 16 && index(of: bytes.span) != nil
    }

    /// The first byte of the SHA-256 checksum.
    private static func checksum(_ key: borrowing SecretKey<KitUse>) throws(TresorError) -> UInt8 {
        let digest = try SecretBytes(count: 32)
        let source = key.span
        try unsafe digest.withMutablePointer { (pointer) throws(TresorError) in
            let status = unsafe source.withUnsafeBufferPointer { bytes in
                guard let base = bytes.baseAddress else { return Int32(-1) }
                return unsafe crypto_hash_sha256(pointer, base, 32)
            }
            guard status == 0 else { throw .failed(.library) }
        }
        return digest.span[0]
    }

    private static func ranges(of typed: Span<UInt8>) -> [Range<Int>]? {
        guard typed.count <= maximumByteCount else { return nil }
        var ranges: [Range<Int>] = []
        var (start, index) = (0, 0)
        while index <= typed.count {
            let blank = index == typed.count ? 1 : blankByteCount(typed, at: index)
            if blank > 0 {
                if start < index, !isNumber(typed.extracting(start..<index)) { ranges.append(start..<index) }
                start = index + blank
            }
            index += max(1, blank)
        }
        return ranges
    }

    /// The number of bytes of the white space of Unicode, or of the byte-order mark, that begins at a place; 0 if none
    /// does.
    private static func blankByteCount(_ typed: Span<UInt8>, at index: Int) -> Int {
        let left = typed.count - index
        switch typed[index] {
        case 0x09...0x0d, 0x20: return 1
        case 0xc2 where left >= 2: return typed[index + 1] == 0x85 || typed[index + 1] == 0xa0 ? 2 : 0
        case 0xe1, 0xe2, 0xe3, 0xef:
            guard left >= 3 else { return 0 }
            switch (typed[index], typed[index + 1], typed[index + 2]) {
            case (0xe1, 0x9a, 0x80), (0xe2, 0x80, 0x80...0x8a), (0xe2, 0x80, 0xa8...0xa9), (0xe2, 0x80, 0xaf),
                (0xe2, 0x81, 0x9f), (0xe3, 0x80, 0x80), (0xef, 0xbb, 0xbf):
                return 3
            default: return 0
            }
        default: return 0
        }
    }

    /// Whether a word is one or two digits, with or without a full stop. Such numbers precede the words of a kit on
    /// paper.
    private static func isNumber(_ typed: Span<UInt8>) -> Bool {
        let count = typed.count > 1 && typed[typed.count - 1] == UInt8(ascii: ".") ? typed.count - 1 : typed.count
        guard (1...2).contains(count) else { return false }
        for index in 0..<count where !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(typed[index]) { return false }
        return true
    }

    private static func index(of typed: Span<UInt8>) -> Int? {
        WordList.words.firstIndex { word in
            guard word.count == typed.count else { return false }
            for offset in word.indices where word[offset] != typed[offset] | 0x20 { return false }
            return true
        }
    }
}

/// A generated password: ten random words, 110 bits.
package enum GeneratedPassword {
    /// Ten words in lower case, one blank between two.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package static func make() throws(TresorError) -> SecretBytes {
        let kit = try RecoveryKit()
        let words = try kit.words()
        let span = words.span
        var blanks = 0
        var count = 0
        while count < span.count, blanks < 10 {
            if span[count] == 0x20 { blanks += 1 }
            count += 1
        }
        return try SecretBytes(copying: span.extracting(first: blanks == 10 ? count - 1 : count))
    }
}
