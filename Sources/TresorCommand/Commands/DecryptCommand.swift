// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore

struct DecryptCommand: InputsCommand {
    static var page: CommandPage {
        CommandPage(
            name: "decrypt", group: .data, abstract: "Open sealed files.",
            usage: """
                tresor decrypt [-t T] [--record NAME | --any-record] [--from PERSON] [--current]
                           [--accept-unverified] [--accept-forked] [-o FILE | -C DIR [--force]] [INPUT…]
                """,
            discussion: """
                Writes the content after the last check has passed, and nothing before. -t, --record and --from are \
                expectations: a file that does not meet them is refused. With several INPUTs, each must hold the \
                record its name says, unless --any-record is given. An existing file is replaced only with -o or \
                --force, because it may have been edited.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy, .waiting],
            examples: ["tresor decrypt plan.tresor", "tresor decrypt --from anna -C out *.tresor"])
    }

    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp("The tresor the file must be in.", valueName: "T"))
    var tresor: String?

    @Option(help: ArgumentHelp("The record name the file must have.", valueName: "NAME"))
    var record: String?

    @Flag(help: "With several INPUTs, accept any record in each.")
    var anyRecord = false

    @Option(help: ArgumentHelp("The person who must have written the file.", valueName: "PERSON"))
    var from: String?

    @Flag(help: "Refuse an author who may no longer write.")
    var current = false

    @Flag(help: "Read once without comparing the owner's safety number.")
    var acceptUnverified = false

    @Flag(help: "Read although the store shows another history; judge by the one this home verified.")
    var acceptForked = false

    @OptionGroup var place: OutputOptions

    @Flag(help: "Replace existing files.")
    var force = false

    @Argument(help: ArgumentHelp("Files; standard input if none or -.", valueName: "INPUT"), completion: .file())
    var inputs: [String] = []

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard record == nil || !anyRecord else {
            throw CommandFailure.usage("--record and --any-record cannot both be given")
        }
        let plan = try OutputPlan(
            inputs: inputs, output: place.output, directory: place.directory, json: options.json, rename: Self.opened)
        let context = try await CommandContext.open(options)
        try context.invocation.refuseOwnFiles(plan)
        try plan.refuseInputs()
        let opener = SealedFileReader(
            context: context, acceptUnverified: acceptUnverified, acceptForked: acceptForked,
            requiresCurrent: current)
        let session = try await context.unlock(to: "open files")
        var expectations = Expectations.anyTresor
        expectations.acceptingUnverified = acceptUnverified
        expectations.acceptingForked = acceptForked
        expectations.currentAuthor = current
        if let tresor { expectations.tresor = try await self.tresor(tresor, context, session) }
        if let from { expectations.author = try await verifiedAuthor(from, context) }
        if let record { expectations.record = try? Name(text: record) }
        if record != nil, expectations.record == nil { throw CommandFailure.usage("no file has that record name") }
        do {
            try await DecryptRun(command: self, expectations: expectations, session: session, opener: opener)
                .open(plan.steps)
        } catch {
            // A file is not to blame where a wrap does not open.
            await context.tresors.tell(session)
            throw error
        }
    }

    /// The command for one INPUT of several.
    var alone: String {
        var words = ["tresor decrypt"]
        if let tresor { words.append("-t \(Shell.word(tresor))") }
        if let record { words.append("--record \(Shell.word(record))") }
        if let from { words.append("--from \(Shell.word(from))") }
        if current { words.append("--current") }
        return words.joined(separator: " ")
    }

    /// `plan.json.tresor` gives `plan.json`; another name gets `.opened`, so that nothing is overwritten by surprise.
    private static func opened(_ name: String) -> String {
        name.hasSuffix(".tresor") ? String(name.dropLast(7)) : "\(name).opened"
    }

    /// The verified person that `--from` means; `nil` for a person whom only the tresor's log can name.
    private func verifiedAuthor(_ text: String, _ context: CommandContext) async throws -> UserID? {
        do {
            let person = try await context.people.find(text)
            return person.trust.isVerified ? person.chain.user : nil
        } catch let failure as CommandFailure where failure.error == .notFound {
            return nil
        }
    }

    /// Finds an unverified person by the name in the log, if the log gives that name to one person only.
    func checkAuthor(_ opened: FileProof, _ input: InputFile, _ opener: SealedFileReader) async throws {
        guard let from else { return }
        let state = try await opener.state(of: opened.tresor)
        guard try opener.context.tresors.member(from, of: state) == opened.author.user else {
            throw CommandFailure(.altered, "\(input.shownName) is not from \(DisplayText.name(from))", file: input.path)
        }
    }

    /// Requires a log in order, unless the file is judged by what this home has verified.
    private func tresor(_ text: String, _ context: CommandContext, _ session: Session) async throws -> TresorID {
        try await context.tresors.find(text, for: session, isReadable: !acceptForked).tresor
    }

    /// Requires each of several files to hold the record its name says, so that a swap is noticed.
    func checkName(_ opened: FileProof, _ input: InputFile) throws(CommandFailure) {
        guard let component = input.lastComponent else { return }
        let bare = component.hasSuffix(".tresor") ? String(component.dropLast(7)) : component
        let record = opened.record.bytes
        let stem = record.lastIndex(of: UInt8(ascii: ".")).map { Array(record[..<$0]) }
        let name = (try? Name(text: bare))?.bytes ?? Array(bare.utf8)
        guard name == record || name == stem else {
            throw CommandFailure(
                .altered, "\(input.shownName) holds the record \(DisplayText.quoted(record))",
                hints: ["tresor … --any-record"], file: input.path)
        }
    }
}
