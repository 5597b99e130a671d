// SPDX-License-Identifier: Apache-2.0

public import Foundation
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
    public init(at folder: String, store: any Store) {
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
    ///   - cost: the work to open the identity with the password.
    /// - Throws: the errors of ``makeIdentity(handle:password:cost:)`` and ``Contacts/publishCard()``;
    ///   ``TresorError/usage(_:)`` with `nameCharacters` or `nameTooLong`.
    @concurrent public func makeIdentity(
        _ handle: String, password: borrowing Password, cost: Argon2id.Cost = .standard
    ) async throws(TresorError) -> Session {
        let session = try await makeIdentity(handle: Name(typed: handle), password: password, cost: cost)
        try await people.publishCard()
        return session
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

    /// Follows the store and reports what changes for a person: tresors they enter or leave, new keys of tresors, and
    /// new keys of people.
    ///
    /// It needs no secret. Every log is verified and remembered before it is reported on.
    ///
    /// - Parameters:
    ///   - user: the person; usually the owner of this home.
    ///   - interval: the time between two readings of the store.
    public func changes(of user: UserID, every interval: Duration = .seconds(30)) -> Changes {
        Changes(client: self, user: user, interval: interval)
    }
}
