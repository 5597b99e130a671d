// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct DecryptCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "decrypt", group: .data, abstract: "Open sealed files.",
            usage: """
                tresor decrypt [-t T] [--record NAME | --any-record] [--from PERSON] [--current]
                           [--accept-unverified] [--accept-forked] [-o FILE | -C DIR] [INPUT…]
                """,
            discussion: """
                The content comes out after the last check, and nothing else comes out. -t, --record and --from are expectations: a file \
                that is another one is refused. Of several INPUTs each must be the record its name says, unless --any-record.
                """,
            classes: [.identity, .store], further: [.noAccess],
            examples: ["tresor decrypt plan.tresor", "tresor decrypt --from anna -C out *.tresor"])
    }

    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp("The tresor it must be in.", valueName: "T"))
    var tresor: String?

    @Option(help: ArgumentHelp("The record name it must have.", valueName: "NAME"))
    var record: String?

    @Flag(help: "Of several INPUTs, take whatever record each is.")
    var anyRecord = false

    @Option(help: ArgumentHelp("Who must have written it.", valueName: "PERSON"))
    var from: String?

    @Flag(help: "Refuse an author who may no longer write.")
    var current = false

    @Flag(help: "Read once although nobody compared the owner's number.")
    var acceptUnverified = false

    @Flag(help: "Read although the store shows another history, judged by the one this home verified.")
    var acceptForked = false

    @OptionGroup var place: OutputOptions

    @Argument(help: ArgumentHelp("Files; standard input if none or -.", valueName: "INPUT"))
    var inputs: [String] = []

    @OptionGroup var options: GlobalOptions

    /// What standard output takes at most.
    static let standardOutputLimit = 64 << 20

    func perform() async throws {
        guard record == nil || !anyRecord else {
            throw CommandFailure.usage("--record and --any-record cannot both be given")
        }
        let plan = try OutputPlan(
            inputs: inputs, output: place.output, directory: place.directory, json: options.json, rename: Self.opened)
        let workplace = try await Workplace.open(options)
        try workplace.refuseOwnFiles(plan)
        let opener = FileOpener(workplace: workplace, acceptUnverified: acceptUnverified)
        let session = try await workplace.unlock(to: "open files")
        var expectations = Expectations()
        expectations.acceptingUnverified = acceptUnverified
        expectations.acceptingForked = acceptForked
        expectations.currentAuthor = current
        if let tresor { expectations.tresor = try await workplace.tresor(tresor, for: session).tresor }
        if let from { expectations.author = try await verifiedAuthor(from, workplace) }
        if let record { expectations.record = try? Name(text: record) }
        if record != nil, expectations.record == nil { throw CommandFailure.usage("no file has that record name") }
        var outcomes = Outcomes()
        for step in plan.steps {
            do {
                try await open(step, expectations, isOne: plan.steps.count == 1, session, opener)
                outcomes.succeeded()
            } catch {
                guard plan.steps.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: step.input), report: workplace.output.report)
            }
        }
        try outcomes.finish()
    }

    /// `plan.json.tresor` gives `plan.json`; another name gets `.opened`, so that nothing is overwritten by surprise.
    private static func opened(_ name: String) -> String {
        name.hasSuffix(".tresor") ? String(name.dropLast(7)) : "\(name).opened"
    }

    /// The person `--from` means by my own comparison; `nil` for somebody whom the tresor's log has to name.
    private func verifiedAuthor(_ text: String, _ workplace: Workplace) async throws -> UserID? {
        do {
            let person = try await workplace.person(text)
            return person.trust.isVerified ? person.chain.user : nil
        } catch let failure as CommandFailure where failure.error == .notFound {
            return nil
        }
    }

    /// Whom nobody compared is whoever the log names so, if it names one person only.
    private func checkAuthor(_ opened: FileProof, _ input: InputFile, _ workplace: Workplace) async throws {
        guard let from else { return }
        let state = try await workplace.client.state(of: opened.tresor, remembering: .no)
        guard try workplace.member(from, of: state) == opened.author.user else {
            throw CommandFailure(.altered, "\(input.shownName) is not from \(Shown.name(from))", file: input.path)
        }
    }

    private func open(
        _ step: OutputPlan.Step, _ expectations: Expectations, isOne: Bool, _ session: Session, _ opener: FileOpener
    ) async throws {
        let workplace = opener.workplace
        let input = try InputFile(step.input, standardInput: workplace.invocation.standardInput)
        let output = try place.file(for: step, access: .owner, input: input)
        let start = try input.start(FileOpener.smallByteCount)
        var content: [UInt8]?
        let proof: FileProof
        if let output, let file = try opener.storedFile(input, startingWith: start) {
            proof = try await write(file, to: output, expectations, from: input, session, opener)
        } else {
            try refuseLarge(input, output)
            let file = try opener.sealedFile(input, startingWith: start)
            let opened = try await opener.open(file, as: session, expectations, from: input)
            (proof, content) = (opened.proof, opened.content)
        }
        if expectations.author == nil { try await checkAuthor(proof, input, workplace) }
        if !isOne, record == nil, !anyRecord { try checkName(proof, input) }
        let report = try await opener.report(proof, input: input, output: output, as: session, json: options.json)
        if let output {
            if let content { try output.write(content.span) }
            try output.commit()
        } else if let content {
            try writeToStandardOutput(content, step, workplace)
        }
        try report.print(workplace.output)
    }

    /// Opens a large file into its output, which stays without a name until everything is checked.
    private func write(
        _ file: StoredFile<SealedInput>, to output: OutputFile, _ expectations: Expectations, from input: InputFile,
        _ session: Session, _ opener: FileOpener
    ) async throws -> FileProof {
        let note = FailureNote()
        let progress = opener.workplace.invocation.progress("decrypting")
        defer { progress.finish() }
        do {
            return try await opener.attempt(file.header, as: session, from: input) { () throws(TresorError) in
                var sink = OutputSink(output, note, progress, total: file.source.byteCount)
                return try await session.open(file, to: &sink, expecting: expectations).proof
            }
        } catch let failure as CommandFailure {
            throw note.words(for: failure.error, or: failure)
        }
    }

    /// Before a large file is read into memory for standard output, which does not take so much.
    private func refuseLarge(_ input: InputFile, _ output: OutputFile?) throws {
        guard output == nil, let count = input.byteCount, count > Self.standardOutputLimit * 2 else { return }
        throw Self.tooLarge
    }

    private static let tooLarge = CommandFailure.usage(
        "the content is too large for standard output", hints: ["tresor … -o FILE"])

    private func writeToStandardOutput(
        _ content: [UInt8], _ step: OutputPlan.Step, _ workplace: Workplace
    ) throws {
        guard content.count <= Self.standardOutputLimit else {
            throw Self.tooLarge
        }
        let isForced = step.target == .standardOutput(isForced: true)
        try workplace.output.refuseForTerminal(
            content.span, isForced: isForced, hints: ["tresor … -o FILE", "tresor … -o -"])
        try workplace.output.data(content.span)
    }

    /// Of several files each must be the record its name says, so that a swap is noticed.
    private func checkName(_ opened: FileProof, _ input: InputFile) throws(CommandFailure) {
        guard let component = input.lastComponent else { return }
        let bare = component.hasSuffix(".tresor") ? String(component.dropLast(7)) : component
        let record = opened.record.bytes
        let stem = record.lastIndex(of: UInt8(ascii: ".")).map { Array(record[..<$0]) }
        let name = (try? Name(text: bare))?.bytes ?? Array(bare.utf8)
        guard name == record || name == stem else {
            throw CommandFailure(
                .altered, "\(input.shownName) holds the record \(Shown.quoted(record))",
                hints: ["tresor … --any-record"], file: input.path)
        }
    }
}
