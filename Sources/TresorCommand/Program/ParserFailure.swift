// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

extension CommandFailure {
    /// The failure that an error of the argument parser stands for, in our shape.
    init(parser error: any Error, command: any SurfaceCommand.Type) {
        let (message, suggestion) = Self.words(command.message(for: error))
        let typed = message.split(separator: "'").dropFirst().first.map(String.init) ?? ""
        var hints = suggestion.map { ["did you mean: \(HintCompletion.replacing(typed, with: $0))"] } ?? []
        hints.append("tresor help \(command.page.name)")
        self.init(.usage, message, hints: hints, usage: command.page.usage)
    }

    /// The parser's sentences as a message without capital and full stop, and what it suggests.
    static func words(_ sentence: String) -> (message: String, suggestion: String?) {
        var message = sentence
        var suggestion: String?
        if let range = message.firstRange(of: ". Did you mean '") {
            suggestion = String(message[range.upperBound...].prefix { $0 != "'" })
            message = String(message[..<range.lowerBound])
        }
        message = message.split(separator: "\n").joined(separator: " ").replacing(". Please", with: "; please")
        while let last = message.last, last == "." || last == " " { message.removeLast() }
        if let first = message.first { message = first.lowercased() + message.dropFirst() }
        return (message.isEmpty ? "wrong arguments" : message, suggestion)
    }
}
