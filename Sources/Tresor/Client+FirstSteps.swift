// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TresorCore
public import TresorCrypto
import TresorStore

/// The first steps of a program: a home in a folder, an identity, and people.
extension Client {
    /// Makes a client whose home is a folder, with the system's clock.
    ///
    /// The folder is created on first use with mode 0700. Its subfolder `device` holds the device share, and nothing
    /// else: leave it out of backups.
    ///
    /// - Parameters:
    ///   - folder: the path of the folder; it belongs to this person and this client alone.
    ///   - store: the store that all people share.
    package init(at folder: String, store: any Store) {
        let home = DirectoryHome(data: folder, state: folder + "/device")
        self.init(home: home, store: store, clock: { Date.now.wholeSeconds })
    }

    /// Makes a client whose home is a folder, named by a URL, with the system's clock.
    ///
    /// - Parameters:
    ///   - folder: the URL of the folder, a file URL.
    ///   - store: the store that all people share.
    public init(at folder: URL, store: any Store) { self.init(at: folder.path(percentEncoded: false), store: store) }

    /// Makes a new identity, keeps it in the home, and puts its card into the store (SPEC §7, §8).
    ///
    /// Where the store fails, the identity is kept: unlock it, and call ``Contacts/publishCard()`` again.
    ///
    /// - Parameters:
    ///   - handle: the name by which others find this person.
    ///   - password: the password, at least 8 code points.
    /// - Throws: ``TresorError/usage(_:)`` with `identityExists` when the home already has an identity, with
    ///   `passwordTooShort` for a password of fewer than 8 code points, and for a handle that nobody can have;
    ///   ``TresorError/cancelled`` for a task that was cancelled before the home changed; the errors of ``Contacts/publishCard()``.
    @concurrent public func makeIdentity(
        _ handle: String, password: borrowing Password
    ) async throws(TresorError) -> Session { try await makeIdentity(handle, password: password, cost: .standard) }

    /// Does what ``makeIdentity(_:password:)`` does, with another cost of one guess.
    @concurrent package func makeIdentity(
        _ handle: String, password: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) -> Session {
        let session = try await makeIdentity(handle: Name(typed: handle), password: password, cost: cost)
        // The home has the identity now: a cancellation may not part it from its card.
        try await uninterrupted { () async throws(TresorError) in try await session.people.publishCard() }
        return session
    }

    /// Registers with the service that is this client's store, and leaves a log-in by password there (SPEC §18.6, §20.5):
    /// from then on ``logIn(_:password:)`` opens the identity on any machine. The service learns neither the password
    /// nor the identity. Takes some seconds.
    ///
    /// A home without an identity gets a new one. Call it again where it failed, and where it was interrupted: the password
    /// then opens the identity that is there, and what is missing is done. A home whose handle somebody else has at the
    /// service keeps its identity: another handle needs another home.
    ///
    /// Call it again too with the new password after ``SlotChanges/changePassword(to:)`` and
    /// ``recover(kit:newPassword:)``, which change this home alone, and after
    /// ``IdentityRenewal/finish(progress:)``, because new keys end the log-in. A log-in that this password opens stays as
    /// it is, and the service goes on counting the log-ins that failed. Any other one gets this password, also where another
    /// machine set it: the former password logs in no more, and the count begins anew.
    ///
    /// - Parameters:
    ///   - handle: the name of the person, 1 to 256 bytes, by which others find them.
    ///   - password: the password of home and log-in, at least 8 code points.
    ///   - invitation: the 26 characters of an invitation by the operator; `nil` for none.
    /// - Returns: the session of the person, whose card is published.
    /// - Throws: ``TresorError/unsupported`` for a store that is no service, and for a service without such log-ins;
    ///   ``TresorError/waiting`` until the operator has admitted the person: call it again later;
    ///   ``TresorError/noAccess`` when the service takes no registration, or has closed the account;
    ///   ``TresorError/unverified`` when somebody else has the handle; ``TresorError/altered`` for what is no invitation,
    ///   and for another service than the one that this home knows; ``TresorError/forked`` when the service shows an older
    ///   log-in than this home knows; ``TresorError/wrongPassword`` when the password does not open the identity here;
    ///   ``TresorError/usage(_:)`` with `identityExists` for a home of another handle, with `passwordTooShort`, and
    ///   for a handle that nobody can have; ``TresorError/busy``; ``TresorError/cancelled``;
    ///   the errors of the store and of the home.
    @concurrent public func register(
        _ handle: String, password: borrowing Password, invitation: String? = nil
    ) async throws(TresorError) -> Session {
        try await register(handle, password: password, invitation: invitation, cost: .standard)
    }

    /// Does what ``register(_:password:invitation:)`` does, with another cost of one guess in this home.
    @concurrent package func register(
        _ handle: String, password: borrowing Password, invitation: String? = nil, cost: Argon2id.Cost
    ) async throws(TresorError) -> Session {
        let handle = try Name(typed: handle)
        var code: [UInt8] = []
        if let invitation {
            let utf8 = invitation.utf8
            let typed = try SecretBytes(copying: utf8.span)
            code = try Invitation(typed: typed).code
        }
        // A store without log-ins leaves the home as it is.
        _ = try login
        let session: Session
        if let file = try home.read(.identity) {
            guard try IdentityFile(file).chain.handle == handle else { throw .usage(.identityExists) }
            session = try await unlock(password: password)
        } else {
            session = try await makeIdentity(handle: handle, password: password, cost: cost)
        }
        switch try await session.client.login.ensure(password, invitation: code) {
        case .active: break
        case .closed: throw .noAccess
        default: throw .waiting
        }
        try await session.people.publishCard()
        let slots = session.unlocking
        if try slots.isKitCopyDue() { try await slots.restoreKitCopy() }
        return session
    }

    /// Brings the identity to this home with name and password, from the service that is this client's store
    /// (SPEC §20.5). Takes about two seconds.
    ///
    /// An empty home gets the identity, and opens with the same password from then on; it has no pins and no pinned heads:
    /// compare safety numbers again. A home of the same person gets the password, and the keys, that were set elsewhere.
    /// After three wrong passwords in a row nothing is sent for 15 minutes.
    ///
    /// - Parameters:
    ///   - handle: the name under which the person registered, 1 to 256 bytes.
    ///   - password: the password.
    /// - Returns: the session of the person.
    /// - Throws: ``TresorError/wrongPassword`` for a wrong password, and for a name without a log-in, which nobody can tell
    ///   apart; ``TresorError/busy`` when the service or this home takes no more tries now, and when another process
    ///   changed the home; ``TresorError/noAccess`` when the service ended the attempt, which took longer than a minute;
    ///   ``TresorError/altered`` for a service that is not the one that this home knows, that asks for a cost out of
    ///   bounds, or that shows something else than the person left; ``TresorError/forked`` when it shows an older log-in or
    ///   older keys than this home knows; ``TresorError/usage(_:)`` with `identityExists` for a home of somebody else, with
    ///   `passwordTooShort`, and for a handle that nobody can have; ``TresorError/unsupported`` for a
    ///   store without log-ins; ``TresorError/cancelled``; the errors of the store and of the home.
    @concurrent public func logIn(_ handle: String, password: borrowing Password) async throws(TresorError) -> Session {
        try await logIn(handle, password: password, cost: .standard)
    }

    /// Does what ``logIn(_:password:)`` does, with another cost of one guess in this home.
    @concurrent package func logIn(
        _ handle: String, password: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) -> Session {
        let login = try login
        let opened = try await login.open(try Name(typed: handle), password: password)
        return try await login.install(opened, password: password, cost: cost)
    }

    /// Finds a person, compares their safety number with the one that they told, and pins it (SPEC §7.5).
    ///
    /// - Parameters:
    ///   - text: the handle of the person, or at least 6 characters of their user id.
    ///   - number: the 30 digits that the person told, for example by telephone; spaces are ignored.
    ///   - replacing: whether to replace another person who is pinned under the handle.
    /// - Returns: the person, verified.
    /// - Throws: ``TresorError/notFound`` when nobody is called so; ``TresorError/unverified`` when the number is not
    ///   theirs, and for another person under a known handle; ``TresorError/usage(_:)`` with `safetyNumber` for another
    ///   form; the errors of ``Contacts/lookup(_:)``. Nothing is pinned then.
    @concurrent public func verify(
        _ text: String, number: String, replacing: Bool = false
    ) async throws(TresorError) -> Person {
        let told = try SafetyNumber(typed: number)
        var found = try await people.lookup(text)
        if replacing, let handle = try? Name(typed: text) { found += try await people.impostors(of: handle) }
        guard !found.isEmpty else { throw .notFound }
        var meant: Person?
        for person in found where try person.number() == told { meant = person }
        guard let meant else { throw .unverified }
        guard meant.trust != .me else { return meant }
        try await people.pin(meant.chain, replacing: replacing)
        return Person(chain: meant.chain, trust: .verified)
    }

    /// Opens the identity with the 24 words and gives it a new password. Takes about a second.
    ///
    /// The identity comes from this home or, if the home is empty, from the copy in the store. Recovery into an empty
    /// home deletes all server shares of this person from the store. A log-in at a service keeps the former password
    /// (SPEC §20.5): call ``register(_:password:invitation:)`` with the new one afterwards.
    ///
    /// - Returns: the session. A home that was empty has no pins and no pinned heads: compare safety numbers again.
    /// - Throws: ``TresorError/wrongPassword`` when the words open nothing; ``TresorError/altered``;
    ///   ``TresorError/usage(_:)`` with `passwordTooShort` for a password of fewer than 8 code points;
    ///   ``TresorError/cancelled`` for a task that was cancelled before anything was changed.
    @concurrent public func recover(
        kit: borrowing RecoveryKit, newPassword: borrowing Password
    ) async throws(TresorError) -> Session { try await recover(kit: kit, newPassword: newPassword, cost: .standard) }

    /// Does what ``recover(kit:newPassword:)`` does, with another cost of one guess.
    @concurrent package func recover(
        kit: borrowing RecoveryKit, newPassword: borrowing Password, cost: Argon2id.Cost
    ) async throws(TresorError) -> Session {
        try await recovery.recover(kit: kit, newPassword: newPassword, cost: cost).session
    }

    /// Follows the store and reports what changes for a person: tresors they enter or leave, new keys of tresors, and
    /// new keys of people.
    ///
    /// It needs no secret, except with a service, which answers the client of a ``Session`` alone. Every log is verified
    /// and remembered before it is reported on. The first changes are those since this home last verified a log. The
    /// sequence ends when its task is cancelled.
    ///
    /// - Parameters:
    ///   - user: the person; usually the owner of this home.
    ///   - interval: the time between two readings of the store. A service tells at once which logs have grown, and is read
    ///     when it does.
    public func changes(
        of user: UserID, every interval: Duration = .seconds(30)
    ) -> some AsyncSequence<Change, Never> & Sendable {
        Changes(client: self, user: user, interval: interval)
    }

    /// Finishes a change of the password, the kit or the devices that was interrupted (SPEC §8.4). Needs no secret and
    /// may be repeated; it does nothing where nothing was interrupted.
    ///
    /// It deletes old kit copies and the server shares of removed devices from the store. It destroys a device share
    /// here that belongs to no slot.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the store cannot be reached. Call it again later.
    @concurrent public func cleanUp() async throws(TresorError) { try await cleanup.finish() }
}
