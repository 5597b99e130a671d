// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRemote

/// Finds the tresors named on the command line, reads their state, and gives the names shown for them.
struct TresorResolver: Sendable {
    let invocation: Invocation
    let client: Client

    private var output: Output { invocation.output }
    private var now: UInt64 { client.clock() }

    private static let tresorOptions = ["-t", "--tresor"]

    /// The tresor a text means, when the identity is open.
    ///
    /// - Parameters:
    ///   - isReadable: whether its log has to be in order.
    ///   - isClaimed: whether the person says that it is theirs: the name of one that was made with their old keys counts.
    /// - Throws: 10 for none, 64 for several, with the list.
    func find(
        _ text: String, for session: Session, isReadable: Bool = true, isClaimed: Bool = false
    ) async throws -> TresorSummary {
        var found = try await session.tresors.named(text)
        if isClaimed, found.isEmpty, let name = try? Name(typed: text) {
            found = Self.madeWithOldKeys(try await session.tresors.all(), session).filter { $0.name == name }
        }
        guard let first = found.first else {
            let all = try await session.tresors.all()
            let names = all.filter { !$0.isApart }.compactMap { $0.name?.text }
            if let apart = offeredByAStranger(text, among: all) { throw apart }
            let hints = Suggestion.near(text, among: names).map {
                "did you mean: \(HintCompletion.replacing(text, with: $0, of: Self.tresorOptions))"
            }
            throw CommandFailure(
                .notFound, "there is no tresor \(DisplayText.name(text))",
                hints: hints.isEmpty ? ["tresor list"] : hints)
        }
        guard found.count == 1 else {
            let list = found.map { "\(titleAndOwner(of: $0)) \(ShortID.text(of: $0.tresor, unlike: text))" }
            throw CommandFailure(
                .usage, "\(DisplayText.name(text)) can mean several tresors: \(list.joined(separator: "; "))",
                hints: found.map {
                    HintCompletion.replacing(
                        text, with: ShortID.text(of: $0.tresor, unlike: text), of: Self.tresorOptions)
                })
        }
        if isReadable, first.state == nil, let error = first.error { throw logFailure(error, first.tresor) }
        return first
    }

    /// The tresor that a whole id means, without an identity; `nil` for any other text. The beginning of an id can be
    /// the name of another tresor (SPEC §9.12), and names are read with an open identity only.
    func find(id text: String) throws -> TresorID? {
        guard text.utf8.count == 52 else { return nil }
        if let known = try client.logs.knownBlocking().first(where: { Base32.namedBy(text, $0.digest.bytes) }) {
            return known
        }
        return Base32.prefixBytes(text).flatMap { Hash256($0) }.map { TresorID($0) }
    }

    /// `interventions`, or the beginning of the id where the name is not known.
    func title(of summary: TresorSummary) -> String {
        summary.name.map { DisplayText.name($0.bytes) } ?? String(summary.tresor.description.prefix(10))
    }

    /// `interventions of anna`.
    private func titleAndOwner(of summary: TresorSummary) -> String {
        let owner = summary.state.map { " of \(handle(of: $0.founder, in: $0))" } ?? ""
        return title(of: summary) + owner
    }

    /// The failure for a bare name that only an unverified owner's tresor has: the person may have meant it.
    private func offeredByAStranger(_ text: String, among all: [TresorSummary]) -> CommandFailure? {
        let name = try? Name(typed: text)
        let meant = all.filter { $0.isApart && !$0.isHidden && $0.name != nil && $0.name == name }
        guard let first = meant.first, let state = first.state, let owner = state.chain(of: state.founder) else {
            return nil
        }
        let ids = meant.prefix(3).map {
            HintCompletion.replacing(text, with: String($0.tresor.description.prefix(10)), of: Self.tresorOptions)
        }
        if owner.user == (try? client.identityFileBlocking().chain.user) {
            return Self.madeWithOldKeys(first.tresor, hint: ids[0])
        }
        let person = self.name(owner.handle, of: owner.user, in: state)
        return CommandFailure(
            .unverified, "\(DisplayText.name(text)) is offered by \(person), whom you have not verified",
            hints: ["tresor verify \(Shell.word(owner.handle, or: owner.user))"] + ids)
    }

    /// The line that a removed member, or a reader who wants to write, sends to the owner.
    func askToShare(_ summary: TresorSummary, with session: Session, as role: Role? = nil) -> String {
        let owner = summary.state.map { handle(of: self.owner(of: $0), in: $0) } ?? "its owner"
        let person = Shell.word(session.identity.handle, or: session.identity.user)
        let options = role.map { " --role \($0.description)" } ?? ""
        return "ask \(owner) to run: tresor share -t \(word(of: summary))\(options) \(person)"
    }

    /// The name for a command, or the beginning of the id where it is not known.
    func word(of summary: TresorSummary) -> String {
        summary.name.map { Shell.word($0, or: summary.tresor) } ?? String(summary.tresor.description.prefix(10))
    }

    /// The owner of a tresor, to be named and asked: its founder, or another owner once the founder has left.
    func owner(of state: LogState) -> UserID {
        if state.members[state.founder]?.role == .owner { return state.founder }
        return state.members.filter { $0.value.role == .owner }.keys.min() ?? state.founder
    }

    /// The way to the next entry of a log: a command of an owner, or whom to ask for it.
    func rotation(of summary: TresorSummary, for session: Session) -> String {
        let word = word(of: summary)
        guard let state = summary.state, state.members[session.user]?.role != .owner else {
            return "tresor rotate -t \(word)"
        }
        let owner = handle(of: owner(of: state), in: state)
        return "ask \(owner) to run: tresor rotate -t \(word)"
    }

    func handle(of user: UserID, in state: LogState) -> String {
        state.chain(of: user).map { name($0.handle, of: user, in: state) } ?? ShortID.text(of: user)
    }

    /// A handle as it is shown beside the people of a log and those whom this home knows.
    func name(_ handle: Name, of user: UserID, in state: LogState?) -> String {
        invocation.shownPeople.name(handle, of: user, in: state, for: client)
    }

    /// The verified state of a tresor.
    func state(of tresor: TresorID) async throws -> LogState {
        do throws(TresorError) {
            return try await client.logs.state(of: tresor)
        } catch {
            throw logFailure(error, tresor)
        }
    }

    /// The verified state before an act. Updates of this home are added to the log first, and each is reported.
    ///
    /// - Throws: 15 where the log has newer keys of this person; the act would be none by the older ones.
    func settle(_ summary: TresorSummary, _ session: Session) async throws -> LogState {
        if let known = summary.state { try refuseOldKeys(in: known, session) }
        let tresor = summary.tresor
        do {
            let after = try await Interrupts.atomically { try await session.tresors.settle(tresor) }
            await tell(session)
            return after
        } catch let error as TresorError where error == .failed(.clock) {
            try await acceptClock(in: tresor, title(of: summary), session)
            return try await settle(summary, session)
        }
    }

    /// The state before an act that a person is asked about, and the updates of this home that come after the yes.
    ///
    /// - Throws: 15 where the log has newer keys of this person; the act would be none by the older ones.
    func due(in summary: TresorSummary, _ session: Session, dryRun: Bool) async throws -> Due {
        if let known = summary.state { try refuseOldKeys(in: known, session) }
        guard !dryRun else {
            if let known = summary.state { return Due(known) }
            return Due(try await state(of: summary.tresor))
        }
        let due: Due
        do throws(TresorError) {
            due = try await session.tresors.due(in: summary.tresor)
        } catch {
            guard error == .failed(.clock) else { throw error }
            try await acceptClock(in: summary.tresor, title(of: summary), session)
            due = try await session.tresors.due(in: summary.tresor)
        }
        // Before the newer card of a founder is in the log, no act is judged.
        return due.renewed.contains(due.state.founder) ? Due(try await settle(summary, session)) : due
    }

    /// Whether sealing in a tresor brings its log up to date first, or changes its key.
    func changesLog(of tresor: TresorID, _ session: Session) async -> Bool {
        guard let due = try? await session.tresors.due(in: tresor) else { return false }
        return due.state.isRekeyPending || !due.isNothing
    }

    /// Names before a question the updates of this home that come with it.
    func explain(_ due: Due, _ title: String) {
        for user in due.renewed {
            output.explain("\(title) gets the new keys of \(handle(of: user, in: due.state)), which you compared")
        }
        for user in due.ended {
            let name = handle(of: user, in: due.state)
            output.explain("\(name) is removed from \(title)\(lastDay(of: user, in: due.state))")
        }
    }

    /// The date by which somebody is removed, and that of the clock, which may be the wrong one of the two.
    private func lastDay(of user: UserID, in state: LogState) -> String {
        let date = state.endOfGrant(of: user).map { " was \(Timestamp(seconds: $0).date)" } ?? " has passed"
        return ": their last day\(date), and this machine's clock says \(Timestamp(seconds: now).date)"
    }

    /// Says that what is made now is dated long before the newest entry of its log. A service refuses such a clock itself.
    func tellClock(behind state: LogState, _ title: String) {
        guard now + Timestamp.secondsPerDay < state.headTime else { return }
        output.say(
            "this machine's clock says \(Timestamp(seconds: now).date), and the newest entry of \(title) is of "
                + "\(Timestamp(seconds: state.headTime).date): what you make now gets the earlier date; set the clock if it "
                + "is wrong")
    }

    /// Asks whether this clock is right; dates then stay, for the rest of this run. The first entry that an owner makes in
    /// it lets the log support the clock (SPEC §9.7).
    ///
    /// - Throws: 1 without a person, and when they say anything but yes.
    func acceptClock(in tresor: TresorID, _ title: String, _ session: Session) async throws {
        try confirmClock(try await state(of: tresor), title)
        await session.tresors.acceptClock(in: tresor)
    }

    /// Reports changes made besides the requested one.
    func tell(_ session: Session) async {
        for notice in await session.takeNotices() {
            guard let state = try? session.client.archive.verifiedState(of: notice.tresor) else { continue }
            let title =
                session.tresors.knownNameBlocking(of: notice.tresor).map { DisplayText.name($0.bytes) }
                ?? ShortID.text(of: notice.tresor)
            switch notice.deed {
            case .ended(let users):
                for user in users {
                    let name = handle(of: user, in: state)
                    output.say("\(name) was removed from \(title)\(lastDay(of: user, in: state))")
                }
                output.say("\(title) now uses key \(notice.epoch)")
            case .renewed(let user):
                output.say("\(title) now has the new keys of \(handle(of: user, in: state)), which you compared")
            case .rekeyed: output.say("\(title) now uses key \(notice.epoch)")
            case .approvalSpoiled(let approver, let evidence):
                output.say(
                    "\(title): a wrap of key \(notice.epoch) does not open with the approval by "
                        + "\(handle(of: approver, in: state)): the approver, the maker of the wrap, or the store lied; "
                        + "ask an owner for: tresor rotate -t \(ShortID.text(of: notice.tresor)); "
                        + "the evidence is \(Base32.text(evidence.bytes))")
            }
        }
    }

    /// Asks whether to continue although a date has passed by a clock that the log does not support.
    ///
    /// - Throws: 1 without a person, and when they say anything but yes.
    private func confirmClock(_ state: LogState, _ title: String) throws {
        let ended = state.members.merging(state.waiting) { member, _ in member }
            .filter { $0.value.notAfter.map { now > $0 } ?? false }.keys.sorted()
        let names = ended.map { handle(of: $0, in: state) }.joined(separator: ", ")
        let clock = Timestamp(seconds: now).date
        let newest = Timestamp(seconds: state.ownerTime).date
        let refusal = CommandFailure(
            .failed(.clock),
            "this clock says \(clock), too far from the newest entry of an owner of \(title), \(newest): set it; if it is "
                + "right, run at a terminal, which asks: "
                + HintCompletion.command("rotate -t \(ShortID.text(of: state.tresor))"),
            hints: ["tresor check"])
        let terminal = try invocation.person(or: refusal)
        output.say(
            "the last day of \(names) has passed by this clock, \(clock); the newest entry of an owner of \(title) is of "
                + newest)
        output.say(
            "with yes, this command removes nobody by date; what it writes into the log lets the next command do so")
        guard try terminal.confirms("is this clock right?") else {
            throw CommandFailure(.failed(.clock), "nothing was changed")
        }
    }

    /// Asks whether this clock is right before a last day is written that the log does not support: it has passed by the
    /// newest entry of an owner, or this clock is more than a day behind that. A service refuses such a clock itself.
    ///
    /// - Parameter end: the last second of the access.
    /// - Throws: 1 without a person, and when they say anything but yes.
    func confirmLastDay(_ end: UInt64, in state: LogState, _ title: String) throws {
        guard end < state.ownerTime || now + Timestamp.secondsPerDay < state.ownerTime else { return }
        let (clock, newest) = (Timestamp(seconds: now).date, Timestamp(seconds: state.ownerTime).date)
        let words = "this clock says \(clock), and the newest entry of an owner of \(title) is of \(newest)"
        let terminal = try invocation.person(
            or: CommandFailure(
                .failed(.clock), "\(words): set it; if it is right, run this at a terminal, which asks",
                hints: ["tresor check"]))
        output.say("\(words); by that, a last day of \(Timestamp(seconds: end).date) is judged")
        guard try terminal.confirms("is this clock right?") else {
            throw CommandFailure(.failed(.clock), "nothing was changed")
        }
    }

    /// The hints where a store shows another history: a store that the home saw it in too, since the tresor may have moved
    /// there, then a closer look.
    func forkHints(of tresor: TresorID) -> [String] {
        client.archive.otherStores(of: tresor).compactMap { hint(to: $0) }.prefix(1) + ["tresor check"]
    }

    /// The same command with a store in which this home has seen a tresor; `nil` for a former address of the service in use.
    func hint(to store: StoreName) -> String? {
        let path = String(decoding: store.bytes, as: UTF8.self)
        let way = ServiceAddress.isMeant(by: path) ? "" : "{--store-proxy} "
        let hint = "tresor … {--store} {--store-ca} \(way)\(invocation.places.options(to: path))"
        guard let other = try? ServiceAddress(path), let here = try? invocation.places.service() else { return hint }
        let (there, used) = (server(at: other), server(at: here.address))
        return there == nil || there != used ? hint : nil
    }

    /// The service that this home has met at an address; `nil` for none.
    private func server(at address: ServiceAddress) -> Hash256? {
        (try? address.audience.hash()).flatMap { try? KnownServices.server(at: $0, in: client.home) }
    }

    func logFailure(_ error: TresorError, _ tresor: TresorID) -> CommandFailure {
        let id = tresor.description.prefix(10)
        switch error {
        case .notFound:
            if let other = client.archive.otherStore(of: tresor) {
                let path = String(decoding: other.bytes, as: UTF8.self)
                return CommandFailure(
                    of: error, "this store does not have \(id), which you first saw in \(DisplayText.quoted(path))",
                    hints: forkHints(of: tresor))
            }
            return CommandFailure(of: error, "there is no tresor \(id)", hints: ["tresor list"])
        case .forked:
            let store = client.archive.otherStore(of: tresor) == nil ? "the store" : "this store, new to this home,"
            return CommandFailure(
                of: error, "\(store) shows an older or a different history of \(id) than this home has verified",
                hints: forkHints(of: tresor))
        case .altered: return CommandFailure(of: error, "the store's log of \(id) is damaged or forged")
        default: return CommandFailure(error)
        }
    }

    /// The present or former member that a text means.
    ///
    /// - Parameter isToLose: whether access is to end: of several under one name, the only one who still has it is meant.
    /// - Throws: 10 with suggestions: a typing error must not look like success.
    func member(_ text: String, of state: LogState, isToLose: Bool = false) throws -> UserID {
        let everybody = state.everybody.filter(state.wasEverIn)
        let found = everybody.filter { Self.means(text, $0, in: state) }
        guard let first = found.first else {
            let names = everybody.compactMap { state.chain(of: $0)?.handle.text }
            let hints = Suggestion.near(text, among: names).map {
                "did you mean: \(HintCompletion.replacing(text, with: $0))"
            }
            throw CommandFailure(
                .notFound, "\(DisplayText.name(text)) is not and never was a member of this tresor", hints: hints)
        }
        let present = found.filter(state.isIn)
        if isToLose, present.count == 1 { return present[0] }
        guard found.count == 1 else {
            let list = found.map { user in
                "\(ShortID.text(of: user, unlike: text)) (\(state.isIn(user) ? "a member" : "no longer a member"))"
            }
            throw CommandFailure(
                .usage, "\(DisplayText.name(text)) can mean several people here: \(list.joined(separator: ", "))",
                hints: found.map { HintCompletion.replacing(text, with: ShortID.text(of: $0, unlike: text)) })
        }
        return first
    }

    /// Whether a text is the handle or the beginning of the id of somebody in a log.
    static func means(_ text: String, _ user: UserID, in state: LogState) -> Bool {
        state.chain(of: user)?.handle == (try? Name(typed: text)) || Base32.namedBy(text, user.digest.bytes)
    }

    /// Whether this home has verified a log of the tresor.
    func isKnown(_ tresor: TresorID) -> Bool {
        (try? client.logs.knownBlocking().contains(tresor)) ?? false
    }

    /// The tresors that name this person as their founder by old keys, and that this home has not taken for theirs.
    static func madeWithOldKeys(_ all: [TresorSummary], _ session: Session) -> [TresorSummary] {
        all.filter { $0.isApart && !$0.isHidden && $0.name != .own && $0.state?.founder == session.user }
    }

    /// The words for such a tresor.
    static let oldKeysWords = "was made with your old keys, and nothing here proves that you made it"

    /// The failure for a tresor under this person's own name that anyone with their old keys can have made.
    static func madeWithOldKeys(_ tresor: TresorID, hint: String) -> CommandFailure {
        let id = tresor.description.prefix(10)
        return CommandFailure(
            .unverified, "\(id) \(oldKeysWords)",
            hints: ["tresor verify --mine \(id)", hint].filter { !$0.isEmpty })
    }
}
