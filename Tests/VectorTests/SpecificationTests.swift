// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor

/// The worked example of SPEC.md is that of the vectors.
@Suite struct SpecificationTests {
    @Test func appendixEqualsVectors() throws {
        let lines = try Repository.text("SPEC.md").split(separator: "\n", omittingEmptySubsequences: false).map(
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
    @Test(arguments: Repository.files) func schemasHold(_ name: String) throws {
        let schema = try Repository.json("schema/\(name).schema.json")
        try check(try Repository.json("\(name).json"), schema, name)
    }

    private func check(_ value: Any, _ schema: [String: Any], _ place: String) throws {
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
