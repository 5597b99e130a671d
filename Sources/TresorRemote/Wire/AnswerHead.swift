// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The head of an answer in HTTP/1.1, read strictly: what a service of this release writes, and what a proxy may add.
///
/// The length of the body stands in one `Content-Length`. There is no chunked body, no folded line, no bare line feed
/// and no interim answer, so that no two readers can differ about where an answer ends.
package struct AnswerHead: Hashable, Sendable {
    /// The maximum size of a head in bytes, with the empty line: 16 KiB.
    package static let maximumByteCount = 16 << 10
    /// The maximum number of headers, and the maximum size of one line in bytes.
    static let maximumHeaderCount = 32
    static let maximumLineByteCount = 4 << 10

    /// 200 to 599.
    package let status: Int
    /// The size of the body in bytes; `nil` where the head has none.
    package let length: Int?
    /// The header `Content-Type`; `nil` for none.
    package let type: String?
    /// The header `Date`, in seconds since 1970; `nil` for none, and for another form.
    package let date: UInt64?
    /// The header `Retry-After` in seconds; `nil` for none, and for another form.
    package let retryAfter: UInt32?
    /// Whether the other side closes the connection after this answer.
    package let isLast: Bool

    /// Reads a whole head, with the empty line at its end. Takes any bytes.
    ///
    /// - Parameter isOfProxy: whether it answers a CONNECT: many proxies do so in HTTP/1.0.
    /// - Throws: ``TresorError/altered``.
    package init(_ bytes: [UInt8], isOfProxy: Bool = false) throws(TresorError) {
        var lines = try Self.lines(of: bytes)[...]
        guard let first = lines.popFirst(), lines.count <= Self.maximumHeaderCount else { throw .altered }
        status = try Self.status(first, isOfProxy)
        var headers = Headers()
        for line in lines { try headers.read(line) }
        (type, length, isLast) = (headers.type, headers.length, headers.isLast)
        date = headers.date.flatMap { HTTPDate.seconds($0) }
        retryAfter = headers.retryAfter.flatMap { Self.number($0) }.flatMap { UInt32(exactly: $0) }
    }

    /// Finds the end of a head: the offset after the first empty line; `nil` if there is none yet.
    ///
    /// - Parameter start: an offset before which there is no end.
    package static func end(in bytes: [UInt8], from start: Int = 0) -> Int? {
        var index = max(start, 0)
        while index + 4 <= bytes.count {
            if bytes[index] == carriageReturn, bytes[index + 1] == lineFeed, bytes[index + 2] == carriageReturn,
                bytes[index + 3] == lineFeed
            {
                return index + 4
            }
            index += 1
        }
        return nil
    }

    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineFeed = UInt8(ascii: "\n")

    /// The lines before the empty one. Each ends with CR LF, and neither is elsewhere.
    private static func lines(of bytes: [UInt8]) throws(TresorError) -> [ArraySlice<UInt8>] {
        guard bytes.count <= maximumByteCount, end(in: bytes) == bytes.count else { throw .altered }
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        while start < bytes.count - 2 {
            guard let end = bytes[start...].firstIndex(of: carriageReturn), bytes[end + 1] == lineFeed,
                end - start <= maximumLineByteCount, isText(bytes[start..<end])
            else { throw .altered }
            lines.append(bytes[start..<end])
            start = end + 2
        }
        return lines
    }

    /// Visible ASCII characters, blanks and tabs alone.
    private static func isText(_ line: ArraySlice<UInt8>) -> Bool {
        line.allSatisfy { (0x20...0x7e).contains($0) || $0 == 0x09 }
    }

    /// `HTTP/1.1`, a blank, three digits, and perhaps a blank and words. An interim answer (1xx) is refused.
    private static func status(_ line: ArraySlice<UInt8>, _ isOfProxy: Bool) throws(TresorError) -> Int {
        let version = isOfProxy && line.starts(with: "HTTP/1.0 ".utf8) ? "HTTP/1.0 ".utf8 : "HTTP/1.1 ".utf8
        let rest = line.dropFirst(version.count)
        guard line.starts(with: version), let status = number(rest.prefix(3)), (200...599).contains(status),
            rest.count == 3 || rest[rest.startIndex + 3] == UInt8(ascii: " ")
        else { throw .altered }
        return status
    }

    /// Decimal digits in their one form: no sign, no leading zero, at most ten of them.
    fileprivate static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard (1...10).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0") else {
            return nil
        }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value
    }
}

/// The headers that a client reads. None of them stands twice.
private struct Headers {
    var length: Int?
    var type: String?
    var date: ArraySlice<UInt8>?
    var retryAfter: ArraySlice<UInt8>?
    var isLast = false
    private var names: Set<String> = []

    private static let single: Set = ["content-length", "content-type", "date", "retry-after", "connection"]
    /// The headers that would make the bytes of the body something else than the body.
    private static let refused: Set = ["transfer-encoding", "content-encoding", "trailer", "upgrade"]

    /// Reads `NAME: VALUE`.
    mutating func read(_ line: ArraySlice<UInt8>) throws(TresorError) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(Self.isNameCharacter)
        else { throw .altered }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        guard !Self.refused.contains(name), !Self.single.contains(name) || names.insert(name).inserted else {
            throw .altered
        }
        try take(name, Self.trimmed(line[(colon + 1)...]))
    }

    private mutating func take(_ name: String, _ value: ArraySlice<UInt8>) throws(TresorError) {
        switch name {
        case "content-length":
            guard let number = AnswerHead.number(value) else { throw .altered }
            length = number
        case "content-type": type = String(decoding: value, as: UTF8.self).lowercased()
        case "date": date = value
        case "retry-after": retryAfter = value
        case "connection": isLast = String(decoding: value, as: UTF8.self).lowercased() != "keep-alive"
        default: break
        }
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        var value = value.drop(while: isBlank)
        while let last = value.last, isBlank(last) { value.removeLast() }
        return value
    }

    /// The characters of a token (RFC 9110 §5.6.2).
    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
