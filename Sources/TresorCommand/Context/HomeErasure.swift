// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords
import TresorStore

/// The erasure of a home (SPEC §8.9), judged before anything of it is deleted.
struct HomeErasure {
    private let context: CommandContext
    /// The open identity, in whose name the store is asked; `nil` without one, and where the store is away.
    private let session: Session?
    /// The service that knows the person, in whose name it is asked; `nil` for a file, and without an identity.
    let service: AskedService?
    private let home: DirectoryHome
    private let identity: [UInt8]?
    private let outboxes: [TresorID: [UInt8]]
    /// The changes that were never sent, in words; `nil` for none.
    private let unsent: String?
    /// The ways in which the identity opens elsewhere, in words; `nil` for a home without one, and where nothing shows it.
    private var elsewhere: String?
    /// The reason for which nothing shows that, in words, where the person goes on nevertheless.
    private var doubt: String?

    /// Whether the home has an identity.
    var hasIdentity: Bool { identity != nil }

    /// Whether the store is asked to delete what it has of this home. One that is away, and is given up, is not.
    var asksStore: Bool { session != nil || !hasIdentity }

    /// Judges whether a home may be erased.
    ///
    /// - Parameter isForced: whether changes that were never sent may be lost, and an identity that nothing shows elsewhere,
    ///   because the store is away, takes no log-in, or does not know the password or the keys of this home.
    /// - Throws: 64 for unsent changes, for an identity that nothing opens elsewhere, for new keys that this home alone
    ///   makes known, for a folder that is a symbolic link, for a folder in the place of a file, and for what was never a
    ///   home; 15 where the store has newer keys; the errors of ``CommandContext/open(_:creating:identifying:)``.
    static func plan(_ options: GlobalOptions, losing isForced: Bool) async throws -> HomeErasure {
        let local = try CommandContext.local(options)
        let places = local.invocation.places
        let home = DirectoryHome(data: places.data, state: places.state)
        try refuseFolders(in: home)
        guard try local.client.home.read(.identity) != nil else { return try rest(of: home, isForced, local) }
        // A damaged identity is no doubt about the store.
        _ = try local.identityFile()
        let context: CommandContext
        var opened: (session: Session, kit: String?)?
        do {
            let isLoginAlone = try await Self.isLoginAlone(options, local)
            context = try await CommandContext.open(options, identifying: !isLoginAlone)
            if !isLoginAlone {
                let session = try await context.unlock(to: "erase this home")
                opened = (session, try await kit(session, context))
            }
        } catch {
            let failure = CommandFailure(error)
            guard try isAboutStore(failure, places) else { throw failure }
            let reason = try Self.reason(failure, isForced)
            // The password is needed: nobody else forgoes an identity.
            let session = try await local.unlock(to: "erase this home", acceptingDevice: false)
            return try await judge(session, local, home, isForced).alone(reason)
        }
        if let opened {
            var erasure = try await judge(opened.session, context, home, isForced)
            erasure.elsewhere = opened.kit
            if erasure.elsewhere != nil { return erasure }
            guard context.service != nil else {
                try await context.refuseOldKeys(opened.session)
                throw nowhere(isService: false)
            }
        }
        let unlocked = try await UnlockedIdentity.open(context, to: "erase this home")
        var erasure = try await judge(unlocked.session, context, home, isForced)
        var isKnown = false
        do {
            if let login = try ServiceLogin(unlocked.session, context) {
                isKnown = try await hasLogin(login, unlocked.session)
                if isKnown { erasure.elsewhere = try await words(for: login, unlocked.session, unlocked.password) }
            }
        } catch {
            let failure = CommandFailure(error)
            let reason = try Self.reason(failure, isForced)
            // A service that does not take the keys of this home, or is another one, deletes nothing for it.
            let mayAsk = isKnown || [.forked, .busy, .unsupported].contains(failure.error)
            guard mayAsk, !failure.error.isOfTheStore else { return erasure.alone(reason) }
            erasure.doubt = reason
        }
        guard erasure.elsewhere != nil || erasure.doubt != nil else { throw nowhere(isService: true) }
        return erasure
    }

    private static func refuseFolders(in home: DirectoryHome) throws(CommandFailure) {
        if let link = home.linkedFolder() {
            throw .usage(
                "\(DisplayText.quoted(link)) is a symbolic link, and what is behind it is not deleted: put the folder itself "
                    + "there, or delete the link")
        }
        if let folder = home.folderForFile() {
            throw .usage(
                "\(DisplayText.quoted(folder)) is a directory where this home keeps a file, and is not deleted: move it away"
            )
        }
    }

    /// Whether a failure is one to show what the store has of this home. That of a lock or of a file beside it is none.
    private static func isAboutStore(_ failure: CommandFailure, _ places: Paths) throws -> Bool {
        if failure.error == .notFound { return try failure.file == places.store() }
        if failure.error == .busy { return try places.service() != nil }
        return failure.error.isOfTheStore || failure.error == .altered || failure.error == .unsupported
    }

    /// Goes on, if it is forced, where nothing shows the identity elsewhere. The hint has no `--yes`: what is lost is told,
    /// and asked about.
    ///
    /// - Returns: the reason, in words.
    private static func reason(_ failure: CommandFailure, _ isForced: Bool) throws(CommandFailure) -> String {
        guard failure.error != .interrupted else { throw failure }
        guard !isForced else { return failure.message }
        throw CommandFailure(
            failure.error,
            "\(failure.message); with --force this home is erased although nothing shows your identity elsewhere, and unsent "
                + "changes with it", hints: failure.hints + ["tresor logout --erase --force"], file: failure.file)
    }

    /// The same erasure where the store cannot be asked, or deletes nothing for this home.
    private func alone(_ reason: String) -> HomeErasure {
        HomeErasure(
            context: context, session: nil, service: nil, home: home, identity: identity, outboxes: outboxes,
            unsent: unsent, elsewhere: nil, doubt: reason)
    }

    /// Whether a service has no copy of a kit. A log-in counts only if the password opens it now, so that is then asked for
    /// even on a trusted device, and once.
    private static func isLoginAlone(_ options: GlobalOptions, _ local: CommandContext) async throws -> Bool {
        guard try local.invocation.places.service() != nil else { return false }
        guard let locator = try local.identityFile().kitLocator else { return true }
        let nobody = try await CommandContext.open(options, identifying: false)
        return try await nobody.client.store.kitCopy(locator: locator) == nil
    }

    /// Judges what the home has of its identity; not what others have of it.
    private static func judge(
        _ session: Session, _ context: CommandContext, _ home: DirectoryHome, _ isForced: Bool
    ) async throws -> HomeErasure {
        let (identity, outboxes) = (try context.client.home.read(.identity), try home.outboxes())
        let unsent = await words(for: outboxes.keys.sorted(), session, context)
        try refuse(unsent, isForced, hints: ["tresor sync"])
        guard try !session.renewal.isUnfinishedBlocking() else {
            throw CommandFailure.usage(
                "your new keys are not in all your tresors yet, and this home alone can finish that",
                hints: ["tresor rotate --identity"])
        }
        return HomeErasure(
            context: context, session: session, service: AskedService(session, context), home: home,
            identity: identity, outboxes: outboxes, unsent: unsent, elsewhere: nil)
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
            context: local, session: nil, service: nil, home: home, identity: nil, outboxes: outboxes,
            unsent: unsent, elsewhere: nil)
    }

    private static func refuse(_ unsent: String?, _ isForced: Bool, hints: [String]) throws(CommandFailure) {
        guard let unsent, !isForced else { return }
        throw .usage("this home has \(unsent), and erased they are lost", hints: hints + ["tresor … --force"])
    }

    /// The changes that were never sent, in words; `nil` for none. An outbox that does not open counts as changes.
    private static func words(
        for tresors: [TresorID], _ session: Session, _ context: CommandContext
    ) async -> String? {
        var words: [String] = []
        for tresor in tresors {
            let known = (try? session.tresors.kept(named: tresor.description))?.first
            let title = known.map { context.tresors.title(of: $0) } ?? String(tresor.description.prefix(10))
            guard let names = try? await session.records(in: tresor).unsent() else {
                words.append("an outbox of \(title) that does not open")
                continue
            }
            guard !names.isEmpty else { continue }
            words.append("\(names.count == 1 ? "1 record" : "\(names.count) records") of \(title)")
        }
        return words.isEmpty ? nil : "unsent changes: \(words.joined(separator: ", "))"
    }

    /// The copy of the kit that opens the identity without this home, in words; `nil` if the store has not this very copy.
    private static func kit(_ session: Session, _ context: CommandContext) async throws -> String? {
        guard let (locator, copy) = try session.unlocking.kitCopyBlocking(),
            try await session.client.store.kitCopy(locator: locator) == copy.bytes
        else { return nil }
        return "the words of its kit open it with the store at "
            + DisplayText.quoted(try context.invocation.places.store())
    }

    /// The log-in that opens the identity without this home, in words.
    ///
    /// - Throws: 64 unless this password opens it now.
    private static func words(
        for login: ServiceLogin, _ session: Session, _ password: borrowing Password
    ) async throws -> String {
        let handle = session.handle
        do throws(TresorError) {
            let opened = try await login.login.open(handle, password: password)
            guard opened.chain == session.chain else { throw .forked }
        } catch {
            guard error == .wrongPassword else { throw await login.failure(of: error, as: handle) }
            let until = try? login.login.blockedUntil()
            let pause = until.map { "; no password is tried until \(Timestamp(seconds: $0).dateAndMinute)" } ?? ""
            throw CommandFailure.usage(
                "the password of this home does not open the log-in at \(login.place)\(pause): you changed it on another "
                    + "machine, or somebody else did; log in with the newer one first",
                hints: ["tresor login \(Shell.word(handle.text))"])
        }
        return "your name and password open it at \(login.place)"
    }

    private static func nowhere(isService: Bool) -> CommandFailure {
        .usage(
            "your identity is nowhere else: no "
                + (isService ? "log-in by password and no copy of a kit opens it there" : "copy of a kit opens it")
                + ", and erased it is lost for ever",
            hints: (isService ? ["tresor register"] : []) + ["tresor recover --new-kit"])
    }

    /// Whether the service has a log-in of the newest keys. One that the home knows and the service does not show is none.
    ///
    /// - Throws: 64 where the service does not take the keys of this home although it may have seen them; 19 where it does
    ///   not say.
    private static func hasLogin(_ login: ServiceLogin, _ session: Session) async throws -> Bool {
        do throws(TresorError) {
            let account = try await login.login.account()
            guard account.state == .active, account.hasRecord, let statement = account.statement else { return false }
            return statement.generation == session.identity.generation
        } catch {
            try await judge(error, of: login, session)
            return false
        }
    }

    /// - Throws: ``CommandFailure`` unless the error says that the service has no log-in.
    private static func judge(_ error: TresorError, of login: ServiceLogin, _ session: Session) async throws {
        if error == .unsupported {
            throw CommandFailure(
                of: error,
                "the service at \(login.place) is of another release, and does not say whether it has a log-in of yours",
                hints: ["tresor recover --new-kit"])
        }
        guard error == .noAccess || error == .waiting else { throw await login.failure(of: error) }
        if error == .noAccess, (try? session.client.cleanup.isIntroducingBlocking()) != true {
            let handle = session.handle
            throw CommandFailure.usage(
                "the service at \(login.place) does not take the keys of this home: you have newer ones, made on "
                    + "another machine, or no account there",
                hints: ["tresor login \(Shell.word(handle.text))", "tresor register"])
        }
    }

    /// Tells what is lost, and asks. There is no question about nothing.
    ///
    /// - Parameter isForced: whether what the store does not delete stops nothing.
    func confirm(yes: Bool, losing isForced: Bool) throws {
        guard try identity != nil || !home.isEmpty() else { return }
        let place = DisplayText.quoted(context.invocation.places.data)
        let output = context.output
        if let unsent { output.explain("\(unsent): they are lost") }
        output.explain(
            identity != nil
                ? "\(place) loses the identity, the people you verified, and all that it keeps of your tresors"
                : "\(place) has no identity, and loses what else is there")
        if let doubt { explain(doubt, output) }
        if isForced { explainDebt(output) }
        if let elsewhere {
            output.explain("the identity stays elsewhere: \(elsewhere)")
            if context.invocation.places.isStoreOnThisDisk {
                output.explain("that store is on this disk: if it goes with the machine, nothing opens the identity")
            }
        }
        output.explain("files that you wrote elsewhere, as with -o or -C, stay")
        try context.confirm("erase this home?", yes: yes)
    }

    /// Tells what may be lost for ever, and what stays with a store that is away.
    private func explain(_ doubt: String, _ output: Output) {
        output.explain("nothing shows that your identity opens elsewhere: \(doubt)")
        output.explain("if no kit, no log-in and no other home of yours opens it, it is lost for ever")
        guard session == nil else { return }
        let cleanup = context.client.cleanup
        if (try? home.read(.deviceShare)) != nil || (try? cleanup.endingDevicesBlocking().isEmpty) != true {
            output.explain(
                "the store is not asked, and may keep its share of the trust in this device, which opens nothing without what is "
                    + "erased here; on another machine, tresor rotate --identity ends that")
        }
        if (try? context.invocation.places.service()) != nil {
            output.explain(
                "the store is not asked, and may keep your sessions; on another machine, tresor logout ends them")
        }
    }

    /// Tells what an earlier command has left in the store. Nobody deletes it for a home that is gone.
    private func explainDebt(_ output: Output) {
        guard identity != nil, (try? context.client.cleanup.isOwedBlocking()) != false else { return }
        output.explain(
            "a former kit or a device that you ended may still open your identity: run tresor rotate --identity on another "
                + "machine")
    }

    /// Erases the home, and then the note of its store. Nobody changes the key slots while that is done.
    ///
    /// - Parameter isForced: whether what the store does not delete stops nothing.
    func perform(losing isForced: Bool) async throws {
        let places = context.invocation.places
        guard try identity != nil || !home.isEmpty() else {
            places.forgetStore()
            return context.output.say(
                "there is nothing to erase in \(DisplayText.quoted(places.data))\(copies(in: places))")
        }
        guard let lock = try home.slotLock() else { throw TresorError.busy }
        do {
            try await settle()
        } catch {
            guard isForced else { throw error }
            context.output.say(
                "the store may keep what was to be deleted, until tresor rotate --identity on another machine")
        }
        try erase()
        places.forgetStore()
        _ = consume lock
        context.output.say("the home in \(DisplayText.quoted(places.data)) is erased\(copies(in: places))")
    }

    /// Names the copies of files of the home that are not deleted.
    private func copies(in places: Paths) -> String {
        let moved = IdentityBackup.paths(in: places)
        let copies = ((try? home.cloudCopies()) ?? []).map(\.path).filter { !moved.contains($0) }
        let aside = (moved + copies).map { DisplayText.quoted($0) }.joined(separator: ", ")
        return aside.isEmpty ? "" : "; other copies of its files stay until you delete them: \(aside)"
    }

    private func erase() throws(TresorError) {
        try Interrupts.atomically { () throws(TresorError) in try home.erase(identity, outboxes) }
    }

    /// Deletes from the store, in the person's name, what the journal still names: nobody can behind this home.
    private func settle() async throws {
        guard let cleanup = session?.client.cleanup else { return }
        try await Interrupts.atomically { () async throws(TresorError) in try await cleanup.finishLocked() }
        guard try !cleanup.isOwedBlocking() else {
            throw CommandFailure(
                of: .busy,
                "the store still has a copy of a kit or a server share that was to be deleted, and nothing is erased: run "
                    + "this again")
        }
    }
}
