// SPDX-License-Identifier: Apache-2.0

/// base64url without padding (RFC 4648 §5). Each value has one text.
package enum Base64URL {
    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let values: [UInt8?] = {
        var values = [UInt8?](repeating: nil, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    /// Encodes bytes.
    package static func text(_ bytes: [UInt8]) -> String {
        String(decoding: BitGroups.split(bytes, width: 6).map { digits[Int($0)] }, as: UTF8.self)
    }

    /// Decodes what ``text(_:)`` has encoded; `nil` for any other text.
    package static func bytes(_ characters: some Collection<UInt8>) -> [UInt8]? {
        let groups = characters.compactMap { values[Int($0)] }
        guard groups.count == characters.count else { return nil }
        let (bytes, isWhole) = BitGroups.join(groups, width: 6)
        return isWhole ? bytes : nil
    }
}
