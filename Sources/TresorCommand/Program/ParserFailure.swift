// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

extension CommandFailure {
    /// The failure that an error of the argument parser stands for, in our shape.
    init(parser error: any Error, command: any SurfaceCommand.Type) {
        self.init(
            .usage, Self.words(command.message(for: error)), hints: ["tresor help \(command.page.name)"],
            usage: command.page.usage)
    }

    /// The parser's sentences as a message without capital and full stop. ``DeclaredOptions`` suggests other options.
    static func words(_ sentence: String) -> String {
        var message = sentence
        if let range = message.firstRange(of: ". Did you mean '") { message = String(message[..<range.lowerBound]) }
        message = message.split(separator: "\n").joined(separator: " ").replacing(". Please", with: "; please")
        while let last = message.last, last == "." || last == " " { message.removeLast() }
        if let first = message.first { message = first.lowercased() + message.dropFirst() }
        if message.contains("<DATE>'"), message.contains("invalid") { message += "; a DATE is like 2026-05-03" }
        return message.isEmpty ? "wrong arguments" : message
    }
}
