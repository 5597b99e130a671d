// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor

@testable import TresorCommand

@Suite("JSON")
struct JSONTests {
    @Test("Fields keep their order; setting one again keeps its place, nil removes it")
    func order() {
        var object: JSONObject = ["type": "card", "b": 1, "a": true, "c": .null]
        object["b"] = .unsigned(.max)
        object["a"] = nil
        object["d"] = .array([.string("x"), .object(["y": .integer(-1)])])
        #expect(object.line == #"{"type":"card","b":18446744073709551615,"c":null,"d":["x",{"y":-1}]}"# + "\n")
    }

    @Test(
        "A string is escaped as JSON demands, and so that it is harmless in a terminal",
        arguments: [
            ("a\"b\\c/", #""a\"b\\c/""#), ("\n\r\t\u{8}", #""\n\r\t\u0008""#),
            ("\u{1b}\u{7f}\u{9b}", #""\u001b\u007f\u009b""#),
            ("\u{202e}\u{2028}", #""\u202e\u2028""#), ("\u{e0001}", #""\udb40\udc01""#), ("ä名😀", "\"ä名😀\""),
        ])
    func strings(_ text: String, _ encoded: String) throws {
        let line = JSONObject(dictionaryLiteral: ("x", .string(text))).line
        #expect(Array(line.utf8) == Array("{\"x\":\(encoded)}\n".utf8))
        let read = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
        #expect(read?["x"].map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test("Bytes that are not UTF-8 become the escaped replacement character")
    func invalid() {
        #expect(JSONObject(dictionaryLiteral: ("x", .text([0x61, 0xff, 0x62]))).line == #"{"x":"a\ufffdb"}"# + "\n")
    }

    @Test("The page of the help names every type")
    func types() throws {
        let sources = ReadmeSession.root.appending(path: "Sources/TresorCommand")
        let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path(percentEncoded: false))
        var types: Set<Substring> = []
        for file in files where file.hasSuffix(".swift") {
            let code = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
            types.formUnion(code.matches(of: #/"type": "([a-z_]+)"/#).map(\.output.1))
        }
        let page = try String(
            contentsOf: ReadmeSession.root.appending(path: "Tests/CLITests/help/json.txt"), encoding: .utf8)
        let list = try #require(page.firstMatch(of: #/Every object has a type: ([a-z_,\s]+)\./#)).output.1
        let named = Set(list.split { $0 == "," || $0.isWhitespace })
        #expect(types == named)
    }

    @Test("Times are RFC 3339")
    func times() {
        #expect(JSON.time(1_777_730_587) == .string("2026-05-02T14:03:07Z"))
    }

    @Test("A failure is one object with its name, code, message, hints and file")
    func failure() {
        let failure = CommandFailure(
            .altered, "\"plan.tresor\": damaged", hints: ["a", "b", "c", "d"], file: "plan.tresor")
        let expected =
            #"{"type":"error","error":"altered","code":14,"message":"\"plan.tresor\": damaged","hints":["a","b","c"],"#
            + #""file":"plan.tresor"}"# + "\n"
        #expect(FailureReport(json: true).object(failure).line == expected)
    }

    @Test("A failure in words has one shape")
    func words() {
        let failure = CommandFailure(.usage, "no \u{1b}", hints: ["tresor help"], usage: "tresor a\ntresor b")
        let expected = "tresor: error: no \\u{1b}\nusage: tresor a\nusage: tresor b\ntresor: hint: tresor help\n"
        #expect(FailureReport(json: false).text(failure) == expected)
    }
}
