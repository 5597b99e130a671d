// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct EncryptCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "encrypt", group: .data, abstract: "Seal files for everybody in a tresor.",
            usage: "tresor encrypt -t T [--record NAME] [--type TEXT] [-a] [-o FILE | -C DIR] [INPUT…]",
            discussion: """
                Bytes are sealed as they are. One INPUT goes to standard output unless -o or -C is given; several become \
                INPUT.tresor beside each, or in DIR. -a makes text.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy],
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

    @OptionGroup var place: OutputOptions

    @Argument(help: ArgumentHelp("Files; standard input if none or -.", valueName: "INPUT"))
    var inputs: [String] = []

    @OptionGroup var options: GlobalOptions

    /// Up to here a content is sealed in memory; armour is made there whatever the size.
    static let smallByteCount = 1 << 20
    static let limit = 1 << 31

    func perform() async throws {
        let plan = try OutputPlan(
            inputs: inputs, output: place.output, directory: place.directory, json: options.json
        ) { "\($0).tresor" }
        guard record == nil || plan.steps.count == 1 else { throw CommandFailure.usage("--record names one INPUT") }
        let workplace = try await Workplace.open(options)
        try workplace.refuseOwnFiles(plan)
        try refuseTerminal(plan)
        let session = try await workplace.unlock(to: "sign what is sealed in \(Shown.name(tresor.tresor))")
        let summary = try await workplace.tresor(tresor.tresor, for: session)
        try await prepare(summary, session, workplace)
        var outcomes = Outcomes()
        for step in plan.steps {
            do {
                try await seal(step, in: summary, session, workplace)
                outcomes.succeeded()
            } catch {
                guard plan.steps.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: step.input), report: workplace.output.report)
            }
        }
        try outcomes.finish()
    }

    /// Before a password is asked for.
    private func refuseTerminal(_ plan: OutputPlan) throws {
        guard !a, case .standardOutput(isForced: false) = plan.steps[0].target, Channel.output.isTerminal else {
            return
        }
        throw CommandFailure.usage(
            "a sealed file is binary and standard output is a terminal", hints: ["tresor … -a", "tresor … -o FILE"])
    }

    private func prepare(_ summary: TresorSummary, _ session: Session, _ workplace: Workplace) async throws {
        guard let state = summary.state else { return }
        let title = workplace.title(of: summary)
        let owner = workplace.handle(of: state.founder, in: state)
        try await workplace.verifyFounder(of: state, accept: false, hint: "")
        guard let me = state.members[session.identity.user] else {
            throw CommandFailure(
                .noAccess, "you are no longer in \(title) of \(owner)",
                hints: [workplace.askToShare(summary, with: session)])
        }
        guard me.role != .reader else {
            throw CommandFailure(.noAccess, "you may read \(title) of \(owner), not write in it")
        }
        let settled = try await workplace.settled(summary, session)
        guard settled.rotateFirst else { return }
        guard me.history == .all else {
            throw CommandFailure(
                .noAccess, "the key of \(title) has to be changed first, by somebody who reads all of it",
                hints: ["ask \(owner) to run: tresor rotate -t \(Shell.word(tresor.tresor))"])
        }
        workplace.output.say("somebody left \(title) or has new keys: its key is changed first")
    }

    private func seal(
        _ step: OutputPlan.Step, in summary: TresorSummary, _ session: Session, _ workplace: Workplace
    ) async throws {
        let input = try InputFile(step.input, standardInput: workplace.invocation.standardInput)
        let output = try place.file(for: step, access: .everybody, input: input)
        let sealed = try await seal(input, to: output, in: summary.tresor, session, workplace)
        try output?.commit()
        guard options.json else { return }
        var object: JSONObject = [
            "type": "sealed", "tresor": .string(summary.tresor.description), "key": .unsigned(sealed.header.epoch),
            "head": .unsigned(sealed.header.head.sequence), "size": .unsigned(UInt64(sealed.count)),
        ]
        if let path = step.input { object["input"] = .string(path) }
        if let output { object["file"] = .string(output.path) }
        try workplace.output.object(object)
    }

    /// - Parameter output: `nil` for standard output. What it got after an error is no sealed file.
    private func seal(
        _ input: InputFile, to output: OutputFile?, in tresor: TresorID, _ session: Session, _ workplace: Workplace
    ) async throws -> (header: FileHeader, count: Int) {
        let record = try recordName(input)
        let type = try typeName(input)
        var sink = OutputSink(output, FailureNote())
        let start = try input.start(Self.smallByteCount + 1)
        guard start.count <= Self.smallByteCount || a else {
            let progress = workplace.invocation.progress("encrypting")
            defer { progress.finish() }
            var content = InputContent(input, startingWith: start, sink.note, progress)
            do throws(TresorError) {
                let stream = try await session.seal(&content, to: &sink, record: record, type: type, in: tresor)
                return (stream.header, stream.byteCount)
            } catch {
                throw sink.note.words(for: error, or: CommandFailure(error, file: input.path))
            }
        }
        let content = try input.readAll(
            after: start, limit: Self.limit,
            tooLarge: CommandFailure(.usage, "\(input.shownName) is too large for one piece"))
        let file = try await session.seal(content, record: record, type: type, in: tresor)
        let bytes = a ? file.armoured : file.bytes
        if let output {
            try output.write(bytes.span)
        } else {
            try workplace.output.data(bytes.span)
        }
        return (file.header, bytes.count)
    }

    private func recordName(_ input: InputFile) throws -> Name {
        guard let text = record ?? input.lastComponent, !text.isEmpty else { return .empty }
        do {
            return try Name(text: text)
        } catch {
            guard record == nil else {
                throw CommandFailure.usage("a record's name has at most 256 bytes and no control characters")
            }
            throw CommandFailure(
                .usage, "\(input.shownName) cannot be a record's name", hints: ["tresor … --record NAME"],
                file: input.path)
        }
    }

    private func typeName(_ input: InputFile) throws -> Name {
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
    @Option(name: .short, help: ArgumentHelp("Write to FILE; - forces standard output.", valueName: "FILE"))
    var output: String?

    @Option(name: .customShort("C"), help: ArgumentHelp("Write into DIR.", valueName: "DIR"))
    var directory: String?

    /// The file a step writes, not yet begun; `nil` for standard output.
    func file(
        for step: OutputPlan.Step, access: FileAccess, input: InputFile
    ) throws(CommandFailure) -> OutputFile? {
        guard case .file(let path) = step.target else { return nil }
        let file = OutputFile(path: path, access: access)
        try file.refuse(input)
        try file.check()
        return file
    }
}
