// SPDX-License-Identifier: Apache-2.0

import TresorCore
package import TresorCrypto

/// The head of an answer in HTTP/1, read strictly: what a service of this release writes, and what a proxy may write or
/// add.
///
/// There is no folded line and no bare line feed. ``obstacle`` says whether the answer is that of a service: then the
/// length of its body stands in one `Content-Length`, so that no two readers can differ about where it ends.
package struct AnswerHead: Hashable, Sendable {
    /// 100 to 599.
    package let status: Int
    /// Whether the version is 1.1.
    let isCurrent: Bool
    /// The size of the body in bytes; `nil` where the head has none.
    package let length: Int?
    /// The header `Content-Type`; `nil` for none.
    package let type: String?
    /// The header `Location`; `nil` for none.
    let location: String?
    /// The change that the bytes of the body are instead of the body; `nil` for the body.
    let change: Obstacle.Alteration?
    /// The header `Date`, in seconds since 1970; `nil` for none, and for another form.
    package let date: UInt64?
    /// The header `Retry-After` in seconds; `nil` for none, and for another form.
    package let retryAfter: UInt32?
    /// Whether the other side closes the connection after this answer.
    package let isLast: Bool

    /// Reads a whole head, with the empty line at its end. Takes any bytes.
    ///
    /// - Throws: ``TresorError/altered``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var lines = try Self.lines(of: bytes)[...]
        guard let first = lines.popFirst() else { throw .altered }
        (status, isCurrent) = try Self.status(first)
        var headers = Headers()
        for line in lines { try headers.read(line) }
        (type, length, isLast) = (headers.type, headers.length, headers.isLast)
        (location, change) = (headers.location, headers.change)
        date = headers.date.flatMap { HTTPDate.seconds($0) }
        retryAfter = headers.retryAfter.flatMap { Self.number($0) }.flatMap { UInt32(exactly: $0) }
    }

    /// Whether another answer follows, which is the one that counts.
    var isInterim: Bool { (100...199).contains(status) && status != 101 }

    /// The obstacle for an answer that is not that of a service; `nil` for that of a service.
    package var obstacle: Obstacle? {
        guard type == WireForm.mediaType else {
            switch status {
            case 502...504: return .away(status: status)
            case 300...399: return .redirect(to: location ?? "")
            default: return .page(status: status)
            }
        }
        guard isCurrent else { return .changed(.older) }
        return change.map { .changed($0) } ?? (length == nil ? .changed(.withoutLength) : nil)
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
        guard bytes.count <= WireForm.maximumAnswerHeadByteCount, end(in: bytes) == bytes.count else { throw .altered }
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        while start < bytes.count - 2 {
            guard let end = bytes[start...].firstIndex(of: carriageReturn), bytes[end + 1] == lineFeed,
                isText(bytes[start..<end])
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

    /// `HTTP/1.1` or `HTTP/1.0`, a blank, three digits, and perhaps a blank and words.
    private static func status(_ line: ArraySlice<UInt8>) throws(TresorError) -> (Int, isCurrent: Bool) {
        let isCurrent = line.starts(with: "HTTP/1.1 ".utf8)
        let rest = line.dropFirst("HTTP/1.1 ".utf8.count)
        guard isCurrent || line.starts(with: "HTTP/1.0 ".utf8), let status = number(rest.prefix(3)),
            (100...599).contains(status), rest.count == 3 || rest[rest.startIndex + 3] == UInt8(ascii: " ")
        else { throw .altered }
        return (status, isCurrent)
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
    var location: String?
    var change: Obstacle.Alteration?
    var date: ArraySlice<UInt8>?
    var retryAfter: ArraySlice<UInt8>?
    var isLast = false
    private var names: Set<String> = []

    private static let single: Set = [
        "content-length", "content-type", "date", "retry-after", "connection", "location", "content-encoding",
    ]

    /// Reads `NAME: VALUE`.
    mutating func read(_ line: ArraySlice<UInt8>) throws(TresorError) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(Self.isNameCharacter)
        else { throw .altered }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        guard !Self.single.contains(name) || names.insert(name).inserted else { throw .altered }
        try take(name, Self.trimmed(line[(colon + 1)...]))
    }

    private mutating func take(_ name: String, _ value: ArraySlice<UInt8>) throws(TresorError) {
        switch name {
        case "content-length":
            guard let number = AnswerHead.number(value) else { throw .altered }
            length = number
        case "content-type": type = String(decoding: value, as: UTF8.self).lowercased()
        case "location": location = String(decoding: value, as: UTF8.self)
        case "transfer-encoding": change = .chunked
        case "content-encoding": change = change ?? .compressed
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
