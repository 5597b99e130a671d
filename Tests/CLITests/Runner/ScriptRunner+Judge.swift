// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import TresorCommand

/// The verbs that check the last run and its files.
extension ScriptRunner {
    func judgeRun(_ verb: String, _ operands: [String], isNegated: Bool) throws -> Bool {
        switch verb {
        case "code" where !isNegated:
            let code = try lastRun().code
            guard Int32(try one(operands)) == code else { throw ScriptFailure("the exit code is \(code)") }
        case "stdout":
            try judge(try lastRun().outputText, matches: try one(operands), isNegated: isNegated)
        case "stderr":
            try judge(try lastRun().errorText, matches: try one(operands), isNegated: isNegated)
        case "json" where !isNegated:
            guard operands.count == 2 else { throw ScriptFailure("json takes a path and a value") }
            let value = try jsonValue(operands[0])
            guard value == operands[1] else { throw ScriptFailure("the value is \(value ?? "missing")") }
        default:
            return false
        }
        return true
    }

    func judgeFile(_ verb: String, _ operands: [String], isNegated: Bool) throws -> Bool {
        switch verb {
        case "cmp" where !isNegated:
            guard operands.count == 2 else { throw ScriptFailure("cmp takes two files") }
            guard try content(operands[0]) == content(operands[1]) else { throw ScriptFailure("the files differ") }
        case "whole" where !isNegated:
            // A file that is there is one of those that follow, to the last byte.
            guard operands.count > 1 else { throw ScriptFailure("whole takes a file and what it may be") }
            guard FileManager.default.fileExists(atPath: file(operands[0]).path) else { break }
            let bytes = try content(operands[0])
            guard try operands.dropFirst().contains(where: { try content($0) == bytes }) else {
                throw ScriptFailure("the file is none of them")
            }
        case "exists":
            for operand in operands {
                var status = stat()
                let exists = lstat(file(operand).path, &status) == 0
                guard exists != isNegated else { throw ScriptFailure("\(operand) \(exists ? "exists" : "is missing")") }
            }
        case "mode" where !isNegated:
            guard operands.count == 2 else { throw ScriptFailure("mode takes a mode and a file") }
            let mode = try mode(of: operands[1])
            guard mode_t(operands[0], radix: 8) == mode else {
                throw ScriptFailure("the mode is 0\(String(mode, radix: 8))")
            }
        case "grep":
            guard operands.count == 2 else { throw ScriptFailure("grep takes an expression and a file") }
            let text = String(decoding: try content(operands[1]), as: UTF8.self)
            try judge(text, matches: operands[0], isNegated: isNegated)
        default:
            return false
        }
        return true
    }

    /// Every object that is printed is what docs/json says.
    func checkObjects(of result: ChildProcess.Result, _ arguments: [String]) throws {
        let options = arguments.prefix { $0 != "--" }
        let prose: Set = ["help", "completion", "--version", "-h", "--help", "--experimental-dump-help"]
        guard options.contains("--json"), result.code >= 0, prose.isDisjoint(with: options) else { return }
        for line in (result.outputText + result.errorText).split(separator: "\n") {
            guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) else {
                throw ScriptFailure("not JSON: \(line)")
            }
            try JSONSchema.check(object)
        }
    }

    private func lastRun() throws -> ChildProcess.Result {
        guard let last else { throw ScriptFailure("nothing has run") }
        return last
    }

    private func judge(_ text: String, matches expression: String, isNegated: Bool) throws {
        let regex = try Regex<AnyRegexOutput>(expression).anchorsMatchLineEndings()
        let isMatch = text.firstMatch(of: regex) != nil
        guard isMatch != isNegated else { throw ScriptFailure(isMatch ? "it matches" : "it does not match") }
    }

    /// The value at a path such as `hints.0`, in the object on standard output, else in the one on standard error.
    /// Where there are several lines, the path begins with the number of one, from 0.
    private func jsonValue(_ path: String) throws -> String? {
        let result = try lastRun()
        let lines = (result.output.isEmpty ? result.errorText : result.outputText).split(separator: "\n")
        var objects: [Any] = []
        for line in lines {
            guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8), options: .fragmentsAllowed)
            else {
                throw ScriptFailure("not JSON: \(line)")
            }
            objects.append(object)
        }
        var steps = path.split(separator: ".").map(String.init)
        var value: Any? = objects.first
        if objects.count > 1 || steps.first.flatMap(Int.init) != nil, let line = steps.first.flatMap(Int.init) {
            value = objects.indices.contains(line) ? objects[line] : nil
            steps.removeFirst()
        }
        for step in steps {
            if let object = value as? [String: Any] {
                value = object[step]
            } else if let array = value as? [Any], let index = Int(step), array.indices.contains(index) {
                value = array[index]
            } else {
                value = nil
            }
        }
        return text(of: value)
    }

    private func text(of value: Any?) -> String? {
        switch value {
        case nil: nil
        case let text as String: text
        case let array as [Any]: "[\(array.count)]"
        case is NSNull: "null"
        case let number as NSNumber: booleanText(number) ?? number.stringValue
        default: "{}"
        }
    }

    /// Foundation reads `true` and `1` into one class; only the encoding tells them apart.
    private func booleanText(_ number: NSNumber) -> String? {
        guard String(cString: number.objCType) == "c" || String(cString: number.objCType) == "B" else { return nil }
        return number.boolValue ? "true" : "false"
    }
}
