// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The person a text means, and the trust in their card.
struct Candidate: Sendable {
    let chain: CardChain
    let trust: Person.Trust
    /// A card that was brought by hand for this person.
    var brought: CardChain?
}

/// Finds the people named on the command line, among pinned people and the cards the store offers.
struct PersonResolver: Sendable {
    let invocation: Invocation
    let client: Client

    /// The one person that a handle or a user id of at least 6 characters means.
    ///
    /// - Throws: 10 for nobody, 16 for several unpinned ones or a changed one, 64 for several pinned ones.
    ///
    /// - Parameter card: a file with a card brought by hand. It counts if the store does not have the card, or
    ///   shows an older generation.
    /// - Parameter takesCard: whether the command can take the option `--card` for this person.
    func find(_ text: String, card: String? = nil, takesCard: Bool = false) async throws -> Candidate {
        var people: [Candidate]
        do throws(TresorError) {
            people = try await client.people.lookup(text).map { Candidate(chain: $0.chain, trust: $0.trust) }
        } catch {
            guard let words = Self.words(for: error) else { throw CommandFailure(error) }
            throw CommandFailure(of: error, "the card of \(DisplayText.name(text)) is \(words)")
        }
        if let card { try bring(try readCard(card), for: text, among: &people) }
        for person in people {
            if case .changed(let pinned) = person.trust { throw try Self.changed(person.chain, from: pinned) }
        }
        guard let first = people.first else { throw try nobody(text, takesCard: takesCard) }
        guard people.count == 1 else {
            let ids = people.map { ShortID.text(of: $0.chain.user, unlike: text) }
            let list = try zip(ids, people).map { "\($0) \(try $1.chain.number().grouped)" }
            let isKnown = people.allSatisfy(\.trust.isVerified)
            throw CommandFailure(
                isKnown ? .usage : .unverified,
                "\(DisplayText.name(text)) can mean several people: \(list.joined(separator: "; "))",
                hints: ids.map { isKnown ? HintCompletion.replacing(text, with: $0) : "tresor verify \($0)" })
        }
        try await reportImpostors(of: first)
        return first
    }

    /// Finds the people who are to approve, and has their safety numbers compared.
    ///
    /// - Throws: 16 for a person who is not verified, if nobody can be asked; the errors of ``find(_:card:)``.
    func approvers(_ names: [String], _ verifier: PersonVerifier) async throws -> [CardChain] {
        var chains: [CardChain] = []
        for name in names {
            let person = try await find(name)
            guard person.trust != .me else { throw CommandFailure.usage("you cannot approve your own shares") }
            guard !chains.contains(where: { $0.user == person.chain.user }) else {
                throw CommandFailure.usage("\(DisplayText.name(name)) is named twice")
            }
            let refusal = CommandFailure(
                .unverified, "\(DisplayText.name(name)) is not verified, and nobody can be asked",
                hints: ["tresor verify \(Shell.word(name)) --number \"DIGITS\""])
            chains.append(try verifier.verified(person, by: PersonVerifier.Proof(refusal: refusal)))
        }
        return chains
    }

    /// Reports another card under a pinned handle; the pinned person is used.
    private func reportImpostors(of person: Candidate) async throws {
        guard let others = try? await client.people.impostors(of: person.chain.handle), let other = others.first else {
            return
        }
        let card = "\(DisplayText.name(person.chain.handle.bytes)), \(try other.chain.number().grouped)"
        invocation.output.say("the store also offers another card for \(card); the person you verified is used")
    }

    private static func words(for error: TresorError) -> String? {
        switch error {
        case .forked: "older than, or different from, one that was seen before"
        case .altered: "damaged or forged"
        default: nil
        }
    }

    private func nobody(_ text: String, takesCard: Bool) throws -> CommandFailure {
        let known = try client.people.pinnedBlocking().map(\.chain.handle.text)
        let hints = Suggestion.near(text, among: known).map {
            "did you mean: \(HintCompletion.replacing(text, with: $0))"
        }
        let store = (try? invocation.places.store()).map { "the store at \(DisplayText.quoted($0))" } ?? "this store"
        return CommandFailure(
            .notFound, "no card for \(DisplayText.quoted(text)) in \(store)",
            hints: hints + [
                takesCard ? "tresor … {--number} --card FILE" : "tresor verify \(Shell.word(text)) --card FILE"
            ])
    }

    /// The failure when the store offers another person in place of a pinned one.
    static func changed(_ offered: CardChain, from pinned: CardChain) throws -> CommandFailure {
        let name = DisplayText.name(offered.handle.bytes)
        return CommandFailure(
            .unverified,
            "the store offers another person under the handle \(name): "
                + "safety number \(try offered.number().grouped), verified before: \(try pinned.number().grouped)",
            hints: ["tresor verify \(ShortID.text(of: offered.user)) --replace"])
    }

    /// The failure for a person whose newest keys have not been compared.
    static func renewed(_ chain: CardChain) -> CommandFailure {
        CommandFailure(
            .unverified, "\(DisplayText.name(chain.handle.bytes)) has new keys: compare safety numbers again",
            hints: ["tresor verify \(Shell.word(chain.handle, or: chain.user))"])
    }

    /// The failure for a person whom this home does not trust, for any reason.
    static func refusal(of chain: CardChain, for client: Client) -> CommandFailure {
        let trust = try? client.people.trustBlocking(in: chain)
        if case .changed(let pinned) = trust, let failure = try? changed(chain, from: pinned) { return failure }
        if case .renewed = trust { return renewed(chain) }
        return CommandFailure(
            .unverified, "\(DisplayText.name(chain.handle.bytes)) is not verified",
            hints: ["tresor verify \(Shell.word(chain.handle, or: chain.user))"])
    }

    /// The people in a log whose keys are newer than the compared ones, or whose handle is pinned to another person.
    func peopleToCompare(in state: LogState) -> [CardChain] {
        state.everybody.filter { user in
            switch try? client.trust.memberTrustBlocking(of: user, in: state) {
            case .renewed, .changed: true
            case .me, .verified, .unverified, nil: false
            }
        }.compactMap { state.chain(of: $0) }
    }

    /// A card that was brought by hand, binary or armoured.
    func readCard(_ path: String) throws -> CardChain {
        try invocation.refuseStore(path)
        return try CardFile.read(try InputFile(path, standardInput: invocation.standardInput))
    }

    /// Compares a card that was brought by hand with the store and the pins (SPEC §7.5). A card that extends what they
    /// show replaces it.
    private func bring(_ card: CardChain, for text: String, among people: inout [Candidate]) throws {
        guard let known = people.first, people.count == 1 else {
            let isMeant = (try? Name(typed: text)) == card.handle || Base32.namedBy(text, card.user.digest.bytes)
            guard people.isEmpty, isMeant else { return }
            people = [Candidate(chain: card, trust: try client.people.trustBlocking(in: card), brought: card)]
            return
        }
        if known.chain.user == card.user, card.extends(known.chain), known.trust != .me {
            people = [Candidate(chain: card, trust: try client.people.trustBlocking(in: card), brought: card)]
        } else {
            people[0].brought = card
        }
    }
}
