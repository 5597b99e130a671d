// SPDX-License-Identifier: Apache-2.0

import Testing
import Tresor

@testable import TresorCommand

@Suite("Which output belongs to which input")
struct OutputPlanTests {
    private func plan(
        _ inputs: [String], output: String? = nil, directory: String? = nil, json: Bool = false
    ) -> [OutputPlan.Step]? {
        try? OutputPlan(inputs: inputs, output: output, directory: directory, json: json) { $0 + ".tresor" }.steps
    }

    @Test("One input or none goes to standard output, unless -o says otherwise")
    func one() {
        #expect(plan([]) == [.init(input: nil, target: .standardOutput(isForced: false))])
        #expect(plan(["-"]) == [.init(input: nil, target: .standardOutput(isForced: false))])
        #expect(plan(["a"]) == [.init(input: "a", target: .standardOutput(isForced: false))])
        #expect(plan(["a"], output: "-") == [.init(input: "a", target: .standardOutput(isForced: true))])
        #expect(plan(["a"], output: "b") == [.init(input: "a", target: .file("b"))])
    }

    @Test("Several inputs make outputs beside each, or in -C")
    func several() {
        #expect(
            plan(["d/a", "b"])
                == [.init(input: "d/a", target: .file("d/a.tresor")), .init(input: "b", target: .file("./b.tresor"))])
        #expect(plan(["d/a"], directory: "out/") == [.init(input: "d/a", target: .file("out/a.tresor"))])
    }

    @Test("A slash is one whatever mark stands behind it")
    func marks() {
        let name = "\u{301}a"
        #expect(
            plan(["d/\(name)"], directory: "out") == [.init(input: "d/\(name)", target: .file("out/\(name).tresor"))])
        let beside = plan(["d/\(name)", "b"])?.first
        #expect(beside == .init(input: "d/\(name)", target: .file("d/\(name).tresor")))
    }

    @Test("What is contradictory, nameless or ambiguous is refused")
    func refused() {
        #expect(plan(["a"], output: "b", directory: "c") == nil)
        #expect(plan(["a", "b"], output: "c") == nil)
        #expect(plan(["a", "-"]) == nil)
        #expect(plan(["-", "-"]) == nil)
        #expect(plan([], directory: "out") == nil)
        #expect(plan(["x/a", "y/a"], directory: "out") == nil)
        #expect(plan(["a", "a"]) == nil)
        #expect(plan([""]) == nil)
        #expect(plan(["a"], json: true) == nil)
        #expect(plan(["a"], output: "-", json: true) == nil)
        #expect(plan(["a"], output: "b", json: true) != nil)
    }

    @Test("An output never leaves its directory", arguments: ["..", ".", "", "a/b", "a/\u{301}b"])
    func escape(_ name: String) {
        let plan = try? OutputPlan(inputs: ["x", "y"], output: nil, directory: "out") { _ in name }
        #expect(plan == nil)
    }
}
