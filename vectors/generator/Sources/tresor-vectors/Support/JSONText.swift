// SPDX-License-Identifier: Apache-2.0

/// JSON with its keys in the given order, so that files change only with their content.
enum JSONText {
    case string(String)
    case number(Int)
    case bool(Bool)
    case array([JSONText])
    case object([(String, JSONText)])

    static func hex(_ bytes: Bytes) -> JSONText { .string(hexText(bytes)) }

    func text(indent: Int = 0) -> String {
        let pad = String(repeating: "  ", count: indent + 1)
        let end = String(repeating: "  ", count: indent)
        switch self {
        case .string(let text): return Self.quoted(text)
        case .number(let number): return String(number)
        case .bool(let value): return value ? "true" : "false"
        case .array(let values) where values.isEmpty: return "[]"
        case .array(let values):
            if values.allSatisfy(\.isShort) { return "[" + values.map { $0.text() }.joined(separator: ", ") + "]" }
            return "[\n" + values.map { pad + $0.text(indent: indent + 1) }.joined(separator: ",\n") + "\n\(end)]"
        case .object(let members) where members.isEmpty: return "{}"
        case .object(let members):
            let lines = members.map { "\(pad)\(Self.quoted($0.0)): \($0.1.text(indent: indent + 1))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(end)}"
        }
    }

    private var isShort: Bool {
        switch self {
        case .string(let text): text.utf8.count < 40
        case .number, .bool: true
        case .array, .object: false
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

func hexText(_ bytes: Bytes) -> String {
    let digits = Bytes("0123456789abcdef".utf8)
    return String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
        for (index, byte) in bytes.enumerated() {
            buffer[2 * index] = digits[Int(byte >> 4)]
            buffer[2 * index + 1] = digits[Int(byte & 15)]
        }
        return bytes.count * 2
    }
}
