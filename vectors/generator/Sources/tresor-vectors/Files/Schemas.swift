// SPDX-License-Identifier: Apache-2.0

/// The JSON Schema 2020-12 of each file: the envelope, its operations, and the names of their inputs and outputs.
enum Schemas {
    private static let hex: JSONText = .object([("type", .string("string")), ("pattern", .string("^([0-9a-f]{2})*$"))])
    private static let text: JSONText = .object([("type", .string("string"))])
    private static let number: JSONText = .object([("type", .string("integer")), ("minimum", .number(0))])

    private static func list(_ items: JSONText) -> JSONText { .object([("type", .string("array")), ("items", items)]) }

    private static func closed(_ properties: [(String, JSONText)], required: [String]) -> JSONText {
        .object([
            ("type", .string("object")), ("additionalProperties", .bool(false)),
            ("required", .array(required.map { .string($0) })),
            ("properties", .object(properties)),
        ])
    }

    private static func values(_ values: [Values]) -> JSONText {
        var seen: [String: Bool] = [:]
        for (name, datum) in values.flatMap(\.pairs) {
            if case .list = datum { seen[name] = true } else { seen[name] = false }
        }
        return closed(seen.sorted { $0.key < $1.key }.map { ($0.key, $0.value ? list(hex) : hex) }, required: [])
    }

    static func schema(of file: VectorFile) -> JSONText {
        let groups = Dictionary(grouping: file.groups, by: \.operation).sorted { $0.key < $1.key }.map {
            operation, groups in
            let tests = groups.flatMap(\.tests)
            let test = closed(
                [
                    ("id", number), ("comment", text),
                    ("flags", list(.object([("enum", .array(Flag.all.keys.sorted().map { .string($0) }))]))),
                    ("base", number),
                    (
                        "rule",
                        .object([("type", .string("string")), ("pattern", .string("^R([1-9]|[1-4][0-9])$"))])
                    ),
                    ("in", values(tests.map(\.input))), ("mid", values(tests.map(\.middle))),
                    ("out", values(tests.map(\.output))),
                    ("result", .object([("enum", .array([.string("valid"), .string("invalid")]))])), ("error", text),
                ], required: ["id", "comment", "flags", "in", "result"])
            return closed(
                [
                    ("suite", .object([("const", .number(1))])),
                    ("operation", .object([("const", .string(operation))])),
                    ("tests", list(test)),
                ], required: ["suite", "operation", "tests"])
        }
        let envelope = closed(
            [
                ("file", .object([("const", .string(file.name))])), ("version", .object([("const", .number(1))])),
                ("spec", text), ("schema", text),
                ("numberOfTests", number), ("notes", .object([("type", .string("object"))])),
                ("groups", list(.object([("oneOf", .array(groups))]))),
            ], required: ["file", "version", "spec", "schema", "numberOfTests", "notes", "groups"])
        return withHead(envelope)
    }

    private static func withHead(_ schema: JSONText) -> JSONText {
        guard case .object(let members) = schema else { return schema }
        return .object([("$schema", .string("https://json-schema.org/draft/2020-12/schema"))] + members)
    }

    static var scenario: JSONText {
        let step: [(String, JSONText)] = [
            (
                "do",
                .object([("enum", .array(["append", "show", "wrap", "open", "identity", "pin"].map { .string($0) }))])
            ), ("comment", text), ("flags", list(text)),
            ("entry", hex), ("wraps", list(.object([("type", .string("object"))]))), ("removes", list(hex)),
            ("log", list(hex)), ("user", hex), ("epoch", hex),
            ("wrap", hex), ("by", text), ("file", hex), ("current author", .object([("type", .string("boolean"))])),
            ("name", text), ("chain", hex), ("S", hex),
            ("previous", list(hex)), ("identity file", hex), ("expect", .object([("type", .string("object"))])),
            ("views", .object([("type", .string("object"))])),
        ]
        let person = closed(
            [
                ("name", text), ("chain", hex), ("S", hex), ("previous", list(hex)), ("identity file", hex),
                ("pins", hex),
            ],
            required: ["name", "chain", "S", "previous", "identity file", "pins"])
        return withHead(
            closed(
                [
                    ("file", text), ("version", .object([("const", .number(1))])), ("spec", text), ("schema", text),
                    ("numberOfTests", number),
                    ("purpose", text), ("tresor", hex), ("people", list(person)),
                    ("steps", list(closed(step, required: ["do", "comment", "views"]))),
                ],
                required: [
                    "file", "version", "spec", "schema", "numberOfTests", "purpose", "tresor", "people", "steps",
                ]))
    }
}
