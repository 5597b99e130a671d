// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct RevokeCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "revoke", group: .tresors,
            abstract: "Remove people from one or more tresors and change the key; or leave.",
            usage: """
                tresor revoke -t T… PERSON… [-n] [--yes]
                tresor revoke -t T… --me [-n] [--yes]
                """,
            discussion: """
                Removed people keep what they have opened or copied, and cannot read anything written from now on. \
                With several -t, the change is shown for each tresor, and one yes answers for all.
                """,
            classes: [.identity, .write], further: [.noAccess],
            examples: ["tresor revoke -t interventions dr-house", "tresor revoke -t interventions --me"])
    }

    @OptionGroup var tresor: TresorsOption

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var people: [String] = []

    @Flag(help: "Leave the tresor yourself.")
    var me = false

    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Show who would lose access, and change nothing.")
    var dryRun = false

    @OptionGroup var consent: ConsentOption
    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard me != !people.isEmpty else { throw CommandFailure.usage("name the people to remove, or --me") }
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "sign a change to \(tresor.shown)")
        try await RevokeRun(command: self, session: session, context: context).perform()
    }
}
