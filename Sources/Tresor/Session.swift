// SPDX-License-Identifier: Apache-2.0

public import TresorCore

/// Holds an unlocked identity that works on one home and one store. Its keys are wiped by ``lock()``, or when the last
/// copy is released.
///
/// `tresor(_:)` and ``create(_:kind:)`` give a ``TresorHandle``, which seals, opens and shares.
///
/// Its properties are named after the things they work on. Their methods may take seconds and never run on the caller's
/// actor. A task that is cancelled gets ``TresorError/cancelled``: the change that it asked for has not happened.
public struct Session: Sendable {
    /// The home, the store and the clock.
    public let client: Client
    /// The unlocked identity.
    package let identity: Identity
    /// The epoch keys that this session has opened.
    package let keyRing: KeyRing

    package init(client: Client, identity: Identity) {
        let client = client.opened(by: identity)
        self.client = client
        self.identity = identity
        keyRing = KeyRing(client: client, identity: identity)
    }

    /// The user id of this person.
    public var user: UserID { identity.user }

    /// The handle of this person.
    package var handle: Name { identity.handle }

    /// The card chain of this person, which others verify.
    public var chain: CardChain { identity.chain }

    /// The tresors of this person: making, naming and changing them.
    package var tresors: Tresors { Tresors(session: self) }

    /// The people this home knows, and those whom the store offers.
    package var people: Contacts { client.people }

    /// Sealing and opening files.
    package var files: Files { Files(session: self) }

    /// The key slots of this identity: password, recovery kit and devices.
    public var unlocking: SlotChanges { SlotChanges(session: self) }

    /// New keys for this identity.
    public var renewal: IdentityRenewal { IdentityRenewal(session: self) }

    /// The proofs and repairs that need an unlocked identity.
    package var audit: DeepAudit { DeepAudit(session: self) }

    /// Wipes the keys of this session and of all its copies. There is no way back: unlock the identity again.
    ///
    /// From now on the session reads and writes nothing: its calls, and those of everything it gave out, throw
    /// ``TresorError/usage(_:)`` with `locked`. A call under way ends with that error at its next step: a stream after
    /// the piece under way, a batch after the file. A change that has begun goes on to its end. Contents that were opened
    /// stay in memory until you release them. A ``VerifiedFile`` reads no more; its own key is wiped when you release it.
    public func lock() {
        identity.lock()
        keyRing.lock()
        client.operation.snapshots?.lock()
    }

    /// Whether ``lock()`` was called.
    public var isLocked: Bool { identity.isLocked }

    /// Returns what this session did without being asked since the last call. Each notice stands for one entry.
    @concurrent package func takeNotices() async -> [Notice] { await keyRing.takeNotices() }
}
