// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct VerifyCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "verify", group: .you, abstract: "Compare a person's safety number with them, once.",
            usage: """
                tresor verify PERSON [--number DIGITS] [--card FILE] [--replace] [--yes]
                tresor verify PERSON --give-up [--yes]
                tresor verify --mine T
                """,
            discussion: """
                Shows both safety numbers; the other person reads theirs to you, for example by telephone. --card \
                takes a card that you received from them, and shows its safety number; --number then says which it \
                has to have. Without a terminal, a card answers alone. Two people with one handle are verified by their \
                user ids. --replace gives up another person who was verified under the handle, \
                or, of somebody who is verified, their earlier keys alone. \
                --give-up takes back that you verified PERSON, for example a wrong one of two with one handle. \
                --mine confirms that you made T, a tresor that still bears your old keys, and adds your new ones. Before you \
                make new keys in a home that was restored, it notes that for them.
                """,
            classes: [.identity, .store, .write],
            examples: [
                "tresor verify dr-house", "tresor verify dr-house --number \"80031 26649 91275 04418 65520 37792\"",
            ])
    }

    @Argument(help: ArgumentHelp("A handle, or a user id of at least 6 characters.", valueName: "PERSON"))
    var person: String?

    @Option(help: ArgumentHelp("The safety number, 30 digits, that the person read to you.", valueName: "DIGITS"))
    var number: String?

    @Option(help: ArgumentHelp("A card that you received from the person.", valueName: "FILE"), completion: .file())
    var card: String?

    @Option(help: ArgumentHelp("A tresor that names you by your old keys.", valueName: "T"))
    var mine: String?

    @Flag(help: "Replace another person under this handle, or their earlier keys.")
    var replace = false

    @Flag(help: "Take back that this person is verified.")
    var giveUp = false

    @Flag(help: "Do not ask about the card, or before replacing or giving up.")
    var yes = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        if let mine { return try await confirm(mine) }
        guard let name = person else { throw CommandFailure.usage("name the person to verify, or --mine T") }
        if giveUp { return try takeBack(name) }
        guard !options.batch || number != nil || card != nil else {
            throw CommandFailure.usage("--batch needs a safety number", hints: ["tresor … --number \"DIGITS\""])
        }
        let context = try await CommandContext.open(options)
        let person = try await found(name, context)
        guard person.trust != .me else { throw CommandFailure.usage("that is you") }
        try reportLookalikes(of: person.chain, context)
        let earlier = try context.verifier.earlierNumber(person)
        let replaced = replace ? try context.client.people.replacedBlocking(by: person.chain) : []
        if !replaced.isEmpty { try confirmReplacing(replaced, by: person.chain, context) }
        let proof = PersonVerifier.Proof(
            number: number, card: card, asksNobody: yes,
            refusal: .usage(
                "there is no terminal to compare safety numbers on", hints: ["tresor … --number \"DIGITS\""]))
        let chain = try context.verifier.verified(person, by: proof, replacing: replace)
        if number == nil, card == nil, person.trust == .verified, !replace {
            let clause = try OccasionWords.pin(of: chain.user, context.client).map { ": \(OccasionWords.clause($0))" }
            context.output.say("\(context.name(of: chain)) is verified\(clause ?? "")")
        }
        var object: JSONObject = [
            "type": "verified", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(try chain.number().grouped),
        ]
        if let pin = try OccasionWords.pin(of: chain.user, context.client) {
            object["how"] = .string(OccasionWords.word(pin.occasion))
        }
        if let earlier { object["earlier_number"] = .string(earlier.grouped) }
        if let first = replaced.first {
            object["replaced_number"] = .string(try first.number().grouped)
            object["tresors_naming_replaced"] = tell(
                try await tresorsNaming(replaced.map(\.user), context), "replaced", context)
        }
        if options.json { try context.output.object(object) }
    }

    /// Takes back that a person is verified. The store is asked for nothing: a wrong one may not be there any more.
    private func takeBack(_ name: String) throws {
        guard number == nil, card == nil, !replace else {
            throw CommandFailure.usage("--give-up takes a PERSON, and none of --number, --card and --replace")
        }
        let context = try CommandContext.local(options)
        let handle = try? Name(typed: name)
        let pins = try context.client.people.pinnedBlocking()
        let named = pins.filter { Base32.namedBy(name, $0.chain.user.digest.bytes) }
        let verified = pins.filter { !$0.isReplaced && ($0.chain.handle == handle || named.contains($0)) }
        // Somebody who was given up before is found by their user id alone.
        let people = (verified.isEmpty ? named : verified).map(\.chain)
        guard let chain = people.first else {
            throw CommandFailure(
                .notFound, "nobody whom you verified is \(DisplayText.quoted(name))", hints: ["tresor check"])
        }
        guard people.count == 1 else {
            let ids = people.map { ShortID.text(of: $0.user, unlike: name) }
            let list = try zip(ids, people).map { "\($0) \(try $1.number().grouped)" }
            throw CommandFailure(
                .usage, "\(DisplayText.name(name)) can mean several people: \(list.joined(separator: "; "))",
                hints: ids.map { HintCompletion.replacing(name, with: $0) })
        }
        let (shown, number) = (context.name(of: chain), try chain.number().grouped)
        context.output.explain("  \(shown)  \(number)")
        let isVerified = !verified.isEmpty
        try context.confirm(
            isVerified ? "\(shown) is verified. take that back?" : "\(shown) was given up. say so again?", yes: yes)
        try context.client.people.giveUpBlocking(chain.user)
        context.output.say(isVerified ? "\(shown) is not verified any more" : "\(shown) stays given up")
        let naming = tell(
            try context.client.logs.knownBlocking().filter { tresor in
                let state = try? context.client.archive.verifiedState(of: tresor)
                return state?.members[chain.user] != nil
            }, "given up", context)
        guard options.json else { return }
        try context.output.object([
            "type": "verified", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(number), "given_up": true,
            "tresors_naming_replaced": naming,
        ])
    }

    /// Says which tresors still name people who were replaced or given up, and lists them.
    private func tell(_ tresors: [TresorID], _ fate: String, _ context: CommandContext) -> JSON {
        for tresor in tresors {
            context.output.say("tresor \(tresor.description.prefix(10)) still names the \(fate) person")
        }
        return .array(tresors.map { .string($0.description) })
    }

    /// Names the people whom this home knows under a handle that looks like this one. They may not be who is meant. Says so
    /// too of a handle that is not spelled as it looks.
    private func reportLookalikes(of chain: CardChain, _ context: CommandContext) throws {
        if let spelling = ShownPeople.spelling(of: chain) { context.output.say(spelling) }
        let mine = try context.client.people.ownChain()?.user
        for other in try context.client.people.lookalikes().others(like: chain.handle, of: chain.user) {
            let who = other.user == mine ? "you are" : "somebody whom you verified is"
            let how = other.handle == chain.handle ? "the same" : "almost the same"
            let names = [other, chain].map { ShownPeople.marked($0.handle, of: $0.user) }
            context.output.say("\(who) called \(how): \(names[0]) is not \(names[1])")
        }
    }

    private func found(_ name: String, _ context: CommandContext) async throws -> Candidate {
        if !replace, card == nil, let other = try await impostor(name, context),
            case .changed(let pinned) = other.trust
        {
            throw try PersonResolver.changed(
                other.chain, from: pinned,
                hints: [HintCompletion.replacing(name, with: ShortID.text(of: other.user)), "tresor … --replace"])
        }
        return try await context.people.find(
            name, card: card, takesCard: true, namesake: replace ? .losesHandle : .sharesHandle)
    }

    /// The person with the given number whom the store offers under the handle of a pinned one.
    private func impostor(_ name: String, _ context: CommandContext) async throws -> Person? {
        guard let number, let handle = try? Name(typed: name) else { return nil }
        let told = try context.verifier.number(number, of: DisplayText.name(name))
        return try await context.client.people.impostors(of: handle).first { try $0.chain.number() == told }
    }

    /// Shows a tresor that bears this person's old keys, asks whether they made it, and notes it.
    private func confirm(_ text: String) async throws {
        guard person == nil, number == nil, card == nil, !replace, !giveUp, !yes else {
            throw CommandFailure.usage("--mine T stands alone")
        }
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "confirm a tresor of yours")
        let summary = try await context.tresors.find(text, for: session, isClaimed: true)
        guard let state = summary.state else { throw CommandFailure(summary.error ?? .notFound) }
        let title = context.tresors.title(of: summary)
        guard state.founder == session.identity.user else {
            throw CommandFailure.usage("\(title) was made by \(context.tresors.handle(of: state.founder, in: state))")
        }
        // The keys of now prove it until there are newer ones. From then on, the person's word does.
        let isProved = summary.founderTrust == .me
        let isNoted = session.tresors.isConfirmedBlocking(state.tresor)
        let asks = !isProved || (!isNoted && context.invocation.hasTerminal)
        if asks {
            try context.proveMarks(session)
            try ask(state, title, withOldKeys: !isProved, context)
            try session.tresors.confirmMineBlocking(state)
        }
        context.output.say(
            asks || isNoted
                ? "\(title) is yours"
                : "\(title) is yours by the keys that you have now; for the time after newer ones, confirm at a terminal that you "
                    + "made it: \(HintCompletion.command("verify --mine \(state.tresor.description.prefix(10))"))")
        if state.members[session.identity.user] != nil { try await context.addNewestCard(of: session, to: state) }
        guard options.json else { return }
        try context.output.object(["type": "tresor", "tresor": .string(state.tresor.description), "state": "ok"])
    }

    private func ask(
        _ state: LogState, _ title: String, withOldKeys isOld: Bool, _ context: CommandContext
    ) throws {
        let terminal = try context.invocation.person(or: .usage("this needs a person at a terminal"))
        let rows = state.members.keys.sorted().map { user in
            let admission = state.admission(of: user, at: state.head.sequence)
            let date = admission.map { Timestamp(seconds: $0.time).date } ?? "-"
            let role = state.members[user]?.role.description ?? "-"
            return "  \(context.tresors.handle(of: user, in: state))  \(role)  since \(date)\n"
        }
        let newest = Timestamp(seconds: state.headTime).date
        try terminal.show("\(title)  \(state.tresor.description)\n\(rows.joined())  newest entry \(newest)\n")
        let keys = isOld ? "old keys" : "keys"
        guard try terminal.confirms("somebody with your \(keys) could have made this; did you make it?") else {
            throw CommandFailure(.unverified, "\(title) is not confirmed; nothing was changed")
        }
    }

    private func confirmReplacing(_ pinned: [CardChain], by chain: CardChain, _ context: CommandContext) throws {
        let name = DisplayText.name(chain.handle.bytes)
        for other in pinned { context.output.explain("  before  \(try other.number().grouped)") }
        context.output.explain("  now     \(try chain.number().grouped)")
        try context.confirm("\(name) was somebody else until now. replace them?", yes: yes)
    }

    /// The tresors that still name one of the old ids, which the caller reports after a replacement.
    private func tresorsNaming(_ old: [UserID], _ context: CommandContext) async throws -> [TresorID] {
        var naming: [TresorID] = []
        for tresor in try context.client.logs.knownBlocking() {
            let state = try? await context.client.logs.state(of: tresor)
            if let state, old.contains(where: { state.members[$0] != nil }) { naming.append(tresor) }
        }
        return naming
    }
}
