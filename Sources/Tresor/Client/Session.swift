// SPDX-License-Identifier: Apache-2.0

/// What a session did in a tresor before the act that was asked for (SPEC §9.7, `settle`).
public struct Notice: Hashable, Sendable {
    /// What was done.
    public enum Deed: Hashable, Sendable {
        /// Members whose date had passed were removed.
        case ended([UserID])
        /// A member's newer card, which this home had compared, was put into the log.
        case renewed(UserID)
        /// The key was changed: a member had left, or the author of the epoch before kept its keys from this owner.
        case rekeyed
    }

    /// In which tresor.
    public let tresor: TresorID
    /// What was done.
    public let deed: Deed
    /// The epoch that was current afterwards.
    public let epoch: UInt64
}

/// An unlocked identity at work on one home and one store. Release it and the keys it holds are wiped.
public actor Session {
    /// Home, store and clock.
    public nonisolated let client: Client
    /// Who is at work.
    public nonisolated let identity: Identity

    /// Keys that have come out of wraps and back-links, each checked against the log.
    var keys: [TresorID: [UInt64: EpochKeys]] = [:]
    /// This person's own wraps that opened, by epoch.
    var openedWraps: [TresorID: [UInt64: [UInt8]]] = [:]
    /// Tresors in which a person said to go on although the clock is far from the log's.
    var acceptedClocks: Set<TresorID> = []
    /// What was done besides what was asked for, and not yet told.
    var notices: [Notice] = []

    /// The names that the home keeps, as they were last read.
    nonisolated let namesRead = Recall<KnownNames>()

    package init(client: Client, identity: Identity) {
        self.client = client.keepingStates(for: identity)
        self.identity = identity
    }

    /// What this session did of its own accord since the last call, each from an entry of its own: for telling.
    public func takeNotices() -> [Notice] {
        defer { notices = [] }
        return notices
    }

    /// The name of a tresor.
    ///
    /// - Throws: what ``keys(of:in:)`` throws; ``TresorError/altered`` when the name is not what an owner sealed.
    public func name(in state: LogState) async throws(TresorError) -> Name {
        let isKept = try client.heads()[state.tresor] != nil
        defer { if isKept { rememberOpenedWraps(in: state) } }
        let name = try await nameAndKind(in: state).name
        if isKept { remember(name, of: state.tresor) }
        return name
    }

    /// What a tresor is said to be for; empty where nobody said it. Every member can read it, and the store cannot.
    ///
    /// - Throws: what ``name(in:)`` throws.
    public func kind(in state: LogState) async throws(TresorError) -> Name {
        try await nameAndKind(in: state).kind
    }

    func nameAndKind(in state: LogState) async throws(TresorError) -> (name: Name, kind: Name) {
        let record = state.name
        let keys = try await keys(of: record.epoch, in: state)
        return try record.sealed.open(
            with: keys.content, tresor: state.tresor, epoch: record.epoch, sequence: record.sequence)
    }
}
