// SPDX-License-Identifier: Apache-2.0

/// A value of `in`, `mid` or `out`.
enum Datum {
    case bytes(Bytes)
    case list([Bytes])

    var json: JSONText {
        switch self {
        case .bytes(let bytes): .hex(bytes)
        case .list(let list): .array(list.map { .hex($0) })
        }
    }
}

/// Names and values, in order.
struct Values: ExpressibleByDictionaryLiteral {
    var pairs: [(String, Datum)]

    init(dictionaryLiteral elements: (String, Bytes)...) { pairs = elements.map { ($0.0, .bytes($0.1)) } }
    init(_ pairs: [(String, Datum)]) { self.pairs = pairs }

    func with(_ name: String, _ list: [Bytes]) -> Values { Values(pairs + [(name, .list(list))]) }
    func with(_ name: String, _ bytes: Bytes) -> Values { Values(pairs + [(name, .bytes(bytes))]) }

    var json: JSONText { .object(pairs.map { ($0.0, $0.1.json) }) }
}

struct VectorTest {
    let id: Int
    let comment: String
    let flags: [String]
    var base: Int?
    var rule: Int?
    let input: Values
    var middle = Values([])
    var output = Values([])
    /// `nil` for a valid one.
    var error: String?

    /// Whether the keys it gives are these.
    func out(is keys: Bytes) -> Bool {
        output.pairs.contains { name, datum in
            if case .bytes(let bytes) = datum { name == "keys" && bytes == keys } else { false }
        }
    }

    var json: JSONText {
        var members: [(String, JSONText)] = [
            ("id", .number(id)), ("comment", .string(comment)), ("flags", .array(flags.map { .string($0) })),
        ]
        if let base { members.append(("base", .number(base))) }
        if let rule { members.append(("rule", .string("R\(rule)"))) }
        members.append(("in", input.json))
        if !middle.pairs.isEmpty { members.append(("mid", middle.json)) }
        if error == nil { members.append(("out", output.json)) }
        members.append(("result", .string(error == nil ? "valid" : "invalid")))
        if let error { members.append(("error", .string(error))) }
        return .object(members)
    }
}

/// One file of vectors. Operations are those of SPEC; ids count through the file.
final class VectorFile {
    let name: String
    let section: String
    let purpose: String
    private(set) var groups: [(operation: String, tests: [VectorTest])] = []
    private(set) var notes: [(flag: String, goal: String, description: String)] = []
    private var next = 1

    init(_ name: String, section: String, purpose: String) {
        self.name = name
        self.section = section
        self.purpose = purpose
    }

    var tests: [VectorTest] { groups.flatMap(\.tests) }
    var negativeCount: Int { tests.count { $0.error != nil } }

    func draw(_ id: Int? = nil) -> Draw { Draw(file: name, id: id ?? next) }

    /// Starts or continues the tests of one operation.
    func group(_ operation: String) {
        if groups.last?.operation != operation { groups.append((operation, [])) }
    }

    @discardableResult func valid(
        _ comment: String, _ flags: [String] = ["Normal"], base: Int? = nil, rule: Int? = nil, in input: Values,
        mid: Values = [:], out: Values
    ) -> Int {
        add(
            VectorTest(
                id: next, comment: comment, flags: flags, base: base, rule: rule, input: input, middle: mid,
                output: out))
    }

    /// A negative: it has what its base has, but for what `input` gives.
    @discardableResult func invalid(
        _ comment: String, _ flag: String, _ error: String, base: Int? = nil, rule: Int? = nil, in input: Values,
        mid: Values = [:]
    ) -> Int {
        add(
            VectorTest(
                id: next, comment: comment, flags: [flag], base: base, rule: rule, input: input, middle: mid,
                error: error))
    }

    private func add(_ test: VectorTest) -> Int {
        groups[groups.count - 1].tests.append(test)
        next += 1
        return test.id
    }

    func note(_ flags: [String: (String, String)]) {
        for (flag, note) in flags.sorted(by: { $0.key < $1.key }) { notes.append((flag, note.0, note.1)) }
    }

    var json: JSONText {
        let used = Set(tests.flatMap(\.flags))
        return .object([
            ("file", .string(name)), ("version", .number(1)), ("spec", .string(section)),
            ("schema", .string("schema/\(name).schema.json")), ("numberOfTests", .number(tests.count)),
            (
                "notes",
                .object(
                    used.sorted().map { flag in
                        let note = Flag.all[flag]
                        return (
                            flag,
                            .object([
                                ("goal", .string(note?.goal ?? "?")),
                                ("description", .string(note?.description ?? "?")),
                            ])
                        )
                    })
            ),
            (
                "groups",
                .array(
                    groups.map { group in
                        .object([
                            ("suite", .number(1)), ("operation", .string(group.operation)),
                            ("tests", .array(group.tests.map(\.json))),
                        ])
                    })
            ),
        ])
    }
}

/// Adds the tests of one subject to a file.
protocol TestWriter {
    var file: VectorFile { get }
}

extension TestWriter {
    func draw(_ id: Int? = nil) -> Draw { file.draw(id) }

    func group(_ operation: String) { file.group(operation) }

    @discardableResult func valid(
        _ comment: String, _ flags: [String] = ["Normal"], in input: Values, mid: Values = [:], out: Values
    ) -> Int {
        file.valid(comment, flags, in: input, mid: mid, out: out)
    }

    @discardableResult func invalid(
        _ comment: String, _ flag: String, _ error: String, base: Int? = nil, rule: Int? = nil, in input: Values,
        mid: Values = [:]
    ) -> Int {
        file.invalid(comment, flag, error, base: base, rule: rule, in: input, mid: mid)
    }
}

extension Values {
    func replacing(_ name: String, _ bytes: Bytes) -> Values {
        Values(pairs.filter { $0.0 != name } + [(name, .bytes(bytes))])
    }

    func replacing(_ name: String, _ list: [Bytes]) -> Values {
        Values(pairs.filter { $0.0 != name } + [(name, .list(list))])
    }
}
