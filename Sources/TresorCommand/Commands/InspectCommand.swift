// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

struct InspectCommand: InputsCommand {
    static var page: CommandPage {
        CommandPage(
            name: "inspect", group: .data, abstract: "Show what anyone can see of a sealed file, a card or an export.",
            usage: "tresor inspect [INPUT…]",
            discussion: """
                Needs no keys. The header of a sealed file, and what an export shows, are claims; they are not proved.
                """,
            classes: [.local],
            examples: ["tresor inspect plan.tresor"])
    }

    @Argument(help: ArgumentHelp("Files; standard input if none or -.", valueName: "INPUT"), completion: .file())
    var inputs: [String] = []

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let context = try CommandContext.local(options)
        var outcomes = Outcomes()
        for path in inputs.isEmpty ? [nil] : inputs.map(Optional.some) {
            do {
                let input = try InputFile(path, standardInput: context.invocation.standardInput)
                try await inspect(input, context)
                outcomes.succeeded()
            } catch {
                guard inputs.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: path), report: context.output.report)
            }
        }
        try outcomes.finish()
    }

    private func inspect(_ input: InputFile, _ context: CommandContext) async throws {
        let opener = SealedFileReader(context: context, acceptUnverified: false)
        let start = try input.start(SealedFileReader.smallByteCount)
        let kind = FileKind(of: start)
        if kind == .export { return try show(try ExportFile.read(input, after: start), input, context) }
        // Everything else is judged as a card.
        guard kind == .sealedFile else {
            let chain = try CardFile.read(input, after: start, what: "no sealed file and no card")
            return try show(chain, input, context)
        }
        if let stored = try await opener.storedFile(input, startingWith: start) {
            return try show(stored.header, count: input.byteCount ?? stored.source.byteCount, input, context)
        }
        let file = try opener.sealedFile(input, startingWith: start)
        try show(file.header, count: input.byteCount ?? file.bytes.count, input, context)
    }

    private func show(_ header: FileHeader, count: Int, _ input: InputFile, _ context: CommandContext) throws {
        let hash = Base32.text(header.head.hash.bytes)
        guard options.json else {
            return try lines(
                [
                    ("file", "\(input.shownName), \(count) bytes; what follows is not proved"),
                    ("tresor", header.tresor.description), ("key", String(header.epoch)),
                    ("head", "\(header.head.sequence):\(hash)"),
                ], context)
        }
        var object: JSONObject = ["type": "inspected", "kind": "file"]
        if let path = input.path { object["input"] = .string(path) }
        object["size"] = .unsigned(UInt64(count))
        object["tresor"] = .string(header.tresor.description)
        object["key"] = .unsigned(header.epoch)
        object["head"] = .unsigned(header.head.sequence)
        object["head_hash"] = .string(hash)
        object["proved"] = false
        try context.output.object(object)
    }

    private func show(_ chain: CardChain, _ input: InputFile, _ context: CommandContext) throws {
        let number = try chain.number().grouped
        guard options.json else {
            return try lines(
                [
                    ("card", "\(input.shownName) of \(DisplayText.name(chain.handle.bytes))"),
                    ("user", chain.user.description),
                    ("number", number), ("generation", String(chain.newest.generation)),
                    ("made", Timestamp(seconds: chain.newest.time).dateAndMinute),
                    ("signs with", Base32.text(chain.newest.signingKey.bytes)),
                ], context)
        }
        var object: JSONObject = ["type": "inspected", "kind": "card"]
        if let path = input.path { object["input"] = .string(path) }
        object["handle"] = .text(chain.handle.bytes)
        object["user"] = .string(chain.user.description)
        object["number"] = .string(number)
        object["generation"] = .unsigned(UInt64(chain.newest.generation))
        object["time"] = .time(chain.newest.time)
        try context.output.object(object)
    }

    private func show(_ export: TresorExport, _ input: InputFile, _ context: CommandContext) throws {
        let count = input.byteCount ?? export.bytes.count
        guard options.json else {
            let people = export.cards.map { DisplayText.name($0.handle.bytes) }
            return try lines(
                [
                    ("export", "\(input.shownName), \(count) bytes; what follows is not proved"),
                    ("tresor", export.tresor.description), ("entries", String(export.entries.count)),
                    ("cards", people.joined(separator: ", ")), ("wraps", String(export.wraps.count)),
                    ("packs", String(export.blobs.count)),
                ], context)
        }
        var object: JSONObject = ["type": "inspected", "kind": "export"]
        if let path = input.path { object["input"] = .string(path) }
        object["size"] = .unsigned(UInt64(count))
        object["tresor"] = .string(export.tresor.description)
        object["entries"] = .unsigned(UInt64(export.entries.count))
        object["cards"] = .unsigned(UInt64(export.cards.count))
        object["wraps"] = .unsigned(UInt64(export.wraps.count))
        object["packs"] = .unsigned(UInt64(export.blobs.count))
        object["proved"] = false
        try context.output.object(object)
    }

    private func lines(_ rows: [(String, String)], _ context: CommandContext) throws {
        let width = rows.map(\.0.count).max() ?? 0
        for (label, value) in rows {
            let gap = String(repeating: " ", count: width - label.count + 2)
            try context.output.line(label + gap + value)
        }
    }
}
