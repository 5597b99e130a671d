// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

extension CommandContext {
    /// Refuses to make keys or a kit on an old copy of a home, or when the store shows other keys for this identity. Runs
    /// before anything is changed.
    func refuseOldKeys(_ session: Session) async throws {
        do throws(TresorError) {
            try await session.renewal.check()
        } catch {
            throw error == .forked ? await otherKeys(than: session.identity.chain) : CommandFailure(error)
        }
    }

    /// The failure for a card of this person in the store that is no beginning of this home's.
    func otherKeys(than mine: CardChain) async -> CommandFailure {
        let shown = (try? await client.store.shownChain(of: mine.user))?.chain(extending: mine)
        guard shown?.isNewer(than: mine) == true else { return OldKeys.othersFailure }
        var failure = OldKeys.failure
        if service != nil { failure.hints.insert(OldKeys.login, at: 0) }
        return failure
    }

    /// Refuses to begin a tresor with keys in whose place a store's file has newer ones. A service judges the keys of each
    /// request itself, and is not asked for them.
    func refuseReplacedKeys(_ session: Session) async throws {
        let mine = session.identity.chain
        guard service == nil, let shown = try await session.client.store.shownChain(of: mine.user) else { return }
        if shown.chain(extending: mine)?.isNewer(than: mine) == true { throw OldKeys.failure }
    }
}

extension CommandContext {
    /// The failure for a password that does not open the identity, with what may open it instead: the password that another
    /// home set at the service, this device, or the kit.
    func wrongPassword() async -> CommandFailure {
        var (words, hints) = ("the password does not open the identity", [String]())
        if (try? ServiceLogin.isKnown(in: invocation.places)) == true, let file = try? client.identityFileBlocking() {
            words += "; if you changed it on another machine, a log-in brings the new one"
            hints.append("tresor login \(Shell.word(file.chain.handle.text))")
        }
        // A command that needs the home alone has no store to ask for the server share.
        if (try? client.identityFileBlocking())?.devices.isEmpty == false,
            let asking = try? await CommandContext.open(invocation.options, identifying: false),
            (try? await asking.client.device.unlock()) != nil
        {
            words += "; this device opens it, and with a new kit you can set another password"
            hints.append("tresor recover --new-kit")
        }
        return CommandFailure(of: .wrongPassword, words, hints: hints + ["tresor recover"])
    }
}

/// The refusals of commands on records.
extension CommandContext {
    /// Makes sure that the owner of a tresor with records is verified.
    ///
    /// - Throws: the errors of ``PersonVerifier/verifyFounder(of:for:accept:hint:)``; where changes wait in a home with
    ///   old keys, the failure says how they are sent.
    func verifyOwner(of state: LogState, for session: Session) async throws {
        do {
            try await verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        } catch {
            let failure = CommandFailure(error)
            guard failure.error == .forked, let old = await oldKeys(in: state, session) else { throw failure }
            throw old
        }
    }

    /// The failure of this home where a log has newer keys of its person; `nil` where it has none.
    func oldKeys(in state: LogState, _ session: Session) async -> CommandFailure? {
        let mine = session.identity.chain
        guard state.chain(of: mine.user)?.isNewer(than: mine) == true else { return nil }
        let unsent = try? await session.records(in: state.tresor).unsent()
        guard let unsent, !unsent.isEmpty else { return OldKeys.failure }
        return OldKeys.failure(unsentCount: unsent.count, identity: Paths.join(invocation.places.data, "identity"))
    }

    /// The failure of a sync, with its reason as far as the log tells it.
    func failure(_ error: TresorError, of summary: TresorSummary, _ session: Session) async -> CommandFailure {
        if error == .store(.full) { return await noRoom(in: summary, session) }
        if error == .failed(.clock) { return CommandFailure(ofClock: tresors.rotation(of: summary, for: session)) }
        guard error == .noAccess || error == .unverified, let state = summary.state else {
            var failure = CommandFailure(error)
            if error == .forked { failure.hints = tresors.forkHints(of: summary.tresor) }
            return failure
        }
        if let old = await oldKeys(in: state, session) { return old }
        if error == .unverified, state.founder == session.user {
            return TresorResolver.madeWithOldKeys(state.tresor, hint: "")
        }
        guard error == .noAccess else { return CommandFailure(error) }
        return tresors.refusal(of: summary, in: state, session, writing: true)
            ?? tresors.copyRefusal(of: summary.tresor, session) ?? CommandFailure(error)
    }
}

extension TresorResolver {
    /// Refuses an act in a tresor whose log has newer keys of this person than this home.
    func refuseOldKeys(in state: LogState, _ session: Session) throws(CommandFailure) {
        let mine = session.identity.chain
        if state.chain(of: mine.user)?.isNewer(than: mine) == true { throw OldKeys.failure }
    }
}

extension CommandContext {
    /// Adds this person's newest card to a tresor whose log could not be verified when the identity was renewed.
    func addNewestCard(of session: Session, to state: LogState) async throws {
        guard let known = state.chain(of: session.identity.user), known != session.identity.chain,
            session.identity.chain.extends(known)
        else { return }
        try await verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
        let renewal = try await Interrupts.atomically { try await session.renewal.renew(in: state.tresor) }
        guard !renewal.isLeftToOwner else { return tresors.tellWayOfNewKeys(into: state, session) }
        let id = state.tresor.description.prefix(10)
        output.say("\(id) now has your newest keys")
        guard !renewal.isRotated else { return }
        output.say("\(id): its owner must change the key: \(HintCompletion.command("rotate -t \(id)"))")
    }
}

/// The refusals of a store that has no room for what is sent to a tresor.
extension CommandContext {
    /// The failure to make a tresor for which the service has no room, with the numbers of the person.
    func noRoomForAnother(_ session: Session) async -> CommandFailure {
        let error = TresorError.store(.full)
        guard Surroundings.current.obstacle.isQuota == true,
            let account = try? await AskedService(session, self)?.call(AccountRequest())
        else { return CommandFailure(error) }
        return CommandFailure(
            of: error,
            CommandFailure.noRoom(
                "you have made \(account.tresors) of \(account.maximumTresors) tresors, the deleted ones too, and have "
                    + "\(account.bytes) of \(account.maximumBytes) bytes; ask its operator for more"))
    }

    /// The failure to send something to a tresor for which the store has no room: whose limit it is, its numbers for the
    /// person whose it is, and how room is made. A full disk is for the operator.
    ///
    /// - Parameter isCompaction: whether a compaction found none, which is no way to make room then.
    func noRoom(
        in summary: TresorSummary, _ session: Session, isCompaction: Bool = false
    ) async -> CommandFailure {
        let error = TresorError.store(.full)
        let (word, title) = (tresors.word(of: summary), tresors.title(of: summary))
        let unsent = (try? await session.records(in: summary.tresor).unsent()) ?? []
        guard service != nil else {
            return CommandFailure(error, hints: unsent.isEmpty ? [] : ["tresor sync -t \(word) --drop"])
        }
        guard let isQuota = Surroundings.current.obstacle.isQuota else {
            return CommandFailure(error, hints: unsent.isEmpty ? [] : ["tresor sync -t \(word)"])
        }
        let known = (try? session.client.archive.verifiedState(of: summary.tresor)) ?? summary.state
        guard isQuota, let state = known else { return CommandFailure(error) }
        let drop = unsent.isEmpty ? [] : ["tresor sync -t \(word) --drop"]
        guard state.founder == session.user else {
            let founder = tresors.handle(of: state.founder, in: state)
            return CommandFailure(
                of: error,
                CommandFailure.noRoom(
                    "the quota of \(founder), who made \(title), has not enough left for this; ask \(founder)"),
                hints: drop)
        }
        guard let account = try? await AskedService(session, self)?.call(AccountRequest()) else {
            return CommandFailure(error, hints: drop)
        }
        let isLast = isCompaction || state.entryCount >= account.maximumEntries
        let way = isLast ? "ask" : "delete records and compact the tresor, or ask"
        return CommandFailure(
            of: error,
            CommandFailure.noRoom(
                "not enough is left for this: you have \(account.bytes) of \(account.maximumBytes) bytes, and \(title) "
                    + "has \(state.entryCount) of \(account.maximumEntries) entries; \(way) its operator for more"),
            hints: (isLast || state.members[session.user]?.role != .owner ? [] : ["tresor compact -t \(word)"]) + drop)
    }
}
