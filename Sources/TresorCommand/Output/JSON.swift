// SPDX-License-Identifier: Apache-2.0

/// A value of the JSON that the command prints. It is never read back, and no secret and no content goes in.
enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case string(String)
    case array([JSON])
    case object(JSONObject)

    /// Bytes that should be UTF-8; invalid ones become U+FFFD.
    static func text(_ bytes: [UInt8]) -> JSON {
        .string(String(decoding: bytes, as: UTF8.self))
    }

    /// Seconds since 1970 as RFC 3339.
    static func time(_ seconds: UInt64) -> JSON {
        .string(Timestamp(seconds: seconds).rfc3339)
    }

    fileprivate func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        case .string(let value): Self.write(value, to: &text)
        case .object(let value): value.write(to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        }
    }

    /// Escapes what JSON demands, and whatever ``DisplayText`` holds unsafe, so that the line is as harmless in a
    /// terminal.
    fileprivate static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar == "\u{fffd}" || DisplayText.isUnsafe(scalar):
                for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                    text += "\\u" + DisplayText.hexadecimal(UInt32(unit), digits: 4)
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
}

/// An object whose fields are printed in the order they were given.
struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    struct Field: Sendable, Equatable {
        let name: String
        var value: JSON
    }

    private(set) var fields: [Field] = []

    init(dictionaryLiteral elements: (String, JSON)...) {
        for (name, value) in elements { self[name] = value }
    }

    /// Setting a field again replaces it in its place; setting `nil` removes it.
    subscript(name: String) -> JSON? {
        get { fields.first { $0.name == name }?.value }
        set {
            let index = fields.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): fields[index].value = value
            case (let index?, nil): fields.remove(at: index)
            case (nil, let value?): fields.append(Field(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// The object on one line, with its line end.
    var line: String {
        var text = ""
        write(to: &text)
        return text + "\n"
    }

    fileprivate func write(to text: inout String) {
        text += "{"
        for (index, field) in fields.enumerated() {
            if index > 0 { text += "," }
            JSON.write(field.name, to: &text)
            text += ":"
            field.value.write(to: &text)
        }
        text += "}"
    }
}
