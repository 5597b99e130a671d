// SPDX-License-Identifier: Apache-2.0

import Tresor

/// Somebody a text means, and why to believe it.
struct Candidate: Sendable {
    let chain: CardChain
    let trust: Person.Trust
    /// A card that was brought by hand for this person.
    var brought: CardChain?
}

extension CommandContext {
    /// The one person that a handle or a user id of at least 6 characters means.
    ///
    /// - Throws: 10 for nobody, 16 for several unpinned ones or a changed one, 64 for several pinned ones.
    ///
    /// - Parameter card: a file with a card brought by hand. It stands for somebody whose card the store does not have, or
    ///   shows in an older generation.
    func person(_ text: String, card: String? = nil) async throws -> Candidate {
        var people: [Candidate]
        do throws(TresorError) {
            people = try await client.people.named( text).map { Candidate(chain: $0.chain, trust: $0.trust) }
        } catch {
            throw CommandFailure(error, "the card of \(DisplayText.name(text)) is \(Self.words(for: error))")
        }
        if let card { try bring(try readCard(card), for: text, among: &people) }
        for person in people {
            if case .changed(let pinned) = person.trust { throw try changed(person.chain, from: pinned) }
        }
        guard let first = people.first else { throw try nobody(text) }
        guard people.count == 1 else {
            let ids = people.map { Self.short($0.chain.user.description, unlike: text) }
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

    /// The store may offer somebody else under a pinned handle; the pinned person is used.
    private func reportImpostors(of person: Candidate) async throws {
        guard let others = try? await client.people.impostors(of: person.chain.handle), let other = others.first else {
            return
        }
        let card = "\(DisplayText.name(person.chain.handle.bytes)), \(try other.chain.number().grouped)"
        output.say("the store also offers another card for \(card); the person you verified is used")
    }

    private static func words(for error: TresorError) -> String {
        switch error {
        case .forked: "older than, or different from, one that was seen before"
        case .altered: "damaged or forged"
        default: CommandFailure(error).message
        }
    }

    private func nobody(_ text: String) throws -> CommandFailure {
        let known = try client.people.pinned().map(\.chain.handle.text)
        let hints = Suggestion.near(text, among: known).map {
            "did you mean: \(HintCompletion.replacing(text, with: $0))"
        }
        let store = (try? invocation.places.store()).map { " at \(DisplayText.quoted($0))" } ?? ""
        return CommandFailure(
            .notFound, "there is no card of \(DisplayText.name(text)) in the store\(store)",
            hints: hints + ["tresor … --card FILE"])
    }

    func changed(_ offered: CardChain, from pinned: CardChain) throws -> CommandFailure {
        let name = DisplayText.name(offered.handle.bytes)
        return CommandFailure(
            .unverified,
            "the store offers another person under the handle \(name): number \(try offered.number().grouped), verified before: \(try pinned.number().grouped)",
            hints: ["tresor verify \(Self.short(offered.user)) --replace"])
    }

    /// What is said of somebody whose newest keys nobody has compared yet.
    func renewed(_ chain: CardChain) -> CommandFailure {
        CommandFailure(
            .unverified, "\(DisplayText.name(chain.handle.bytes)) has new keys: compare numbers again",
            hints: ["tresor verify \(Shell.word(chain.handle, or: chain.user))"])
    }

    /// What has to be said first of a number that is not the one that was compared before; `nil` of any other.
    func changeOfNumber(_ chain: CardChain) throws -> String? {
        guard let pin = try client.people.pinned().first(where: { $0.chain.user == chain.user }),
            pin.chain.newest != chain.newest
        else { return nil }
        let made = Timestamp(seconds: chain.newest.time).date
        let compared = Timestamp(seconds: pin.time).date
        let name = DisplayText.name(chain.handle.bytes)
        let old = "the number compared on \(compared) was \(try pin.chain.number().grouped)"
        return "THE NUMBER OF \(name) HAS CHANGED: new keys since \(made); \(old)"
    }

    /// Everybody a log names whose keys are newer than those that were compared, or whose handle is pinned to somebody else.
    func peopleToCompare(in state: LogState) -> [CardChain] {
        state.everybody.filter { user in
            switch try? client.trust.memberTrust(of: user, in: state) {
            case .renewed, .changed: true
            case .me, .verified, .unverified, nil: false
            }
        }.compactMap { state.chain(of: $0) }
    }

    /// A user id as a person can type it.
    static func short(_ user: UserID) -> String { String(user.description.prefix(10)) }

    /// An id as a person can type it where `text` means several: somebody's handle, or some tresor's name, can be the beginning of it.
    static func short(_ id: String, unlike text: String) -> String {
        let short = String(id.prefix(10))
        return Array(short.utf8) == Array(text.utf8) ? id : short
    }

    /// How a person's identity is proved on this occasion.
    struct Proof {
        var number: String?
        var card: String?
        var accept = false
        /// Whether a card that was brought by hand is asked about where somebody is at a terminal.
        var asks = false
        /// What `--batch` answers when nobody can be asked.
        var refusal: CommandFailure
    }

    /// Makes sure that a person is verified, asking if need be, and pins what was compared.
    ///
    /// - Returns: the very chain that was compared.
    func verified(_ person: Candidate, by proof: Proof, replacing: Bool = false) throws -> CardChain {
        if try proves(person, by: proof, replacing: replacing) { try pin(person.chain, replacing: replacing) }
        return person.chain
    }

    /// Compares a person's number, or asks for it.
    ///
    /// - Returns: whether it was compared now; `false` for somebody who need not be.
    /// - Throws: 16 when it differs, or when nobody can be asked.
    func proves(_ person: Candidate, by proof: Proof, replacing: Bool = false) throws -> Bool {
        let chain = person.chain
        let name = DisplayText.name(chain.handle.bytes)
        if let typed = proof.number {
            if let change = try changeOfNumber(chain) { output.say(change) }
            guard try number(typed) == chain.number() else {
                throw CommandFailure(
                    .unverified, "the number of \(name) differs: the store offers \(try chain.number().grouped)")
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
        guard chain.user != (try client.ownChain()?.user) else { return }
        try client.people.pin(chain, replacing: replacing)
        output.say("\(DisplayText.name(chain.handle.bytes)) is verified")
    }

    /// 30 digits as they were typed.
    func number(_ typed: String) throws(CommandFailure) -> SafetyNumber {
        do {
            return try SafetyNumber(typed: typed)
        } catch {
            throw .usage("a number has 30 digits", hints: ["tresor card --number"])
        }
    }

    /// A card that was brought by hand, binary or armoured.
    func readCard(_ path: String) throws -> CardChain {
        try refuseStore(path)
        return try CardFile.read(try InputFile(path, standardInput: invocation.standardInput))
    }

    /// Puts a card that was brought by hand beside what the store and the pins show (SPEC §7.5): one that goes on from
    /// there takes its place.
    private func bring(_ card: CardChain, for text: String, among people: inout [Candidate]) throws {
        guard let known = people.first, people.count == 1 else {
            let isMeant = (try? Name(typed: text)) == card.handle || Base32.matches(text, card.user.digest.bytes)
            guard people.isEmpty, isMeant else { return }
            people = [Candidate(chain: card, trust: try client.people.trust(in: card), brought: card)]
            return
        }
        if known.chain.user == card.user, card.extends(known.chain), known.trust != .me {
            people = [Candidate(chain: card, trust: try client.people.trust(in: card), brought: card)]
        } else {
            people[0].brought = card
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
        let name = DisplayText.name(chain.handle.bytes)
        let change = try changeOfNumber(chain)
        guard asking, invocation.hasTerminal else {
            if let change { output.say(change) }
            return output.say("the number of \(name) in this card: \(try chain.number().grouped)")
        }
        let terminal = try invocation.person(or: .usage("there is no terminal to ask at"))
        try terminal.show((change.map { $0 + "\n" } ?? "") + "  \(name)  \(try chain.number().grouped)\n")
        guard try terminal.confirms("is this the number of \(name)?") else {
            throw CommandFailure(.unverified, "\(name) is not verified; nothing was changed")
        }
    }

    /// Shows both numbers, one above the other, and asks.
    private func compare(_ chain: CardChain, otherwise refusal: CommandFailure) throws {
        let terminal = try invocation.person(or: refusal)
        let name = DisplayText.name(chain.handle.bytes)
        let width = max(name.count, 3)
        func row(_ label: String, _ number: SafetyNumber) -> String {
            "  \(label)\(String(repeating: " ", count: width - label.count))  \(number.grouped)\n"
        }
        var text = try changeOfNumber(chain).map { $0 + "\n" } ?? ""
        if let mine = try client.ownChain() { text += row("you", try mine.number()) }
        text += row(name, try chain.number())
        try terminal.show(text)
        guard try terminal.confirms("ask \(name) to read their number to you. do they match?") else {
            throw CommandFailure(.unverified, "\(name) is not verified; nothing was changed")
        }
    }

    /// Asks for the owner of a tresor to be verified, where that is what a command lacks.
    ///
    /// - Throws: 16 when they are not verified, and always when the handle is known as somebody else's.
    func verifyFounder(of state: LogState, for session: Session, accept: Bool, hint: String) async throws {
        let trust = try session.client.trust.founderTrust(in: state)
        guard !trust.isVerified, let chain = state.chain(of: state.founder) else { return }
        let name = DisplayText.name(chain.handle.bytes)
        if case .changed(let pinned) = trust { throw try changed(chain, from: pinned) }
        guard !accept else { return }
        // The founder's newer keys were compared: an owner's next act puts them into the log, before anything else.
        if state.members[session.identity.user]?.role == .owner, try client.trust.isKnownFromBefore(state) { return }
        guard chain.user != (try? client.identityFile().chain.user) else {
            throw madeWithOldKeys(state.tresor, hint: hint)
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

    /// A tresor that bears this person's own name, and that whoever has their old keys can have made.
    func madeWithOldKeys(_ tresor: TresorID, hint: String) -> CommandFailure {
        let id = tresor.description.prefix(10)
        return CommandFailure(
            .unverified, "\(id) was made with your old keys, and nothing here proves that it was by you",
            hints: ["tresor verify --mine \(id)", hint].filter { !$0.isEmpty })
    }
}
