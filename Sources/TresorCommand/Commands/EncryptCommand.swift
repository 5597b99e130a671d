// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore

struct EncryptCommand: InputsCommand {
    static var page: CommandPage {
        CommandPage(
            name: "encrypt", group: .data, abstract: "Seal files for the members of a tresor.",
            usage: "tresor encrypt -t T [--record NAME] [--type TEXT] [-a] [--allow-empty] [-o FILE | -C DIR] [INPUT…]",
            discussion: """
                Seals the bytes unchanged. One INPUT goes to standard output unless -o or -C is given; several are \
                written to INPUT.tresor beside each, or in DIR. -a makes text.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy, .waiting],
            examples: [
                "tresor encrypt -t interventions plan.json > plan.tresor",
                "tresor encrypt -t interventions -C out *.json",
            ])
    }

    @OptionGroup var tresor: TresorOption

    @Option(help: ArgumentHelp("The record's name; the INPUT's last component if left out.", valueName: "NAME"))
    var record: String?

    @Option(help: ArgumentHelp("The content type.", valueName: "TEXT"))
    var type: String?

    @Flag(name: [.short, .customLong("armour")], help: "Make text instead of binary.")
    var a = false

    @Flag(help: "Accept an INPUT without content.")
    var allowEmpty = false

    @OptionGroup var place: OutputOptions

    @Argument(help: ArgumentHelp("Files; standard input if none or -.", valueName: "INPUT"), completion: .file())
    var inputs: [String] = []

    @OptionGroup var options: GlobalOptions

    /// Up to here a content is sealed in memory.
    static let smallByteCount = 1 << 20

    func perform() async throws {
        let plan = try OutputPlan(
            inputs: inputs, output: place.output, directory: place.directory, json: options.json
        ) { "\($0).tresor" }
        guard record == nil || plan.steps.count == 1 else { throw CommandFailure.usage("--record names one INPUT") }
        let context = try await CommandContext.open(options)
        try context.invocation.refuseOwnFiles(plan)
        let own = context.invocation.ownFiles
        try context.invocation.refuseSealing(plan.steps.compactMap(\.input), own)
        try plan.refuseInputs()
        try refuseTerminal(plan)
        let session = try await context.unlock(to: "sign what is sealed in \(DisplayText.name(tresor.tresor))")
        let summary = try await context.tresors.find(tresor.tresor, for: session)
        try await refuse(summary, session, context)
        let run = EncryptRun(command: self, summary: summary, session: session, context: context, own: own)
        do {
            try await run.seal(plan.steps)
        } catch {
            await context.tresors.tell(session)
            throw error
        }
        await context.tresors.tell(session)
    }

    /// Before a password is asked for.
    private func refuseTerminal(_ plan: OutputPlan) throws {
        guard !a, case .standardOutput(isForced: false) = plan.steps[0].target, Channel.output.isTerminal else {
            return
        }
        throw CommandFailure.usage(
            "a sealed file is binary and standard output is a terminal", hints: ["tresor … -a", "tresor … -o FILE"])
    }

    private func refuse(_ summary: TresorSummary, _ session: Session, _ context: CommandContext) async throws {
        guard let state = summary.state else { return }
        try await context.verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        if let failure = context.tresors.refusal(of: summary, in: state, session, writing: true) { throw failure }
        context.tresors.tellClock(behind: state, context.tresors.title(of: summary))
        if let failure = context.tresors.copyRefusal(of: state.tresor, session) { throw failure }
        guard state.isRekeyPending, state.members[session.user]?.history != .all else { return }
        let owner = context.tresors.handle(of: context.tresors.owner(of: state), in: state)
        throw CommandFailure(
            .noAccess,
            "the key of \(context.tresors.title(of: summary)) must be changed first, by a member who can read all of it",
            hints: ["ask \(owner) to run: tresor rotate -t \(Shell.word(tresor.tresor))"])
    }

    /// The command for one INPUT of several.
    var alone: String {
        var words = ["tresor encrypt -t \(Shell.word(tresor.tresor))"]
        if let type { words.append("--type \(Shell.word(type))") }
        if a { words.append("-a") }
        return words.joined(separator: " ")
    }

    func recordName(_ input: InputFile) throws -> Name {
        guard let text = record ?? input.lastComponent, !text.isEmpty else { return .empty }
        do {
            return try Name(text: text)
        } catch {
            guard record == nil else {
                throw CommandFailure.usage("a record's name has at most 256 bytes and no control characters")
            }
            let hint =
                inputs.count > 1 ? "\(alone) --record NAME -o FILE \(input.path.map { Shell.path($0) } ?? "-")" : nil
            throw CommandFailure(
                .usage, "\(input.shownName) cannot be a record's name", hints: [hint ?? "tresor … --record NAME"],
                file: input.path)
        }
    }

    func typeName(_ input: InputFile) throws -> Name {
        let isJSON = input.lastComponent?.hasSuffix(".json") ?? true
        do {
            return try Name(text: type ?? (isJSON ? "application/json" : "application/octet-stream"))
        } catch {
            throw CommandFailure.usage("a content type has at most 256 bytes and no control characters")
        }
    }
}

/// `-o` and `-C`.
struct OutputOptions: ParsableArguments, Sendable {
    @Option(
        name: .short, help: ArgumentHelp("Write to FILE; - forces standard output.", valueName: "FILE"),
        completion: .file())
    var output: String?

    @Option(name: .customShort("C"), help: ArgumentHelp("Write into DIR.", valueName: "DIR"), completion: .directory)
    var directory: String?

    /// The file a step writes, not yet begun; `nil` for standard output.
    ///
    /// - Parameters:
    ///   - replaces: whether a file may be replaced whose name nobody typed.
    ///   - alone: the command for one INPUT of several, which alone can be given another OUTPUT; `nil` for the only one.
    func file(
        for step: OutputPlan.Step, access: FileAccess, input: InputFile, replaces: Bool = true, alone: String?
    ) throws(CommandFailure) -> OutputFile? {
        guard case .file(let path) = step.target else { return nil }
        let file = OutputFile(path: path, access: access, replaces: replaces || output != nil) { other in
            guard let alone, let input = step.input else { return "tresor … {-C} -o \(other)" }
            return "\(alone) -o \(other) \(Shell.path(input))"
        }
        try file.refuse(input)
        try file.checkFirst()
        return file
    }
}
