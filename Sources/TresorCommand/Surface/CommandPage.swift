// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCrypto

/// A command of the surface, as the parser, the help and the manual pages know it.
protocol SurfaceCommand: AsyncParsableCommand {
    static var page: CommandPage { get }

    /// Whether operands may stand apart from the words that the parser sees.
    static var takesInputs: Bool { get }

    /// The command of these words, with the operands that stand apart.
    static func parsed(_ words: [String], _ operands: [String]) throws -> any SurfaceCommand

    /// Runs the command. Errors are ``CommandFailure``, `TresorError` or ``Exit``.
    func perform() async throws
}

extension SurfaceCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: page.name, abstract: page.abstract, usage: page.usage, discussion: page.discussion,
            aliases: page.aliases)
    }

    static var takesInputs: Bool { false }

    static func parsed(_ words: [String], _ operands: [String]) throws -> any SurfaceCommand { try ownParsed(words) }

    fileprivate static func ownParsed(_ words: [String]) throws -> Self {
        guard let command = try parseAsRoot(words) as? Self else { throw CommandFailure.usage("wrong arguments") }
        return command
    }
}

/// A command that takes any number of files.
protocol InputsCommand: SurfaceCommand {
    var inputs: [String] { get set }
}

extension InputsCommand {
    static var takesInputs: Bool { true }

    static func parsed(_ words: [String], _ operands: [String]) throws -> any SurfaceCommand {
        var command = try ownParsed(words)
        command.inputs += operands
        return command
    }
}

/// The help of one command.
struct CommandPage: Sendable {
    /// The headings under which the surface lists commands.
    enum Group: String, CaseIterable, Sendable {
        case you = "You"
        case tresors = "Tresors"
        case data = "Data"
        case proof = "Proof and help"
    }

    /// The kind of work of a command, which fixes its exit codes.
    enum Class: Sendable {
        /// Opens the identity.
        case identity
        /// Reads the store.
        case store
        /// Reads and writes the store.
        case write
        /// Neither, but reads files.
        case local

        fileprivate var errors: [CommandError] {
            switch self {
            case .identity: [.notFound, .wrongPassword, .noAccess, .altered, .unsupported]
            case .store: [.notFound, .altered, .forked, .unverified, .store(.other), .unsupported]
            case .write: Class.store.errors + [.busy]
            case .local: [.notFound, .altered, .unsupported]
            }
        }
    }

    let name: String
    var aliases: [String] = []
    let group: Group
    /// One sentence.
    let abstract: String
    /// Written by hand, the common options left out; one line for each form.
    let usage: String
    var discussion = ""
    var classes: [Class] = []
    /// Exit codes that the classes do not bring.
    var further: [CommandError] = []
    /// Lines ready to paste.
    let examples: [String]

    /// The exit codes, rising, with their meaning.
    var exitStatus: [ExitCodes.Row] {
        let errors = [.failed(.other), .usage, .interrupted] + classes.flatMap(\.errors) + further
        let codes = Set(errors.map(\.exitCode)).union([0])
        return ExitCodes.rows.filter { codes.contains($0.code) }
    }

    /// The whole page as `tresor help NAME` prints it.
    static func text(of command: any SurfaceCommand.Type) -> String {
        let page = command.page
        var text = command.helpMessage(columns: 100)
        while text.hasSuffix("\n") { text.removeLast() }
        text += "\n\nCOMMON OPTIONS:\n  tresor help options\n\nEXIT STATUS:\n"
        text += page.exitStatus.map { "  \($0.text)\n" }.joined()
        return text + "\nEXAMPLES:\n" + page.examples.map { "  $ \($0)\n" }.joined()
    }
}
