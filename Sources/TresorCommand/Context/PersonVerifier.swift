// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Compares safety numbers and pins people. Asks the person at the terminal if no option gives the answer.
struct PersonVerifier: Sendable {
    let invocation: Invocation
    let client: Client

    private var output: Output { invocation.output }

    private func name(of chain: CardChain) -> String {
        invocation.shownPeople.name(chain.handle, of: chain.user, for: client)
    }

    /// The warning for a safety number that differs from the one compared before; `nil` for any other.
    func changeOfNumber(_ chain: CardChain) throws -> String? {
        guard let pin = try client.people.pinnedBlocking().first(where: { $0.chain.user == chain.user }),
            pin.chain.newest != chain.newest
        else { return nil }
        let made = Timestamp(seconds: chain.newest.time).date
        let compared = Timestamp(seconds: pin.time).date
        let name = name(of: chain)
        let old = "the safety number compared on \(compared) was \(try pin.chain.number().grouped)"
        return "THE SAFETY NUMBER OF \(name) HAS CHANGED: new keys since \(made); \(old)"
    }

    /// The safety number that was compared before this one: of the person's earlier keys, or of another person under the
    /// handle. `nil` where none was.
    func earlierNumber(_ person: Candidate) throws -> SafetyNumber? {
        if case .changed(let pinned) = person.trust { return try pinned.number() }
        let pin = try client.people.pinnedBlocking().first { $0.chain.user == person.chain.user }
        guard let pin, pin.chain.newest != person.chain.newest else { return nil }
        return try pin.chain.number()
    }

    /// The warning that another person, who keeps the handle, was compared before; `nil` where nobody was.
    private func namesake(_ person: Candidate) throws -> String? {
        guard case .changed(let pinned) = person.trust else { return nil }
        let name = DisplayText.name(pinned.handle.bytes)
        return "YOU VERIFIED ANOTHER \(name) BEFORE: \(ShortID.text(of: pinned.user)), safety number "
            + "\(try pinned.number().grouped); both keep the handle, and their user ids tell them apart"
    }

    /// How a person's identity is proved on this occasion.
    struct Proof {
        var number: String?
        var card: String?
        var accept = false
        /// Whether nobody is asked about a card that was brought by hand.
        var asksNobody = false
        /// The answer of `--batch` when nobody can be asked.
        var refusal: CommandFailure
    }

    /// Makes sure that a person is verified, asks if necessary, and pins the compared card.
    ///
    /// - Returns: the very chain that was compared.
    func verified(_ person: Candidate, by proof: Proof, replacing: Bool = false) throws -> CardChain {
        if try proves(person, by: proof, replacing: replacing) { try pin(person, by: proof, replacing: replacing) }
        return person.chain
    }

    /// Compares a person's number, or asks for it.
    ///
    /// - Parameter replacing: whether what was compared before is given up: another person's handle, or earlier keys.
    /// - Returns: whether it was compared now; `false` for a person who is verified already.
    /// - Throws: 16 when it differs, or when nobody can be asked.
    func proves(_ person: Candidate, by proof: Proof, replacing: Bool = false) throws -> Bool {
        let chain = person.chain
        let warnings = [try changeOfNumber(chain), replacing ? nil : try namesake(person)].compactMap(\.self)
        if let typed = proof.number {
            warnings.forEach(tell)
            try compare(typed, with: person, by: proof)
        }
        if let card = proof.card {
            guard person.brought == chain else { throw Self.otherCard(card, of: person) }
            if proof.number == nil { try show(person, warnings, proof, replacing: replacing) }
        }
        guard proof.number == nil, proof.card == nil else { return true }
        if person.trust.isVerified, !replacing { return false }
        if proof.accept { return false }
        try compare(chain, warnings, otherwise: proof.refusal)
        return true
    }

    /// Says what a person has to be shown before a card is pinned (SPEC §7.5): with `-q` too.
    private func tell(_ words: String) { output.explain("tresor: \(words)") }

    /// Pins a person whose number was compared. Another person under the handle keeps it unless they are replaced.
    func pin(_ person: Candidate, by proof: Proof, replacing: Bool = false) throws {
        guard person.chain.user != (try client.people.ownChain()?.user) else { return }
        let isNamesake = if case .changed = person.trust { !replacing } else { false }
        try client.people.pinBlocking(
            person.chain, by: proof.card != nil && proof.number == nil ? .card : .number, replacing: replacing,
            beside: isNamesake)
        output.say("\(name(of: person.chain)) is verified")
    }

    /// 30 digits as they were typed.
    ///
    /// - Parameter name: the person whose number they are, fit to be shown.
    func number(_ typed: String, of name: String) throws(CommandFailure) -> SafetyNumber {
        do {
            return try SafetyNumber(typed: typed)
        } catch {
            let digits = typed.utf8.filter { (0x30...0x39).contains($0) }
            if let meant = try? SafetyNumber(typed: String(decoding: digits, as: UTF8.self)) {
                throw .usage(
                    "blanks alone may stand between the digits of a safety number",
                    hints: [HintCompletion.replacing(typed, with: meant.grouped, of: ["--number"])])
            }
            throw .usage("a safety number has 30 digits", hints: [Self.theirNumber(name)])
        }
    }

    private static func theirNumber(_ name: String) -> String { "ask \(name) to run: tresor card --number" }

    /// Compares a typed number with the card that was brought, or with the one that the store offers.
    private func compare(_ typed: String, with person: Candidate, by proof: Proof) throws {
        let chain = person.brought ?? person.chain
        let name = name(of: chain)
        let told = try number(typed, of: name)
        if try chain.number() == told { return }
        guard try client.people.ownChain()?.number() != told else {
            throw CommandFailure(
                .unverified, "the safety number of \(name) differs: that is your own, and they read theirs to you",
                hints: [Self.theirNumber(name)])
        }
        let shown = try chain.number().grouped
        guard let card = proof.card else {
            throw CommandFailure(
                .unverified,
                "the safety number of \(name) differs: the store offers \(shown), and may not have their newest card",
                hints: ["tresor … --card FILE"])
        }
        throw CommandFailure(
            .unverified, "the safety number of \(name) differs: the card in \(DisplayText.quoted(card)) has \(shown)")
    }

    private static func otherCard(_ path: String, of person: Candidate) -> CommandFailure {
        let name = DisplayText.name(person.chain.handle.bytes)
        let isOlder = person.brought.map { person.chain.extends($0) } ?? false
        return CommandFailure(
            .unverified,
            isOlder
                ? "the card in \(DisplayText.quoted(path)) is older than the newest one of \(name)"
                : "the card in \(DisplayText.quoted(path)) is not the one the store offers for \(name)")
    }

    /// Shows the number that a card brought by hand is about to be pinned with, and asks unless it is pinned already.
    /// Where nobody is asked, a card alone gives up nothing that was compared before.
    private func show(_ person: Candidate, _ warnings: [String], _ proof: Proof, replacing: Bool) throws {
        let chain = person.chain
        let name = name(of: chain)
        guard !proof.asksNobody, !person.trust.isVerified, invocation.hasTerminal else {
            warnings.forEach(tell)
            guard warnings.isEmpty || replacing else {
                throw CommandFailure(
                    .unverified, "a card alone, without its safety number, does not change what you verified before",
                    hints: ["tresor … --number \"DIGITS\""])
            }
            return tell("the safety number of \(name) in this card: \(try chain.number().grouped)")
        }
        let terminal = try invocation.person(or: .usage("there is no terminal to ask at"))
        try terminal.show(warnings.map { $0 + "\n" }.joined() + "  \(name)  \(try chain.number().grouped)\n")
        guard try terminal.confirms("is this the safety number of \(name)?") else {
            throw CommandFailure(.unverified, "\(name) is not verified; nothing was changed")
        }
    }

    /// Shows both numbers, one above the other, and asks.
    private func compare(_ chain: CardChain, _ warnings: [String], otherwise refusal: CommandFailure) throws {
        let terminal = try invocation.person(or: refusal)
        let name = name(of: chain)
        let width = max(name.count, 3)
        func row(_ label: String, _ number: SafetyNumber) -> String {
            "  \(label)\(String(repeating: " ", count: width - label.count))  \(number.grouped)\n"
        }
        var text = warnings.map { $0 + "\n" }.joined()
        if let mine = try client.people.ownChain() { text += row("you", try mine.number()) }
        text += row(name, try chain.number())
        try terminal.show(text)
        guard try terminal.confirms("ask \(name) to read their safety number to you. do they match?") else {
            throw CommandFailure(.unverified, "\(name) is not verified; nothing was changed")
        }
    }

    /// Asks for the owner of a tresor to be verified, if a command needs that.
    ///
    /// - Throws: 16 when they are not verified, and always when the handle is known as another person's; 15 when they are
    ///   this person, with newer keys than this home has.
    func verifyFounder(of state: LogState, for session: Session, accept: Bool, hint: String) async throws {
        let trust = try session.client.trust.founderTrust(in: state)
        guard !trust.isVerified, let chain = state.chain(of: state.founder) else { return }
        let name = name(of: chain)
        if case .changed(let pinned) = trust { throw try PersonResolver.changed(chain, from: pinned) }
        guard !accept else { return }
        // The founder's newer keys were compared: the next act of an owner adds them to the log first.
        if state.members[session.identity.user]?.role == .owner, try client.trust.isKnownFromBefore(state) { return }
        guard chain.user != (try? client.identityFileBlocking().chain.user) else {
            if case .renewed = trust { throw OldKeys.failure }
            throw TresorResolver.madeWithOldKeys(state.tresor, hint: hint)
        }
        let title = session.tresors.knownNameBlocking(of: state.tresor).map { DisplayText.name($0.bytes) }
        if var failure = try outdated(state, title: title ?? ShortID.text(of: state.tresor)) {
            if !hint.isEmpty { failure.hints.append(hint) }
            throw failure
        }
        if try client.trust.isUnproved(state) {
            throw CommandFailure(
                .unverified,
                "nothing in \(state.tresor.description.prefix(10)) is signed with the new keys of \(name), the owner: "
                    + "somebody with the old ones may have made it", hints: hint.isEmpty ? [] : [hint])
        }
        let refusal = CommandFailure(
            .unverified, "\(name), the owner, is not verified",
            hints: ["tresor verify \(Shell.word(chain.handle, or: chain.user)) --number \"DIGITS\"", hint].filter {
                !$0.isEmpty
            })
        _ = try verified(Candidate(chain: chain, trust: trust), by: Proof(refusal: refusal))
    }
    /// The failure for a log that is older here than its founder's keys that were compared. `nil` for any other log, and
    /// for an owner, whose next act adds these keys.
    func outdated(_ state: LogState, title: String) throws -> CommandFailure? {
        guard try client.trust.isOutdated(state) else { return nil }
        let role = try client.people.ownChain().flatMap { state.members[$0.user]?.role }
        if role == .owner, try client.trust.isKnownFromBefore(state) { return nil }
        let tresors = TresorResolver(invocation: invocation, client: client)
        let founder = tresors.handle(of: state.founder, in: state)
        let owner = tresors.handle(of: tresors.owner(of: state), in: state)
        let (verb, remedy) =
            client.isRemote ? ("check --repair", "an owner adds them") : ("export", "import a new export of it")
        return CommandFailure(
            .unverified,
            "the log of \(title) here does not have the new keys of \(founder), which you compared: \(remedy)",
            hints: ["ask \(owner) to run: tresor \(verb) -t \(ShortID.text(of: state.tresor))"])
    }
}
