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

/// The fate of a pinned person whose handle the person meant has too.
enum Namesake: Sendable {
    /// The pinned person keeps the handle; the other one is refused.
    case keepsHandle
    /// The pinned person shares the handle with somebody who is named by their user id.
    case sharesHandle
    /// The pinned person loses the handle.
    case losesHandle

    /// Whether a text may mean this person, who has the handle of a pinned one.
    fileprivate func allows(_ chain: CardChain, typed text: String) -> Bool {
        switch self {
        case .keepsHandle: false
        case .sharesHandle: (try? Name(typed: text)) != chain.handle
        case .losesHandle: true
        }
    }
}

/// Finds the people named on the command line, among pinned people and the cards the store offers.
struct PersonResolver: Sendable {
    let invocation: Invocation
    let client: Client

    /// The options whose values are people. Elsewhere they are operands.
    private static let personOptions = ["--approver", "--from"]

    /// The one person that a handle or a user id of at least 6 characters means.
    ///
    /// - Throws: 10 for nobody, 16 for several unpinned ones or a changed one, 64 for several pinned ones.
    ///
    /// - Parameter card: a file with a card brought by hand. It counts if the store does not have the card, or
    ///   shows an older generation.
    /// - Parameter takesCard: whether the command can take the option `--card` for this person.
    /// - Parameter namesake: the fate of a pinned person whose handle they have.
    func find(
        _ text: String, card: String? = nil, takesCard: Bool = false, namesake: Namesake = .keepsHandle
    ) async throws -> Candidate {
        var people = try await candidates(text, namesake)
        if let card { people = [try await bring(card, for: text, namesake, among: people)] }
        for person in people {
            guard case .changed(let pinned) = person.trust, !namesake.allows(person.chain, typed: text) else {
                continue
            }
            throw try Self.changed(person.chain, from: pinned)
        }
        guard let first = people.first else { throw await nobody(text, takesCard: takesCard) }
        guard people.count == 1 else {
            let ids = people.map { ShortID.text(of: $0.chain.user, unlike: text) }
            let list = try zip(ids, people).map { "\($0) \(try $1.chain.number().grouped)" }
            let isKnown = people.allSatisfy(\.trust.isVerified)
            throw CommandFailure(
                isKnown ? .usage : .unverified,
                "\(DisplayText.name(text)) can mean several people: \(list.joined(separator: "; "))",
                hints: ids.map { id in
                    isKnown || namesake == .losesHandle
                        ? HintCompletion.replacing(text, with: id, of: Self.personOptions) : "tresor verify \(id)"
                })
        }
        try await reportImpostors(of: first)
        return first
    }

    private func candidates(_ text: String, _ namesake: Namesake) async throws -> [Candidate] {
        do throws(TresorError) {
            var people = try await client.people.lookup(text)
            if namesake == .losesHandle {
                var others = people.filter { if case .changed = $0.trust { true } else { false } }
                if let handle = try? Name(typed: text) { others += try await client.people.impostors(of: handle) }
                // The person with new keys may be meant, and so may the one whom the store offers beside them.
                if !others.isEmpty {
                    people = others + people.filter { if case .renewed = $0.trust { true } else { false } }
                }
            }
            return people.map { Candidate(chain: $0.chain, trust: $0.trust) }
        } catch {
            // The error of a damaged file of this home is none of the card.
            let isOfHome = Surroundings.current.homeFault.failure(for: error) != nil
            guard !isOfHome, let words = Self.words(for: error) else { throw CommandFailure(error) }
            throw CommandFailure(of: error, "the card of \(DisplayText.name(text)) is \(words)")
        }
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
        if case .changed = person.trust { return }
        guard let other = try? await client.people.impostors(of: person.chain.handle).first else { return }
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

    private func nobody(_ text: String, takesCard: Bool) async -> CommandFailure {
        let hints = await handles(near: text).map {
            "did you mean: \(HintCompletion.replacing(text, with: $0, of: Self.personOptions))"
        }
        let store = (try? invocation.places.store()).map { "the store at \(DisplayText.quoted($0))" } ?? "this store"
        return CommandFailure(
            .notFound, "no card for \(DisplayText.quoted(text)) in \(store)",
            hints: hints + [
                takesCard ? "tresor … --card FILE" : "tresor verify \(Shell.word(text)) --card FILE"
            ])
    }

    /// Logs with more entries than these together are not searched for a mistyped handle: each entry is verified.
    private static let mostEntries: UInt64 = 2048

    /// At most three handles near one that stands for nobody: of verified people, then of people whom a log names. A
    /// store lists nobody, so beside these it is asked for the text in small letters, with hyphens for blanks.
    private func handles(near text: String) async -> [String] {
        let verified = ((try? client.people.pinnedBlocking()) ?? []).map(\.chain.handle.text)
        let named = Set(
            searchedStates().flatMap { state in state.everybody.compactMap { state.chain(of: $0)?.handle.text } })
        let mine = try? client.people.ownChain()?.handle.text
        let plain = String(text.lowercased().map { " _.".contains($0) ? "-" : $0 })
        var near = Suggestion.near(text, among: verified)
        for handle in Suggestion.near(text, among: named.sorted()) + [plain] where near.count < 3 {
            guard handle != mine, handle != text, !near.contains(handle) else { continue }
            // A hint to somebody who is not there would help nobody.
            do throws(TresorError) {
                if try await !client.people.lookup(handle).isEmpty { near.append(handle) }
            } catch {
                // A store that fails would keep the person waiting for each handle.
                break
            }
        }
        return near
    }

    /// The states of the shortest logs that this home has verified.
    private func searchedStates() -> [LogState] {
        let heads = ((try? client.logs.knownBlocking()) ?? []).compactMap { tresor in
            (try? client.archive.pinnedHead(of: tresor)).map { (tresor: tresor, count: $0.sequence + 1) }
        }
        var rest = Self.mostEntries
        return heads.sorted { $0.count < $1.count }.prefix { head in
            guard head.count <= rest else { return false }
            rest -= head.count
            return true
        }.compactMap { try? client.archive.verifiedState(of: $0.tresor) }
    }

    /// The failure when the store offers another person in place of a pinned one.
    static func changed(
        _ offered: CardChain, from pinned: CardChain, hints: [String]? = nil
    ) throws -> CommandFailure {
        let name = DisplayText.name(offered.handle.bytes)
        let id = ShortID.text(of: offered.user)
        return CommandFailure(
            .unverified,
            "the store offers another person under the handle \(name): "
                + "safety number \(try offered.number().grouped), verified before: \(try pinned.number().grouped)",
            // The store may have no card of theirs: a log names them.
            hints: hints ?? ["tresor verify \(id)", "tresor verify \(id) --card FILE", "tresor verify \(id) --replace"])
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

    /// Reads a card that was brought by hand, binary or armoured, and compares it with the store and the pins (SPEC
    /// §7.5). A card that extends what they show replaces it.
    ///
    /// - Parameter people: the people whom the text means without the card.
    /// - Throws: 10 or 16 for the card of somebody else than the text means.
    private func bring(
        _ path: String, for text: String, _ namesake: Namesake, among people: [Candidate]
    ) async throws -> Candidate {
        try invocation.refuseStore(path, invocation.ownFiles)
        let card = try CardFile.read(try InputFile(path, standardInput: invocation.standardInput))
        var known = people.first { $0.chain.user == card.user }
        if known == nil {
            let isNamed = (try? Name(typed: text)) == card.handle
            guard isNamed || Base32.namedBy(text, card.user.digest.bytes), people.isEmpty || namesake == .losesHandle
            else { throw Self.another(card, in: path, than: text, people.first) }
            known = try await offered(card.user)
        }
        guard let known, known.trust == .me || !card.extends(known.chain) else {
            return Candidate(chain: card, trust: try client.people.trustBlocking(in: card), brought: card)
        }
        return Candidate(chain: known.chain, trust: known.trust, brought: card)
    }

    private func offered(_ user: UserID) async throws -> Candidate? {
        do throws(TresorError) {
            let person = try await client.people.person(user)
            return Candidate(chain: person.chain, trust: person.trust)
        } catch {
            guard error == .notFound else { throw error }
            return nil
        }
    }

    /// The failure for the card of somebody else than a text means. The hint names them by their user id.
    private static func another(
        _ card: CardChain, in path: String, than text: String, _ meant: Candidate?
    ) -> CommandFailure {
        let (file, name) = (DisplayText.quoted(path), DisplayText.name(card.handle.bytes))
        let id = ShortID.text(of: card.user, unlike: text)
        let message: String
        if let meant, meant.chain.handle == card.handle {
            let standing = meant.trust.isVerified ? "whom you verified" : "whom the store offers"
            message = "the card in \(file) is of another \(name), \(id), than the one \(standing)"
        } else {
            message = "the card in \(file) is of \(name), \(id), and not of \(DisplayText.name(text))"
        }
        return CommandFailure(
            meant == nil ? .notFound : .unverified, message,
            hints: ["did you mean: \(HintCompletion.replacing(text, with: id, of: Self.personOptions))"])
    }
}
