// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tresor

/// The worked example of SPEC is that of the vectors.
@Suite struct SpecificationTests {
    @Test func appendixEqualsVectors() throws {
        let lines = try Specification.text().split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
        var count = 0
        for (index, line) in lines.enumerated() where line == "```hex" {
            let name = lines[index - 2].trimmingCharacters(in: CharacterSet(charactersIn: "`")).split(
                separator: " ", maxSplits: 2)
            let end = try #require(lines[(index + 1)...].firstIndex(of: "```"))
            let found = lines[(index + 1)..<end].joined()
            let id = try #require(Int(name[1]))
            #expect(found == (try value(String(name[0]), id, String(name[2]))), "\(name)")
            count += 1
        }
        #expect(count >= 30)
    }

    private func value(_ file: String, _ id: Int, _ path: String) throws -> String {
        let test = try #require(try Repository.tests(String(file.dropLast(5))).first { $0["id"] as? Int == id })
        var value: Any = test
        for part in path.split(separator: ".").map(String.init) {
            if let list = value as? [Any] {
                value = list[try #require(Int(part))]
            } else {
                value = try #require((value as? [String: Any])?[part])
            }
        }
        return (value as? [String])?.joined() ?? value as? String ?? ""
    }

    @Test func sizesOfTheFrontAreTrue() throws {
        let file = try value("file.json", 1, "in.file")
        #expect(file.utf8.count / 2 == 674)
        #expect(try value("file.json", 1, "in.log.0").utf8.count / 2 == 2367)
        #expect(try value("file.json", 1, "in.log.1").utf8.count / 2 == 1621)
    }

    /// Every test has the members its schema asks for and no others.
    @Test(arguments: Repository.files + ["nightly"]) func schemasHold(_ name: String) throws {
        let schema = try Repository.json("schema/\(name).schema.json")
        try check(try Repository.json("\(name).json"), schema, name)
    }

    @Test(arguments: Repository.scenarios) func scenarioSchemasHold(_ name: String) throws {
        let schema = try Repository.json("schema/scenario.schema.json")
        try check(try Repository.json("scenario/\(name)"), schema, name)
    }

    /// Every schema closes its objects, so that what it does not name is refused.
    @Test func schemasAreClosed() throws {
        for name in Repository.files + ["scenario", "nightly"] {
            let text = try Repository.text("vectors/schema/\(name).schema.json")
            let closed = text.ranges(of: "\"additionalProperties\": false").count
            #expect(closed > 0 && closed == text.ranges(of: "\"properties\":").count, "\(name)")
            #expect(text.contains("https://json-schema.org/draft/2020-12/schema"), "\(name)")
        }
    }

    private static func has(_ value: Any, _ type: String) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "integer": value is Int
        case "boolean": value is Bool
        default: false
        }
    }

    private func check(_ value: Any, _ schema: [String: Any], _ place: String) throws {
        if let type = schema["type"] as? String { #expect(Self.has(value, type), "\(place) is no \(type)") }
        if let options = schema["enum"] as? [String] { #expect(options.contains(value as? String ?? ""), "\(place)") }
        if let constant = schema["const"] { #expect("\(constant)" == "\(value)", "\(place)") }
        if let options = schema["oneOf"] as? [[String: Any]] {
            let operation = (value as? [String: Any])?["operation"] as? String
            let fitting = options.filter { option in
                let properties = option["properties"] as? [String: [String: Any]]
                return properties?["operation"]?["const"] as? String == operation
            }
            #expect(fitting.count == 1, "\(place)")
            for option in fitting { try check(value, option, place) }
        }
        if let object = value as? [String: Any], let properties = schema["properties"] as? [String: [String: Any]] {
            for name in schema["required"] as? [String] ?? [] { #expect(object[name] != nil, "\(place): \(name)") }
            for (name, member) in object {
                let property = try #require(properties[name], "\(place): \(name)")
                try check(member, property, "\(place).\(name)")
            }
        }
        if let list = value as? [Any], let items = schema["items"] as? [String: Any] {
            for item in list { try check(item, items, place) }
        }
        if let pattern = schema["pattern"] as? String, let text = value as? String, text.utf8.count < 10_000 {
            #expect(text.range(of: pattern, options: .regularExpression) != nil, "\(place)")
        }
    }
}
