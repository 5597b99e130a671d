// SPDX-License-Identifier: Apache-2.0

/// Holds an unlocked identity that works on one home and one store. Its keys are wiped when the last copy is released.
///
/// Its properties are named after the things they work on. Their methods may take seconds and never run on the caller's
/// actor. A task that is cancelled gets ``TresorError/cancelled``: what it asked for has not happened.
public struct Session: Sendable {
    /// The home, the store and the clock.
    public let client: Client
    /// The unlocked identity.
    public let identity: Identity
    /// The epoch keys that this session has opened.
    package let keyRing: KeyRing
    /// The names that the home keeps, as they were last read.
    let namesRead = Recall<KnownNames>()

    package init(client: Client, identity: Identity) {
        let client = client.keepingStates(for: identity)
        self.client = client
        self.identity = identity
        keyRing = KeyRing(client: client, identity: identity)
    }

    /// The tresors of this person: making, naming and changing them.
    public var tresors: Tresors { Tresors(session: self) }

    /// The people this home knows, and those whom the store offers.
    public var people: Contacts { client.people }

    /// Sealing and opening files.
    public var files: Files { Files(session: self) }

    /// The key slots of this identity: password, recovery kit and devices.
    public var unlocking: SlotChanges { SlotChanges(session: self) }

    /// New keys for this identity.
    public var renewal: IdentityRenewal { IdentityRenewal(session: self) }

    /// The proofs and repairs that need an unlocked identity.
    public var audit: DeepAudit { DeepAudit(session: self) }

    /// Returns what this session did without being asked since the last call. Each notice stands for one entry.
    @concurrent public func takeNotices() async -> [Notice] { await keyRing.takeNotices() }
}
