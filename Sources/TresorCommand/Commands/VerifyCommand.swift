// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct VerifyCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "verify", group: .you, abstract: "Compare a person's number with them, once.",
            usage: "tresor verify PERSON [--number DIGITS | --card FILE] [--replace] [--yes]",
            discussion: """
                Shows both numbers; the other person reads theirs out, for example by telephone. --replace pins another person \
                under a handle that was verified before.
                """,
            classes: [.store, .write],
            examples: [
                "tresor verify dr-house", "tresor verify dr-house --number \"80031 26649 91275 04418 65520 37792\"",
            ])
    }

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var person: String

    @Option(help: ArgumentHelp("The 30 digits that the person read out.", valueName: "DIGITS"))
    var number: String?

    @Option(help: ArgumentHelp("A card that was brought by hand.", valueName: "FILE"))
    var card: String?

    @Flag(help: "Let this person take the place of another one under the handle.")
    var replace = false

    @Flag(help: "Do not ask before replacing.")
    var yes = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard number == nil || card == nil else {
            throw CommandFailure.usage("--number and --card cannot both be given")
        }
        guard !options.batch || number != nil || card != nil else {
            throw CommandFailure.usage("--batch needs a number", hints: ["tresor … --number \"DIGITS\""])
        }
        let workplace = try await Workplace.open(options)
        let person = try await found(workplace)
        guard person.trust != .me else { throw CommandFailure.usage("that is you") }
        if case .changed(let pinned) = person.trust { try confirmReplacing(pinned, by: person.chain, workplace) }
        let proof = Workplace.Proof(
            number: number, card: card,
            refusal: .usage("there is no terminal to compare numbers at", hints: ["tresor … --number \"DIGITS\""]))
        let chain = try workplace.verified(person, by: proof, replacing: replace)
        if number == nil, card == nil, person.trust == .verified, !replace {
            workplace.output.say("\(Shown.name(chain.handle.bytes)) is verified")
        }
        var object: JSONObject = [
            "type": "verified", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(try chain.number().grouped),
        ]
        if case .changed(let pinned) = person.trust {
            let old = try await tresorsNaming(pinned.user, workplace)
            for tresor in old {
                workplace.output.say("tresor \(tresor.description.prefix(10)) still names the person from before")
            }
            object["replaced_number"] = .string(try pinned.number().grouped)
            object["tresors_naming_replaced"] = .array(old.map { .string($0.description) })
        }
        if options.json { try workplace.output.object(object) }
    }

    private func found(_ workplace: Workplace) async throws -> Candidate {
        if replace {
            let people = try await workplace.client.people(named: person)
            let changed = people.filter { if case .changed = $0.trust { true } else { false } }
            if changed.count == 1 { return Candidate(chain: changed[0].chain, trust: changed[0].trust) }
        }
        return try await workplace.person(person, card: card)
    }

    private func confirmReplacing(_ pinned: CardChain, by chain: CardChain, _ workplace: Workplace) throws {
        guard replace else { return }
        let name = Shown.name(chain.handle.bytes)
        workplace.output.explain("  before  \(try pinned.number().grouped)\n  now     \(try chain.number().grouped)")
        try workplace.confirm("\(name) was somebody else until now. replace them?", yes: yes)
    }

    /// Tresors go on naming the old id; whoever replaced a person must know which.
    private func tresorsNaming(_ old: UserID, _ workplace: Workplace) async throws -> [TresorID] {
        var naming: [TresorID] = []
        for tresor in try workplace.client.knownTresors() {
            let state = try? await workplace.client.state(of: tresor)
            if state?.members[old] != nil { naming.append(tresor) }
        }
        return naming
    }
}
