// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct CardCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "card", group: .you, abstract: "Print a card, or its safety number.",
            usage: "tresor card [PERSON] [--number] [--publish] [-o FILE [--force]]",
            discussion: """
                Without PERSON the card is your own. --publish writes it to the store, and says its number alone. It makes \
                a store that is missing if --store names it.
                """,
            classes: [.store, .local], further: [.busy, .waiting],
            examples: ["tresor card --number", "tresor card -o anna.card"])
    }

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var person: String?

    @Flag(help: "Print only the safety number.")
    var number = false

    @Flag(help: "Write your card to the store again.")
    var publish = false

    @Option(name: .short, help: ArgumentHelp("Write the card to FILE.", valueName: "FILE"), completion: .file())
    var output: String?

    @Flag(help: "Replace FILE.")
    var force = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard person == nil || !publish else { throw CommandFailure.usage("--publish takes no PERSON") }
        if let file { try refuseReplacing(file) }
        let needsStore = person != nil || publish
        // Where a stick is missing, an empty store would hide that.
        let context =
            needsStore
            ? try await CommandContext.open(options, creating: publish && options.store != nil)
            : try CommandContext.local(options)
        if let file { try context.invocation.refuseOwnFile(file.path) }
        let chain = try await chain(context)
        if publish {
            do throws(TresorError) {
                try await context.client.people.publishCard()
            } catch {
                if error == .forked { throw await context.otherKeys(than: chain) }
                guard error == .unverified else { throw CommandFailure(error) }
                throw CommandFailure(
                    of: error, "somebody else has a card under \(DisplayText.name(chain.handle.bytes)) in this store")
            }
            let name = DisplayText.name(chain.handle.bytes)
            context.output.say("your card is published as \(name): \(try chain.number().grouped)")
            guard number || output != nil || options.json else { return }
        }
        try print(chain, context)
    }

    private var file: OutputFile? {
        guard let output, output != "-" else { return nil }
        return OutputFile(path: output, access: .everybody, replaces: force)
    }

    private func refuseReplacing(_ file: OutputFile) throws(CommandFailure) {
        do {
            try file.check()
        } catch {
            throw CommandFailure(error.error, error.message, hints: force ? [] : ["tresor … --force"], file: error.file)
        }
    }

    private func chain(_ context: CommandContext) async throws -> CardChain {
        guard let person else { return try context.identityFile().chain }
        return try await context.people.find(person).chain
    }

    private func print(_ chain: CardChain, _ context: CommandContext) throws {
        let grouped = try chain.number().grouped
        if let file {
            let bytes = number ? Array((grouped + "\n").utf8) : chain.armoured
            try file.write(bytes.span)
            try file.commit()
        }
        if options.json {
            try context.output.object([
                "type": "card", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
                "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(grouped),
                "card": .text(chain.armoured),
            ])
        } else if file == nil {
            if number {
                try context.output.line(grouped)
            } else {
                try context.output.line(String(decoding: chain.armoured.dropLast(), as: UTF8.self))
            }
        }
    }
}
