// SPDX-License-Identifier: Apache-2.0

import Foundation

/// As much of JSON Schema as docs/json uses: type, const, enum, pattern, minimum, properties, required, items, oneOf.
/// Members that a schema does not name are refused: a program reading them may ignore more, the one that writes them
/// may not.
struct JSONSchema {
    private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../docs/json").standardized

    /// The names of the object types that have a schema.
    static func types() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .compactMap { $0.hasSuffix(".schema.json") ? String($0.dropLast(12)) : nil }.sorted()
    }

    /// - Throws: what is wrong with an object that the command printed, by the schema of its type.
    static func check(_ value: Any) throws {
        guard let object = value as? [String: Any], let type = object["type"] as? String else {
            throw ScriptFailure("an object has no type")
        }
        let file = directory.appendingPathComponent("\(type).schema.json")
        guard let schema = try? JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] else {
            throw ScriptFailure("docs/json has no schema for \(type)")
        }
        if let problem = problem(value, schema, at: type) { throw ScriptFailure(problem) }
    }

    /// The fault with its place; `nil` for none.
    static func problem(_ value: Any, _ schema: [String: Any], at place: String) -> String? {
        if let type = schema["type"] as? String, !isOf(type, value) { return "\(place): not \(type)" }
        if let constant = schema["const"], !isEqual(constant, value) { return "\(place): not \(constant)" }
        if let values = schema["enum"] as? [Any], !values.contains(where: { isEqual($0, value) }) {
            return "\(place): none of \(values)"
        }
        if let minimum = schema["minimum"] as? NSNumber, let number = value as? NSNumber,
            number.compare(minimum) == .orderedAscending
        {
            return "\(place): less than \(minimum)"
        }
        if let pattern = schema["pattern"] as? String, let text = value as? String,
            text.range(of: pattern, options: .regularExpression) == nil
        {
            return "\(place): does not match \(pattern)"
        }
        if let choices = schema["oneOf"] as? [[String: Any]] {
            let fitting = choices.filter { problem(value, $0, at: place) == nil }
            guard fitting.count == 1 else { return "\(place): fits \(fitting.count) of the forms" }
        }
        if let items = schema["items"] as? [String: Any], let array = value as? [Any] {
            for (index, element) in array.enumerated() {
                if let problem = problem(element, items, at: "\(place).\(index)") { return problem }
            }
        }
        guard let object = value as? [String: Any] else { return nil }
        return problem(inMembersOf: object, schema, at: place)
    }

    private static func problem(
        inMembersOf object: [String: Any], _ schema: [String: Any], at place: String
    ) -> String? {
        let properties = schema["properties"] as? [String: [String: Any]] ?? [:]
        for name in schema["required"] as? [String] ?? [] where object[name] == nil {
            return "\(place): \(name) is missing"
        }
        for (name, member) in object.sorted(by: { $0.key < $1.key }) {
            if let schema = properties[name] {
                if let problem = problem(member, schema, at: "\(place).\(name)") { return problem }
            } else if schema["oneOf"] == nil {
                return "\(place): \(name) is not in the schema"
            }
        }
        return nil
    }

    private static func isOf(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "boolean": isBoolean(value)
        case "integer":
            !isBoolean(value) && (value as? NSNumber).map { $0.doubleValue == $0.doubleValue.rounded() } ?? false
        default: false
        }
    }

    /// Foundation reads `true` and `1` into one class; only the encoding tells them apart.
    private static func isBoolean(_ value: Any) -> Bool {
        guard let number = value as? NSNumber else { return false }
        return ["c", "B"].contains(String(cString: number.objCType))
    }

    private static func isEqual(_ left: Any, _ right: Any) -> Bool {
        if let left = left as? String, let right = right as? String { return left.utf8.elementsEqual(right.utf8) }
        guard let left = left as? NSNumber, let right = right as? NSNumber else { return false }
        return left == right
    }
}
