// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The named values of a test's `in` or `out`.
struct VectorFields: Equatable, Sendable {
    private var values: [String: VectorValue]

    init(_ values: [String: VectorValue] = [:]) { self.values = values }

    init(_ pairs: KeyValuePairs<String, [UInt8]>) {
        values = Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, VectorValue.text(Hex.text($0.value))) })
    }

    var names: [String] { values.keys.sorted() }

    func with(_ name: String, _ list: [[UInt8]]) -> VectorFields {
        var fields = self
        fields.values[name] = .list(list.map { .text(Hex.text($0)) })
        return fields
    }

    func with(_ name: String, _ bytes: [UInt8]) -> VectorFields {
        var fields = self
        fields.values[name] = .text(Hex.text(bytes))
        return fields
    }

    func inheriting(_ base: VectorFields) -> VectorFields {
        VectorFields(base.values.merging(values) { _, own in own })
    }

    /// Required bytes.
    func bytes(_ name: String) throws(VectorProblem) -> [UInt8] {
        guard let bytes = try optional(name) else { throw VectorProblem("there is no \(name)") }
        return bytes
    }

    /// Optional bytes.
    func optional(_ name: String) throws(VectorProblem) -> [UInt8]? {
        guard let value = values[name] else { return nil }
        guard let bytes = value.text.flatMap(Hex.bytes) else { throw VectorProblem("\(name) is not hexadecimal") }
        return bytes
    }

    func list(_ name: String) throws(VectorProblem) -> [[UInt8]] {
        guard let items = values[name]?.list else { throw VectorProblem("there is no list \(name)") }
        var list: [[UInt8]] = []
        for item in items {
            guard let bytes = item.text.flatMap(Hex.bytes) else { throw VectorProblem("\(name) is not hexadecimal") }
            list.append(bytes)
        }
        return list
    }

    func integer(_ name: String) throws(VectorProblem) -> UInt64 {
        try bytes(name).reduce(0) { $0 << 8 | UInt64($1) }
    }

    func digest(_ name: String) throws(VectorProblem) -> Hash256 {
        guard let digest = Hash256(try bytes(name)) else { throw VectorProblem("\(name) has not 32 bytes") }
        return digest
    }

    func tresor() throws(VectorProblem) -> TresorID { TresorID(try digest("tresor")) }

    /// Secret bytes; in a vector they are public.
    func secret(_ name: String) throws -> SecretBytes {
        let bytes = try bytes(name)
        return try SecretBytes(copying: bytes.span)
    }

    /// The first name with a different value.
    func difference(from other: VectorFields) -> String? {
        Set(values.keys).union(other.values.keys).sorted().first { values[$0] != other.values[$0] }
    }
}

/// A vector that cannot be run.
struct VectorProblem: Error {
    /// The fault, for a person.
    let text: String

    init(_ text: String) { self.text = text }
}

/// One test of a vector file, with the values of its base.
struct VectorCase: Sendable {
    let id: Int
    let operation: String
    let input: VectorFields
    let output: VectorFields
    /// `nil` for a valid one.
    let error: String?

    /// Runs the test; returns the fault, or `nil` if it passes.
    func run() async -> String? {
        do {
            let found = try await Operation.run(operation, input)
            guard error == nil else { return "test \(id) was accepted" }
            return found.difference(from: output).map { "test \(id) gives another \($0)" }
        } catch let thrown as TresorError {
            guard let error else { return "test \(id) was refused with \(thrown.name)" }
            return thrown.name == error ? nil : "test \(id) was refused with \(thrown.name), not \(error)"
        } catch let problem as VectorProblem {
            return "test \(id): \(problem.text)"
        } catch {
            return "test \(id) failed"
        }
    }
}

/// A vector file.
struct VectorSuite: Sendable {
    let name: String
    let section: String
    let cases: [VectorCase]

    init(_ bytes: [UInt8]) throws(VectorProblem) {
        guard let root = try? JSONReader.read(bytes), let name = root["file"]?.text, let section = root["spec"]?.text,
            let groups = root["groups"]?.list, let count = root["numberOfTests"]?.number
        else { throw VectorProblem("not a vector file") }
        self.name = name
        self.section = section
        var inputs: [Int: VectorFields] = [:]
        var cases: [VectorCase] = []
        for group in groups {
            guard let operation = group["operation"]?.text, let tests = group["tests"]?.list else {
                throw VectorProblem("a group without tests")
            }
            for test in tests { cases.append(try Self.read(test, operation: operation, inputs: &inputs)) }
        }
        guard cases.count == count else { throw VectorProblem("\(name) has not the number of tests it says") }
        self.cases = cases
    }

    private static func read(
        _ test: VectorValue, operation: String, inputs: inout [Int: VectorFields]
    ) throws(VectorProblem) -> VectorCase {
        guard let id = test["id"]?.number, let own = test["in"]?.members, let result = test["result"]?.text else {
            throw VectorProblem("a test without id, in or result")
        }
        var input = VectorFields(own)
        if let base = test["base"]?.number {
            guard let inherited = inputs[base] else { throw VectorProblem("test \(id) has an unknown base") }
            input = input.inheriting(inherited)
        }
        inputs[id] = input
        let error = test["error"]?.text
        guard (result == "valid") == (error == nil) else { throw VectorProblem("test \(id) has no clear result") }
        return VectorCase(
            id: id, operation: operation, input: input, output: VectorFields(test["out"]?.members ?? [:]), error: error)
    }
}
