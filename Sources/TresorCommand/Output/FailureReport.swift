// SPDX-License-Identifier: Apache-2.0

import Tresor

/// Prints failures on standard error, in words or as one JSON object each.
struct FailureReport: Sendable {
    let json: Bool

    func print(_ failure: CommandFailure) {
        let failure = Surroundings.current.notices.explaining(failure)
        Channel.error.tryWrite(json ? object(failure).line : text(failure))
    }

    func text(_ failure: CommandFailure) -> String {
        var text = "tresor: error: \(DisplayText.escaped(failure.message))\n"
        // A continuation line is indented, and starts no usage of its own.
        if let usage = failure.usage {
            text += usage.split(separator: "\n").map { ($0.hasPrefix(" ") ? "       " : "usage: ") + "\($0)\n" }
                .joined()
        }
        for hint in hints(of: failure) { text += "tresor: hint: \(DisplayText.escaped(hint))\n" }
        return text
    }

    private func hints(of failure: CommandFailure) -> [String] {
        var hints = failure.hints
        if hints.isEmpty, failure.error == .noAccess { hints = Surroundings.current.keys.refusal?.hints ?? [] }
        return hints.prefix(3).map { HintCompletion.complete($0) }
    }

    func object(_ failure: CommandFailure) -> JSONObject {
        var object: JSONObject = [
            "type": "error", "error": .string(failure.error.name), "code": .integer(Int64(failure.exitCode)),
            "message": .string(failure.message),
        ]
        object["hints"] = .array(hints(of: failure).map { .string($0) })
        if let file = failure.file { object["file"] = .string(file) }
        return object
    }
}
