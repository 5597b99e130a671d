// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct CreateCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "create", group: .tresors, abstract: "Make a tresor.", usage: "tresor create NAME",
            discussion: "Prints its id. I am its owner.", classes: [.identity, .write],
            examples: ["tresor create interventions"])
    }

    @Argument(help: ArgumentHelp("The tresor's name, which the store does not learn.", valueName: "NAME"))
    var name: String

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let tresorName = try Workplace.name(name, of: "a tresor's name")
        let workplace = try await Workplace.open(options)
        let session = try await workplace.unlock(to: "make a tresor")
        let state: State
        do throws(TresorError) {
            state = try await session.create(tresorName)
        } catch {
            guard error == .usage else { throw CommandFailure(error) }
            throw CommandFailure.usage(
                "a tresor of yours is called \(Shown.name(name)) already", hints: ["tresor list"])
        }
        guard options.json else {
            try workplace.output.line(state.tresor.description)
            workplace.output.say("\(Shown.name(name)) is made")
            return
        }
        try workplace.output.object([
            "type": "tresor", "tresor": .string(state.tresor.description), "name": .text(tresorName.bytes),
            "owner": .text(session.identity.handle.bytes), "role": "owner", "people": 1, "key": 1, "state": "ok",
        ])
    }
}
