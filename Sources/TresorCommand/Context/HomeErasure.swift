// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords
import TresorStore

/// The erasure of a home (SPEC §8.9), judged before anything is changed.
struct HomeErasure {
    private let workplace: CommandContext
    /// The service that knows the person, in whose name it is asked; `nil` for a file, and without an identity.
    let service: AskedService?
    private let home: DirectoryHome
    private let identity: [UInt8]?
    private let outboxes: [TresorID: [UInt8]]
    /// The changes that were never sent, in words; `nil` for none.
    private let unsent: String?
    /// What opens the identity elsewhere, in words; `nil` for a home without one.
    private let elsewhere: String?

    /// Judges whether a home may be erased.
    ///
    /// - Parameter isForced: whether changes that were never sent may be lost.
    /// - Throws: 64 for unsent changes, for an identity that nothing opens elsewhere, for new keys that this home alone
    ///   makes known, for a folder that is a symbolic link, and for what was never a home; the errors of ``CommandContext/open(_:creating:identifying:)``.
    static func plan(_ options: GlobalOptions, losing isForced: Bool) async throws -> HomeErasure {
        let local = try CommandContext.local(options)
        let places = local.invocation.places
        let home = DirectoryHome(data: places.data, state: places.state)
        if let link = home.linkedFolder() {
            throw CommandFailure.usage(
                "\(DisplayText.quoted(link)) is a symbolic link, and what is behind it is not deleted: put the folder itself "
                    + "there, or delete the link")
        }
        guard try local.client.home.read(.identity) != nil else { return try rest(of: home, isForced, local) }
        let workplace = try await CommandContext.open(options)
        let session = try await workplace.unlock(to: "erase this home")
        let (identity, outboxes) = (try local.client.home.read(.identity), try home.outboxes())
        let unsent = await words(for: outboxes.keys.sorted(), session, workplace)
        try refuse(unsent, isForced, hints: ["tresor sync"])
        guard try !session.renewal.isUnfinishedBlocking() else {
            throw CommandFailure.usage(
                "your new keys are not in all your tresors yet, and this home alone can finish that",
                hints: ["tresor rotate --identity"])
        }
        return HomeErasure(
            workplace: workplace, service: AskedService(session, workplace), home: home, identity: identity,
            outboxes: outboxes, unsent: unsent, elsewhere: try await elsewhere(session, workplace))
    }

    /// The erasure of a home without an identity: an earlier one was interrupted, or the identity was moved away.
    private static func rest(
        of home: DirectoryHome, _ isForced: Bool, _ local: CommandContext
    ) throws -> HomeErasure {
        guard home.hasLock() else {
            throw CommandFailure.usage(
                "\(DisplayText.quoted(local.invocation.places.data)) is no home that was ever used, so nothing is deleted",
                hints: ["tresor … {--home} --home DIR"])
        }
        let outboxes = try home.outboxes()
        let unsent = outboxes.isEmpty ? nil : "unsent changes of an identity that was moved away"
        try refuse(unsent, isForced, hints: [])
        return HomeErasure(
            workplace: local, service: nil, home: home, identity: nil, outboxes: outboxes, unsent: unsent,
            elsewhere: nil)
    }

    private static func refuse(_ unsent: String?, _ isForced: Bool, hints: [String]) throws(CommandFailure) {
        guard let unsent, !isForced else { return }
        throw .usage("this home has \(unsent), and erased they are lost", hints: hints + ["tresor … --force"])
    }

    /// The changes that were never sent, in words; `nil` for none. An outbox that does not open counts as changes.
    private static func words(
        for tresors: [TresorID], _ session: Session, _ workplace: CommandContext
    ) async -> String? {
        var words: [String] = []
        for tresor in tresors {
            let known = (try? session.tresors.kept(named: tresor.description))?.first
            let title = known.map { workplace.tresors.title(of: $0) } ?? String(tresor.description.prefix(10))
            guard let names = try? await session.records(in: tresor).unsent() else {
                words.append("an outbox of \(title) that does not open")
                continue
            }
            guard !names.isEmpty else { continue }
            words.append("\(names.count == 1 ? "1 record" : "\(names.count) records") of \(title)")
        }
        return words.isEmpty ? nil : "unsent changes: \(words.joined(separator: ", "))"
    }

    /// What opens the identity without this home, in words.
    ///
    /// - Throws: 64 for nothing.
    private static func elsewhere(_ session: Session, _ workplace: CommandContext) async throws -> String {
        let place = DisplayText.quoted(try workplace.invocation.places.store())
        let login = try ServiceLogin(session, workplace)
        if let login, try await opens(login, session) { return "your name and password open it at \(place)" }
        if let (locator, copy) = try session.unlocking.kitCopyBlocking(),
            try await workplace.client.store.kitCopy(locator: locator) == copy.bytes
        {
            return "the words of its kit open it with the store at \(place)"
        }
        throw CommandFailure.usage(
            "your identity is nowhere else: no "
                + (login == nil ? "copy of a kit opens it" : "log-in by password and no copy of a kit opens it there")
                + ", and erased it is lost for ever",
            hints: (login == nil ? [] : ["tresor register"]) + ["tresor recover --new-kit"])
    }

    /// Whether the service has a log-in of the newest keys. One that the home knows and the service does not show is none.
    private static func opens(_ login: ServiceLogin, _ session: Session) async throws -> Bool {
        do throws(TresorError) {
            let account = try await login.login.account()
            return account.state == .active && account.hasRecord
                && account.statement?.generation == session.identity.generation
        } catch {
            guard [.noAccess, .waiting, .unsupported].contains(error) else { throw await login.failure(of: error) }
            return false
        }
    }

    /// Tells what is lost, and asks. There is no question about nothing.
    func confirm(yes: Bool) throws {
        guard try identity != nil || !home.isEmpty() else { return }
        let place = DisplayText.quoted(workplace.invocation.places.data)
        let output = workplace.output
        if let unsent { output.explain("\(unsent): they are lost") }
        output.explain(
            identity != nil
                ? "\(place) loses the identity, the people you verified, and all that it keeps of your tresors"
                : "\(place) has no identity, and loses what else is there")
        if let elsewhere { output.explain("the identity stays elsewhere: \(elsewhere)") }
        try workplace.confirm("erase this home?", yes: yes)
    }

    /// Erases the home, and then the note of its store. Nobody changes the key slots while that is done.
    func perform() throws {
        let places = workplace.invocation.places
        guard try identity != nil || !home.isEmpty() else {
            places.forgetStore()
            return workplace.output.say("there is nothing to erase in \(DisplayText.quoted(places.data))")
        }
        guard let lock = try home.slotLock() else { throw TresorError.busy }
        try Interrupts.atomically { () throws(TresorError) in try home.erase(identity, outboxes) }
        places.forgetStore()
        _ = consume lock
        workplace.output.say("the home in \(DisplayText.quoted(places.data)) is erased")
    }
}
