// SPDX-License-Identifier: Apache-2.0

/// An unlocked identity at work on one home and one store. Release every copy and the keys it holds are wiped.
///
/// What can be done with it is found by its nouns. What they do asynchronously runs on no actor of the caller: it may cost seconds, and
/// never holds up a user interface. Sources and sinks of streams alone are read and written where the caller is.
public struct Session: Sendable {
    /// Home, store and clock.
    public let client: Client
    /// Who is at work.
    public let identity: Identity
    /// The keys of epochs that this session has opened.
    package let keyRing: KeyRing
    /// The names that the home keeps, as they were last read.
    let namesRead = Recall<KnownNames>()

    package init(client: Client, identity: Identity) {
        let client = client.keepingStates(for: identity)
        self.client = client
        self.identity = identity
        keyRing = KeyRing(client: client, identity: identity)
    }

    /// The tresors of this person: making them, naming them, and acting in them.
    public var tresors: Tresors { Tresors(session: self) }

    /// Sealing and opening files.
    public var files: Files { Files(session: self) }

    /// The password, the kit and the devices that unlock this identity.
    public var unlocking: SlotChanges { SlotChanges(session: self) }

    /// New keys for this identity.
    public var renewal: IdentityRenewal { IdentityRenewal(session: self) }

    /// Proofs and repairs that need an unlocked identity.
    public var audit: DeepAudit { DeepAudit(session: self) }

    /// What this session did of its own accord since the last call, each from an entry of its own: for telling.
    public func takeNotices() async -> [Notice] { await keyRing.takeNotices() }
}
