// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// Prints one finding per line, and ends with the exit code of the worst.
struct FindingReport {
    let context: CommandContext
    /// Opens the names of tresors; without it their ids are shown.
    var session: Session?
    private var errors: [CommandError] = []
    /// Whether the store has nothing of this person. Nobody is told to write to what may be another one.
    private var isStoreDoubtful = false

    init(context: CommandContext) { self.context = context }

    /// The same report, continued with a store.
    func continued(in context: CommandContext) -> FindingReport {
        var report = FindingReport(context: context)
        report.errors = errors
        return report
    }

    /// Names the store and the home that are looked at, and says if the store may be another one than the person means.
    mutating func addStore() async throws {
        let (places, doubt) = (context.invocation.places, await context.storeDoubt())
        Surroundings.current.storeDoubt.forget()
        isStoreDoubtful = doubt != nil
        let store = try context.service == nil ? Paths.absolute(places.store()) : places.store()
        let home = "the home is \(DisplayText.quoted(Paths.absolute(places.data)))"
        try add(doubt == nil ? "ok" : "warn", "store", "\(doubt ?? DisplayText.quoted(store)); \(home)", nil)
    }

    /// Adds that the home cannot tell which services it has met. It would take each for another one, and what is there for
    /// forged, so the home alone is checked.
    ///
    /// - Parameter options: the options that ask for more than that.
    mutating func addUnknownServices(_ damage: CommandFailure, leavingOut options: [String]) async throws {
        let way = damage.hints.map(HintCompletion.complete).joined(separator: ", or ")
        try add(
            "bad", DisplayText.quoted(damage.file ?? ""),
            "\(CommandFailure.words(for: .altered)); \(HomeFault.loss(of: .knownServices) ?? ""); no service is asked until "
                + "it is mended: \(way)", damage.error)
        if !options.isEmpty {
            let verb = options.count == 1 ? "is" : "are"
            let names = options.joined(separator: " and ")
            try add("warn", "store", "\(names) \(verb) left out: the home alone is checked", nil)
        }
        for finding in try await context.client.audit.check([]) where Self.isOfHome(finding) { try add(finding) }
    }

    /// Whether a finding is about the home alone, whatever a store has.
    private static func isOfHome(_ finding: Finding) -> Bool {
        switch (finding.subject, finding.remark) {
        case (.file(.knownServices), _), (_, .withoutKitCopy), (_, .kitElsewhere), (_, .withoutServerShare): false
        case (.file, _), (.identity, _), (.device, _), (.home, _): true
        default: false
        }
    }

    mutating func add(_ finding: Finding) throws {
        let error: CommandError? =
            switch finding.remark {
            case .failed(let error): CommandError(error)
            case .forked, .newerKeys: .forked
            case .lostEntries: .store(.other)
            default: nil
            }
        let isMine = finding.subject == mine.map { .person($0.user) }
        var text = isMine && finding.remark == .failed(.forked) ? OldKeys.others : words(finding)
        let isOfServices = [.file(.knownServices), .file(.knownLogins)].contains(finding.subject)
        if let object = damaged(finding) {
            let loss = HomeFault.loss(of: object).map { "; \($0)" } ?? ""
            let way =
                isOfServices
                ? HintCompletion.command("register --replace") : HomeFault.wayOut(at: path(of: object))
            text += "\(loss): \(way)"
            if object == .identity { text += ", then \(HintCompletion.command("recover"))" }
        }
        try add(finding.level.rawValue, subject(finding.subject), text, error)
    }

    /// The object of the home that a finding is about, if it does not decode. Of the identity, what the store has may be
    /// meant.
    private func damaged(_ finding: Finding) -> HomeObject? {
        guard finding.remark == .failed(.altered) else { return nil }
        switch finding.subject {
        case .file(let object): return object
        case .identity: return (try? context.client.identityFileBlocking()) == nil ? .identity : nil
        default: return nil
        }
    }

    /// - Parameter error: the error with which a bad finding ends the command.
    mutating func add(_ level: String, _ subject: String, _ text: String, _ error: CommandError?) throws {
        if let error { errors.append(error) }
        guard context.output.isJSON else {
            return try context.output.line(
                "\(level)\(String(repeating: " ", count: 5 - level.count))\(subject)  \(text)")
        }
        var object: JSONObject = [
            "type": "finding", "level": .string(level), "subject": .string(subject), "text": .string(text),
        ]
        if let error { object["error"] = .string(error.name) }
        try context.output.object(object)
    }

    func finish() throws(Exit) {
        if let worst = Severity.worst(errors) { throw Exit(code: worst.exitCode) }
    }

    /// Names the tresors of which this home knows nothing because they bear this person's old keys.
    mutating func addMadeWithOldKeys(_ session: Session) async throws {
        let all = try await session.tresors.all(readingStrangers: false)
        for summary in TresorResolver.madeWithOldKeys(all, session) {
            let way = HintCompletion.command("verify --mine \(ShortID.text(of: summary.tresor))")
            try add(
                "warn", subject(.tresor(summary.tresor)),
                "\(TresorResolver.oldKeysWords): \(way)", nil)
        }
    }

    private func subject(_ subject: Finding.Subject) -> String {
        switch subject {
        case .home: "home"
        case .identity: "identity"
        case .file(let object): DisplayText.quoted(path(of: object))
        case .device(let id): "device \(shown(id))"
        case .person(let user): "person \(name(user))"
        case .tresor(let tresor): "tresor \(shown(tresor))"
        case .member(let user, let tresor): "member \(name(user)) of \(shown(tresor))"
        }
    }

    /// An id as long as its reader needs it: whole for a program.
    func shown(_ id: some CustomStringConvertible) -> String {
        context.output.isJSON ? id.description : String(id.description.prefix(10))
    }

    private var mine: CardChain? { try? context.client.identityFileBlocking().chain }

    private func name(_ user: UserID) -> String {
        guard !context.output.isJSON else { return user.description }
        if let mine, mine.user == user { return context.name(of: mine) }
        let pinned = (try? context.client.people.pinnedBlocking())?.first { $0.chain.user == user }
        return pinned.map { context.name(of: $0.chain) } ?? ShortID.text(of: user)
    }

    /// The ways out for a tresor of which the store shows nothing.
    private static let wayBack =
        "; check --repair restores it, and if it was deleted, tresor delete forgets it here"

    /// A way out that writes to the store.
    private func way(_ out: String) -> String { isStoreDoubtful ? "" : out }

    private func elsewhere(_ path: String) -> String {
        "this store does not have the copy that the recovery kit opens; "
            + "\(DisplayText.quoted(path)) had it: "
            + HintCompletion.command("check \(context.invocation.places.options(to: path))")
    }

    /// The words for unfinished work, as far as the journal tells.
    private var interruption: String {
        let client = context.client
        guard (try? client.cleanup.isIntroducingBlocking()) == true else {
            return "a change of password, kit, devices or keys was interrupted: "
                + "repeat it, or delete what it left in the store: "
                + HintCompletion.command("check --repair")
        }
        return (try? client.identityFileBlocking().chain.newest.generation) == 0
            ? "no service knows you yet: \(HintCompletion.command("register")), with --no-login for no log-in"
            : "your new keys are not in all your tresors yet: \(HintCompletion.command("rotate --identity"))"
    }

    /// How this home came to know a person.
    private func occasion(of subject: Finding.Subject) -> String {
        guard case .person(let user) = subject,
            let pin = try? OccasionWords.pin(of: user, context.client)
        else { return "" }
        return "; \(OccasionWords.clause(pin))"
    }

    private func words(_ finding: Finding) -> String {
        let tresor: TresorID? =
            switch finding.subject {
            case .tresor(let tresor), .member(_, let tresor): tresor
            default: nil
            }
        let id = tresor.map { shown($0) } ?? "T"
        let repair = HintCompletion.complete("tresor check --repair -t \(id)")
        return switch finding.remark {
        case .fine: "in order" + occasion(of: finding.subject)
        case .missing: "there is none"
        // The subject is the person, or the object.
        case .failed(let error) where error == .unverified || error == .altered: CommandFailure.words(for: error)
        case .failed(let error): Surroundings.current.notices.explaining(CommandFailure(error)).message
        case .withoutSlot:
            "its device share is here, but the identity has no slot for it: \(HintCompletion.command("forget"))"
        case .withoutServerShare:
            "the store has no server share for it, so it opens nothing: \(HintCompletion.command("forget")), or "
                + HintCompletion.command("remember")
        case .withoutKit: "there is no recovery kit: \(HintCompletion.command("recover --new-kit"))"
        case .withoutKitCopy:
            "the store has no copy that the recovery kit opens"
                + way(": \(HintCompletion.command("recover --new-kit"))")
        case .kitElsewhere(let store): elsewhere(String(decoding: store.bytes, as: UTF8.self))
        case .notPublished:
            "the store does not have the newest card" + way(": \(HintCompletion.command("check --repair"))")
        case .newerKeys:
            "\(OldKeys.finding): "
                + OldKeys.ways(isService: context.service != nil).map(HintCompletion.complete)
                .joined(separator: ", or ")
        case .interrupted: interruption
        case .forked(let seen, let shown, let evidence):
            "the store shows an older or a different history\(title(of: tresor)): seen \(Self.text(seen)), "
                + "shown \(shown.map(Self.text) ?? "nothing"), "
                + "evidence in \(DisplayText.quoted(path(of: .evidence(evidence))))"
                + way(shown.map { wayOut(from: $0, to: seen, of: tresor, repair) } ?? Self.wayBack)
        case .expired: "expired: its last day has passed"
        case .ended: "their grant has expired; the owner's next act removes them"
        case .waiting(let owner): "waits: added by \(name(owner)), and nobody has approved them yet"
        case .rekeyPending:
            tresor.map(context.client.archive.isCopied) == true
                ? "rekey pending: an owner changes the key first, and sends an export"
                : "rekey pending: the next writer changes the key first"
        case .ownerNotVerified: "its owner is not verified, or has newer keys than this log, and you compared them"
        case .renewed: "has new keys; compare safety numbers again"
        case .olderCard:
            "the store shows an older card than the one you compared; the card you compared is used"
        case .anotherCard: "the store also offers another card under this handle; the person you verified is used"
        case .clockBehind: "its newest entry is dated later than this machine's clock"
        case .aheadOfClock(let time): ahead(finding.subject, Timestamp(seconds: time).date)
        case .withheldEpoch(let epoch, let author, let reached, let count):
            "key \(epoch), begun by \(name(author)), reaches \(reached) of \(count) members; "
                + "an owner must make a new one: tresor revoke, or tresor rotate"
        case .unknownBody(let sequence, let type):
            "entry \(sequence) is of kind \(type), which this release does not know; it changes no member, role or key"
        case .voidBody(let sequence, let rule):
            "entry \(sequence) breaks rule R\(rule.rawValue) and has no effect; nothing else is wrong because of it"
        case .lostEntries(let count):
            "the store has lost \(Self.entries(count)) of the log verified here: \(repair)"
        case .missingWrap: "the store lacks a key that is theirs; \(repair) restores it"
        case .surplusWrap: "the store keeps a key for them beyond what the log says; the next key change deletes it"
        case .elsewhere: "not in this store; you first saw it in another one"
        case .head(let head, let age):
            "\(Self.entries(head.sequence + 1)) in the store, valid; the newest is \(Self.days(age)) old"
        }
    }

    /// The words for a time that this machine's clock has not reached: of an entry, or of a device.
    private func ahead(_ subject: Finding.Subject, _ date: String) -> String {
        guard case .device(let id) = subject else {
            return "you signed something that is dated \(date), after this machine's clock: set the clock if it is "
                + "wrong; else, until that day, no trusted device of this home notices a clock that is set back"
        }
        return "trusted under a clock that said \(date), so it opens for too long: "
            + "\(HintCompletion.command("remember")) there again, or \(HintCompletion.command("device revoke \(shown(id))"))"
    }

    /// ` of "plans"`, where the name is known.
    private func title(of tresor: TresorID?) -> String {
        tresor.flatMap { session?.tresors.knownNameBlocking(of: $0) }.map { " of \(DisplayText.quoted($0.bytes))" }
            ?? ""
    }

    /// The way out where a store shows another head: of an older state, or of another history.
    private func wayOut(
        from shown: Head, to seen: Head, of tresor: TresorID?, _ repair: String
    ) -> String {
        let known = tresor.flatMap { try? context.client.archive.verifiedState(of: $0) }
        if let known, !known.contains(seen) {
            return "; another device of yours has verified more of it: \(repair) there restores what it lost"
        }
        guard known?.contains(shown) != true else { return "; it has an older state: \(repair) restores what it lost" }
        let comparison = "; compare what tresor log --head prints with other members"
        guard context.service != nil, let mine else { return comparison }
        let login = HintCompletion.command("login \(Shell.word(mine.handle.text)) --home DIR")
        return "\(comparison); if the service was restored, and they wrote first, go on in an empty home: \(login)"
    }

    private func path(of object: HomeObject) -> String {
        let places = context.invocation.places
        return DirectoryHome(data: places.data, state: places.state).path(of: object)
    }

    /// A head as `tresor log --head` prints it.
    static func text(_ head: Head) -> String { "\(head.sequence):\(Base32.text(head.hash.bytes))" }

    static func entries(_ count: UInt64) -> String { count == 1 ? "1 entry" : "\(count) entries" }

    private static func days(_ seconds: UInt64) -> String {
        let days = seconds / Timestamp.secondsPerDay
        return days == 1 ? "1 day" : "\(days) days"
    }
}
