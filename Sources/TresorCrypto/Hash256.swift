// SPDX-License-Identifier: Apache-2.0

/// 32 public bytes: a hash, or an identifier made from one. Ordered and compared as bytes.
///
/// A hash is never a secret. Secrets are ``SecretBytes``, which do not compare.
public struct Hash256: Hashable, Comparable, Sendable {
    /// The size in bytes: 32.
    package static let byteCount = 32

    private let word0: UInt64
    private let word1: UInt64
    private let word2: UInt64
    private let word3: UInt64

    /// Thirty-two zero bytes.
    package static let zero = Hash256(0, 0, 0, 0)

    /// Takes the bytes as four big-endian integers, without an array: logs and tables hold many hashes.
    package init(_ word0: UInt64, _ word1: UInt64, _ word2: UInt64, _ word3: UInt64) {
        self.word0 = word0
        self.word1 = word1
        self.word2 = word2
        self.word3 = word3
    }

    /// Takes exactly 32 bytes; `nil` for any other count.
    package init?(_ bytes: some Collection<UInt8>) {
        self.init(Array(bytes))
    }

    /// Takes exactly 32 bytes; `nil` for any other count. Not generic, because logs hold many hashes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        func word(_ start: Int) -> UInt64 {
            var word: UInt64 = 0
            for index in start..<(start + 8) { word = word << 8 | UInt64(bytes[index]) }
            return word
        }
        self.init(word(0), word(8), word(16), word(24))
    }

    /// Appends the 32 bytes to `bytes` without allocating an array.
    package func append(to bytes: inout [UInt8]) {
        let words = (word0.bigEndian, word1.bigEndian, word2.bigEndian, word3.bigEndian)
        unsafe withUnsafeBytes(of: words) { unsafe bytes.append(contentsOf: $0) }
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, filled in
            func put(_ word: UInt64, at start: Int) {
                for index in 0..<8 {
                    unsafe buffer[start + index] = UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * index))
                }
            }
            put(word0, at: 0)
            put(word1, at: 8)
            put(word2, at: 16)
            put(word3, at: 24)
            filled = Self.byteCount
        }
    }

    fileprivate func differences(from other: Hash256) -> UInt64 {
        (word0 ^ other.word0) | (word1 ^ other.word1) | (word2 ^ other.word2) | (word3 ^ other.word3)
    }

    /// Byte order, first byte most significant.
    public static func < (left: Hash256, right: Hash256) -> Bool {
        (left.word0, left.word1, left.word2, left.word3) < (right.word0, right.word1, right.word2, right.word3)
    }
}

/// Whether two tags are equal, in constant time.
package func constantTimeEqual(_ left: Hash256, _ right: Hash256) -> Bool {
    left.differences(from: right) == 0
}
