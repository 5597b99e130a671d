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

    /// How a person's identity is proved on this occasion.
    struct Proof {
        var number: String?
        var card: String?
        var accept = false
        /// Whether to ask a person at the terminal about a card that was brought by hand.
        var asks = false
        /// The answer of `--batch` when nobody can be asked.
        var refusal: CommandFailure
    }

    /// Makes sure that a person is verified, asks if necessary, and pins the compared card.
    ///
    /// - Returns: the very chain that was compared.
    func verified(_ person: Candidate, by proof: Proof, replacing: Bool = false) throws -> CardChain {
        if try proves(person, by: proof, replacing: replacing) { try pin(person.chain, replacing: replacing) }
        return person.chain
    }

    /// Compares a person's number, or asks for it.
    ///
    /// - Returns: whether it was compared now; `false` for a person who is verified already.
    /// - Throws: 16 when it differs, or when nobody can be asked.
    func proves(_ person: Candidate, by proof: Proof, replacing: Bool = false) throws -> Bool {
        let chain = person.chain
        let name = name(of: chain)
        if let typed = proof.number {
            if let change = try changeOfNumber(chain) { output.say(change) }
            guard try number(typed) == chain.number() else {
                throw CommandFailure(
                    .unverified, "the safety number of \(name) differs: the store offers \(try chain.number().grouped)")
            }
        } else if let card = proof.card {
            guard person.brought == chain else { throw Self.otherCard(card, of: person) }
            try show(chain, asking: proof.asks)
        } else {
            if person.trust.isVerified, !replacing { return false }
            if proof.accept { return false }
            try compare(chain, otherwise: proof.refusal)
        }
        return true
    }

    func pin(_ chain: CardChain, replacing: Bool = false) throws {
        guard chain.user != (try client.people.ownChain()?.user) else { return }
        try client.people.pinBlocking(chain, replacing: replacing)
        output.say("\(name(of: chain)) is verified")
    }

    /// 30 digits as they were typed.
    func number(_ typed: String) throws(CommandFailure) -> SafetyNumber {
        do {
            return try SafetyNumber(typed: typed)
        } catch {
            throw .usage("a safety number has 30 digits", hints: ["tresor card --number"])
        }
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

    /// Shows the number that a card brought by hand is about to be pinned with.
    private func show(_ chain: CardChain, asking: Bool) throws {
        let name = name(of: chain)
        let change = try changeOfNumber(chain)
        guard asking, invocation.hasTerminal else {
            if let change { output.say(change) }
            return output.say("the safety number of \(name) in this card: \(try chain.number().grouped)")
        }
        let terminal = try invocation.person(or: .usage("there is no terminal to ask at"))
        try terminal.show((change.map { $0 + "\n" } ?? "") + "  \(name)  \(try chain.number().grouped)\n")
        guard try terminal.confirms("is this the safety number of \(name)?") else {
            throw CommandFailure(.unverified, "\(name) is not verified; nothing was changed")
        }
    }

    /// Shows both numbers, one above the other, and asks.
    private func compare(_ chain: CardChain, otherwise refusal: CommandFailure) throws {
        let terminal = try invocation.person(or: refusal)
        let name = name(of: chain)
        let width = max(name.count, 3)
        func row(_ label: String, _ number: SafetyNumber) -> String {
            "  \(label)\(String(repeating: " ", count: width - label.count))  \(number.grouped)\n"
        }
        var text = try changeOfNumber(chain).map { $0 + "\n" } ?? ""
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
        let trust = try session.client.trust.founderTrustBlocking(in: state)
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
}
