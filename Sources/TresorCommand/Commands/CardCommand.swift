// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct CardCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "card", group: .you, abstract: "Print a card, or its number.",
            usage: "tresor card [PERSON] [--number] [--publish] [-o FILE]",
            discussion: "Without PERSON the card is mine. --publish puts mine into the store again.",
            classes: [.store, .local], further: [.busy], examples: ["tresor card --number", "tresor card -o anna.card"])
    }

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var person: String?

    @Flag(help: "Print only the number.")
    var number = false

    @Flag(help: "Put my card into the store again.")
    var publish = false

    @Option(name: .short, help: ArgumentHelp("Write the card to FILE.", valueName: "FILE"))
    var output: String?

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard person == nil || !publish else { throw CommandFailure.usage("--publish takes no PERSON") }
        let needsStore = person != nil || publish
        let workplace = needsStore ? try await Workplace.open(options, creating: publish) : try Workplace.local(options)
        let chain = try await chain(workplace)
        if publish {
            do throws(TresorError) {
                try await workplace.client.publishCard()
            } catch {
                guard error == .unverified else { throw CommandFailure(error) }
                throw CommandFailure(error, "somebody else has a card under \(Shown.name(chain.handle.bytes)) in this store")
            }
            workplace.output.say("the card of \(Shown.name(chain.handle.bytes)) is in the store")
        }
        try print(chain, workplace)
    }

    private func chain(_ workplace: Workplace) async throws -> CardChain {
        guard let person else { return try workplace.identityFile().chain }
        return try await workplace.person(person).chain
    }

    private func print(_ chain: CardChain, _ workplace: Workplace) throws {
        let grouped = try chain.number().grouped
        let isPrinted = output == nil || output == "-"
        if let output, !isPrinted {
            let file = OutputFile(path: output, access: .everybody)
            let bytes = number ? Array((grouped + "\n").utf8) : chain.armoured
            try file.write(bytes.span)
            try file.commit()
        }
        if options.json {
            try workplace.output.object([
                "type": "card", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
                "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(grouped),
                "card": .text(chain.armoured),
            ])
        } else if isPrinted {
            if number { try workplace.output.line(grouped) } else { try workplace.output.line(String(decoding: chain.armoured.dropLast(), as: UTF8.self)) }
        }
    }
}
