// SPDX-License-Identifier: Apache-2.0

/// A JSON value of a vector file. Fractions and exponents do not occur and are refused.
enum VectorValue: Equatable, Sendable {
    case text(String)
    case number(Int)
    case bool(Bool)
    case null
    case list([VectorValue])
    case members([String: VectorValue])

    subscript(name: String) -> VectorValue? {
        if case .members(let members) = self { members[name] } else { nil }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Int? { if case .number(let number) = self { number } else { nil } }
    var list: [VectorValue]? { if case .list(let list) = self { list } else { nil } }
    var members: [String: VectorValue]? { if case .members(let members) = self { members } else { nil } }
}

/// Reads the JSON of the vectors.
struct JSONReader {
    private let bytes: [UInt8]
    private var index = 0
    private static let depthLimit = 32

    struct Malformed: Error {}

    static func read(_ bytes: [UInt8]) throws(Malformed) -> VectorValue {
        var reader = JSONReader(bytes: bytes)
        let value = try reader.value(depth: 0)
        reader.skipBlanks()
        guard reader.index == bytes.count else { throw Malformed() }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func skipBlanks() {
        while index < bytes.count, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[index]) { index += 1 }
    }

    private mutating func next() throws(Malformed) -> UInt8 {
        skipBlanks()
        guard index < bytes.count else { throw Malformed() }
        return bytes[index]
    }

    private mutating func take(_ expected: String) throws(Malformed) {
        let expected = Array(expected.utf8)
        guard bytes[index...].starts(with: expected) else { throw Malformed() }
        index += expected.count
    }

    private mutating func value(depth: Int) throws(Malformed) -> VectorValue {
        guard depth < Self.depthLimit else { throw Malformed() }
        switch try next() {
        case UInt8(ascii: "\""): return .text(try text())
        case UInt8(ascii: "{"): return .members(try members(depth: depth))
        case UInt8(ascii: "["): return .list(try list(depth: depth))
        case UInt8(ascii: "t"):
            try take("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try take("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try take("null")
            return .null
        default: return .number(try number())
        }
    }

    private mutating func number() throws(Malformed) -> Int {
        let start = index
        if bytes[index] == UInt8(ascii: "-") { index += 1 }
        while index < bytes.count, (0x30...0x39).contains(bytes[index]) { index += 1 }
        guard let number = Int(String(decoding: bytes[start..<index], as: UTF8.self)) else { throw Malformed() }
        return number
    }

    private mutating func text() throws(Malformed) -> String {
        index += 1
        var text: [UInt8] = []
        while true {
            guard index < bytes.count else { throw Malformed() }
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: text, as: UTF8.self) else { throw Malformed() }
                return text
            case UInt8(ascii: "\\"):
                guard index < bytes.count else { throw Malformed() }
                switch bytes[index] {
                case UInt8(ascii: "n"): text.append(0x0a)
                case UInt8(ascii: "r"): text.append(0x0d)
                case UInt8(ascii: "t"): text.append(0x09)
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(bytes[index])
                case UInt8(ascii: "u"):
                    text += try codePoint()
                default: throw Malformed()
                }
                index += 1
            default: text.append(byte)
            }
        }
    }

    /// Four digits after `\u`; surrogate pairs do not occur.
    private mutating func codePoint() throws(Malformed) -> [UInt8] {
        guard index + 4 < bytes.count,
            let value = UInt32(String(decoding: bytes[(index + 1)...(index + 4)], as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(value)
        else { throw Malformed() }
        index += 4
        return Array(String(Character(scalar)).utf8)
    }

    private mutating func list(depth: Int) throws(Malformed) -> [VectorValue] {
        index += 1
        var list: [VectorValue] = []
        if try next() == UInt8(ascii: "]") {
            index += 1
            return list
        }
        while true {
            list.append(try value(depth: depth + 1))
            let separator = try next()
            index += 1
            if separator == UInt8(ascii: "]") { return list }
            guard separator == UInt8(ascii: ",") else { throw Malformed() }
        }
    }

    private mutating func members(depth: Int) throws(Malformed) -> [String: VectorValue] {
        index += 1
        var members: [String: VectorValue] = [:]
        if try next() == UInt8(ascii: "}") {
            index += 1
            return members
        }
        while true {
            guard try next() == UInt8(ascii: "\"") else { throw Malformed() }
            let name = try text()
            guard try next() == UInt8(ascii: ":"), members[name] == nil else { throw Malformed() }
            index += 1
            members[name] = try value(depth: depth + 1)
            let separator = try next()
            index += 1
            if separator == UInt8(ascii: "}") { return members }
            guard separator == UInt8(ascii: ",") else { throw Malformed() }
        }
    }
}
