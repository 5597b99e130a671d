// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore

struct ShareCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "share", group: .tresors, abstract: "Add people to one or more tresors.",
            usage: """
                tresor share -t T… PERSON… [--role reader|writer|owner] [--from-now] [--until DATE]
                         [--number DIGITS] [--card FILE [--yes]] [--accept-unverified]
                         [--wait[=SECONDS]] [-n]
                """,
            discussion: """
                Shows the safety number of each unverified PERSON and of a card: compare it by telephone. \
                --number says which one a card must have. Without a terminal, a card answers alone, and its number is \
                shown. Adds all PERSONs to a \
                tresor, or none. With several -t, the number is compared once, and the tresors are changed one \
                after the other. The date of --until does not revoke a key by itself: after it, check reports that \
                it has passed, and the next act of an owner removes the person. In a tresor with approvers the people \
                wait; --wait returns once they are approved.
                """,
            classes: [.identity, .write], further: [.noAccess, .waiting],
            examples: [
                "tresor share -t interventions dr-house", "tresor share -t interventions dr-house --from-now -n",
            ])
    }

    @OptionGroup var tresor: TresorsOption

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var people: [String]

    @Option(
        help: ArgumentHelp(
            "The role: reader, writer or owner; reader, or the present role, if omitted.", valueName: "ROLE"))
    var role: RoleArgument?

    @Flag(help: "Give no access to earlier files; change the key.")
    var fromNow = false

    @Option(help: ArgumentHelp("Remove the people with the first act of an owner after DATE.", valueName: "DATE"))
    var until: DateArgument?

    @Option(help: ArgumentHelp("The safety number, 30 digits, that the one PERSON read to you.", valueName: "DIGITS"))
    var number: String?

    @Option(
        help: ArgumentHelp("The card of the one PERSON, received from them directly.", valueName: "FILE"),
        completion: .file())
    var card: String?

    @Flag(help: "Do not ask about the card.")
    var yes = false

    @Flag(help: "Add the people without comparing their safety numbers.")
    var acceptUnverified = false

    @Option(
        help: ArgumentHelp(
            "Wait until an approver has decided, at most this long; 300 seconds if left out.", valueName: "SECONDS"))
    var wait: Int?

    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Show who would gain access, and change nothing.")
    var dryRun = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        try checkArguments()
        let context = try await CommandContext.open(options)
        if let until, until.end.seconds < context.now {
            let clock = Timestamp(seconds: context.now).date
            throw CommandFailure.usage("--until has passed already: this clock says \(clock)")
        }
        let people = try await candidates(context)
        let session = try await context.unlock(to: "sign a change to \(tresor.shown)")
        try await ShareRun(command: self, people: people, session: session, context: context).perform()
    }

    private func checkArguments() throws(CommandFailure) {
        guard !acceptUnverified || (number == nil && card == nil) else {
            throw .usage("--accept-unverified goes with neither --number nor --card")
        }
        guard !yes || card != nil else { throw .usage("--yes goes with --card") }
        guard people.count == 1 || (number == nil && card == nil) else {
            throw .usage("--number and --card answer for one PERSON")
        }
        guard wait.map({ (0...86_400).contains($0) }) ?? true else {
            throw .usage("--wait takes at most 86400 seconds")
        }
        guard !(fromNow && role == .owner) else { throw .usage("an owner reads everything; leave out --from-now") }
    }

    /// Finds everyone named on the command line. Reads each card once, so keys are wrapped to the compared card.
    private func candidates(_ context: CommandContext) async throws -> [Candidate] {
        var found: [Candidate] = []
        for name in people {
            let person = try await context.people.find(
                name, card: card, takesCard: people.count == 1 && !acceptUnverified,
                namesake: acceptUnverified ? .keepsHandle : .sharesHandle)
            guard person.trust != .me else {
                throw CommandFailure.usage("\(DisplayText.name(name)) is you, and you are a member already")
            }
            guard !found.contains(where: { $0.chain.user == person.chain.user }) else {
                throw CommandFailure.usage("\(DisplayText.name(name)) is named twice")
            }
            found.append(person)
        }
        return found
    }
}

enum RoleArgument: String, CaseIterable, ExpressibleByArgument, Sendable {
    case reader, writer, owner

    var role: Role {
        switch self {
        case .reader: .reader
        case .writer: .writer
        case .owner: .owner
        }
    }
}
