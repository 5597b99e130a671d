// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct ExportCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "export", group: .tresors, abstract: "Write a tresor to a file, for somebody with another store.",
            usage: """
                tresor export -t T [--without-attachments] [-a] [-o FILE]
                tresor export --recovery -o FILE
                """,
            discussion: """
                The file has the log, the wrapped keys, the members' cards and the sealed records: what the store holds of \
                the tresor, and nothing secret. It has no sealed files; send them too. Anyone who gets it learns what the \
                store learns. It has at most 256 MiB; --without-attachments leaves out the contents of records above \
                64 KiB. -a makes text. --recovery writes the copy of your identity that your recovery kit opens: with its \
                words, tresor recover --from FILE needs no store. A later kit leaves that file to the words before it.
                """,
            classes: [.identity, .store], further: [.busy],
            examples: [
                "tresor export -t interventions -o interventions.export", "tresor export --recovery -o recovery.copy",
            ])
    }

    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp("A tresor: its name, OWNER/NAME, or an id of at least 6 characters.", valueName: "T"))
    var tresor: String?

    @Flag(help: "Write the copy of your identity that your recovery kit opens.")
    var recovery = false

    @Flag(name: [.short, .customLong("armour")], help: "Make text instead of binary.")
    var a = false

    @Flag(help: "Leave out the contents of records above 64 KiB.")
    var withoutAttachments = false

    @Option(
        name: .short, help: ArgumentHelp("Write to FILE; - forces standard output.", valueName: "FILE"),
        completion: .file())
    var output: String?

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard !recovery else { return try await writeKitCopy() }
        var chosen = TresorOption()
        guard let tresor else { throw CommandFailure.usage("name the tresor to write: -t T, or --recovery") }
        chosen.tresor = tresor
        let plan = try OutputPlan(inputs: [], output: output, directory: nil, json: options.json, takesDirectory: false)
        { $0 }
        let context = try await CommandContext.open(options)
        try context.invocation.refuseOwnFiles(plan)
        try refuseTerminal(plan)
        let id = try await chosen.id(in: context, to: "export a tresor")
        let export = try await export(id, context)
        let bytes = a ? export.armoured : export.bytes
        if case .file(let path) = plan.steps[0].target {
            let file = OutputFile(path: path, access: .everybody)
            try file.write(bytes.span)
            try file.commit()
        } else {
            try context.output.data(bytes.span)
        }
        if context.invocation.places.unsentTresors().contains(id) {
            context.output.say("changes that are not sent yet are not in it: \(HintCompletion.command("sync"))")
        }
        try report(export, count: bytes.count, plan.steps[0].target, context)
    }

    private func writeKitCopy() async throws {
        guard tresor == nil, !a, !withoutAttachments, let output, !["", "-"].contains(output) else {
            throw CommandFailure.usage(
                "--recovery goes with -o FILE alone", hints: ["tresor export --recovery -o FILE"])
        }
        let context = try await CommandContext.open(options)
        try context.invocation.refuseReplacing(output)
        try OutputFile(path: output, access: .owner, replaces: false).check()
        let session = try await context.unlock(to: "copy your identity for its recovery kit")
        try await KitCopyFile(path: output).write(session, context)
        guard options.json else { return }
        let chain = session.identity.chain
        try context.output.object([
            "type": "identity", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(try chain.number().grouped),
            "file": .string(output),
        ])
    }

    private func export(_ id: TresorID, _ context: CommandContext) async throws -> TresorExport {
        do throws(TresorError) {
            return try await context.client.exchange.export(id, attachments: !withoutAttachments)
        } catch {
            if error == .usage(.contentTooLong) {
                throw CommandFailure(
                    of: error, "\(id.description.prefix(10)) is too large for one file",
                    hints: withoutAttachments ? [] : ["tresor … --without-attachments"])
            }
            throw context.tresors.logFailure(error, id)
        }
    }

    /// Before a password is asked for.
    private func refuseTerminal(_ plan: OutputPlan) throws {
        guard !a, case .standardOutput(isForced: false) = plan.steps[0].target, Channel.output.isTerminal else {
            return
        }
        throw CommandFailure.usage(
            "an export is binary and standard output is a terminal", hints: ["tresor … -a", "tresor … -o FILE"])
    }

    private func report(
        _ export: TresorExport, count: Int, _ target: OutputPlan.Target, _ context: CommandContext
    ) throws {
        guard options.json else { return }
        var object: JSONObject = [
            "type": "exported", "tresor": .string(export.tresor.description),
            "entries": .unsigned(UInt64(export.entries.count)), "cards": .unsigned(UInt64(export.cards.count)),
            "wraps": .unsigned(UInt64(export.wraps.count)), "packs": .unsigned(UInt64(export.blobs.count)),
            "size": .unsigned(UInt64(count)),
        ]
        if case .file(let path) = target { object["file"] = .string(path) }
        try context.output.object(object)
    }
}
