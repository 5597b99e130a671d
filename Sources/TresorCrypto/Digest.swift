// SPDX-License-Identifier: Apache-2.0

/// 32 public bytes: a hash, or an identifier made from one. Ordered and compared as bytes.
///
/// A digest is never a secret; secrets are ``SecretBytes``, which do not compare.
public struct Digest: Hashable, Comparable, Sendable {
    /// The size in bytes: 32.
    public static let byteCount = 32

    private let word0: UInt64
    private let word1: UInt64
    private let word2: UInt64
    private let word3: UInt64

    /// Thirty-two zero bytes.
    public static let zero = Digest(0, 0, 0, 0)

    private init(_ word0: UInt64, _ word1: UInt64, _ word2: UInt64, _ word3: UInt64) {
        self.word0 = word0
        self.word1 = word1
        self.word2 = word2
        self.word3 = word3
    }

    /// Takes exactly 32 bytes; `nil` for any other count.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        for (index, byte) in bytes.enumerated() {
            switch index >> 3 {
            case 0: words.0 = words.0 << 8 | UInt64(byte)
            case 1: words.1 = words.1 << 8 | UInt64(byte)
            case 2: words.2 = words.2 << 8 | UInt64(byte)
            default: words.3 = words.3 << 8 | UInt64(byte)
            }
        }
        self.init(words.0, words.1, words.2, words.3)
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(Self.byteCount)
        for word in [word0, word1, word2, word3] {
            for shift in stride(from: 56, through: 0, by: -8) {
                result.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        return result
    }

    fileprivate func differences(from other: Digest) -> UInt64 {
        (word0 ^ other.word0) | (word1 ^ other.word1) | (word2 ^ other.word2) | (word3 ^ other.word3)
    }

    /// Byte order, first byte most significant.
    public static func < (left: Digest, right: Digest) -> Bool {
        (left.word0, left.word1, left.word2, left.word3) < (right.word0, right.word1, right.word2, right.word3)
    }
}

/// Whether two tags are equal, in time that depends on nothing.
package func constantTimeEqual(_ left: Digest, _ right: Digest) -> Bool {
    left.differences(from: right) == 0
}
