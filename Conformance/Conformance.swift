// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

/// The parts of a client, one by one, for the vectors (SPEC §17): reading, opening and validating. Nothing here seals,
/// signs or draws random bytes.
enum Conformance {
    /// Reads an object whole and writes it again.
    static func reencode(_ magic: Magic, _ bytes: [UInt8]) throws(TresorError) -> [UInt8] {
        switch magic {
        case .card: return try CardChain(bytes).bytes
        case .identity: return try IdentityFile(bytes).bytes
        case .entry:
            let entry = try Entry(bytes)
            _ = try entry.body
            return entry.bytes
        case .wrap: return try UnverifiedWrap(bytes).bytes
        case .file: return try SealedFile(bytes).bytes
        case .pins: return try Pins(bytes).bytes
        case .heads: return try PinnedHeads(bytes).bytes
        case .log: return try LogCopy(bytes).bytes
        case .device:
            let encoded = try DeviceShare(try SecretBytes(copying: bytes.span)).encoded()
            return encoded.span.publicBytes
        case .cleanupJournal: return try CleanupJournal(bytes).bytes
        case .marks: return try Marks(bytes).bytes
        case .keptWraps: return try KeptWraps(bytes).bytes
        case .export: return try TresorExport(bytes).bytes
        case .knownServices: return try KnownServices(bytes).bytes
        case .knownLogins: return try KnownLogins(bytes).bytes
        case .notedStores: return try NotedStores(bytes).bytes
        case .server: return try Server(bytes).bytes
        case .session: return try SessionStatement(bytes).bytes
        case .loginStatement: return try LoginStatement(bytes).bytes
        case .records: return try KeptPacks(bytes).bytes
        case .outbox: return try Outbox(bytes).bytes
        case .approvalEvidence: return try ApprovalEvidence(bytes).bytes
        case .deviceMailbox: return try DeviceMailbox(bytes).bytes
        case .evidence, .state, .refusal, .serverKey, .deviceOffer, .deviceAnswer, .deviceBundle:
            throw .unsupported
        }
    }

    /// Evidence and its name in the home.
    static func evidence(
        of tresor: TresorID, head: Head, verified: [UInt8], shown: [UInt8]
    ) throws(TresorError) -> (bytes: [UInt8], name: Hash256) {
        let bytes = ForkEvidence(tresor: tresor, head: head, verified: verified, shown: shown).bytes
        return (bytes, try BLAKE2b.hash(.evidenceHash, bytes))
    }

    /// An identity from its newest seed and the sealed earlier ones.
    static func identity(
        chain: [UInt8], seed: [UInt8], previous: [[UInt8]]
    ) throws(TresorError) -> Identity {
        try Identity(
            chain: try CardChain(chain), seed: try SecretKey(SecretBytes(copying: seed.span)), previous: previous)
    }

    /// Opens the slot that `key` is for.
    static func openSlot(
        _ file: IdentityFile, slot: Int, key: [UInt8]
    ) throws(TresorError) -> Identity {
        guard file.slots.indices.contains(slot) else { throw .usage(.outOfBounds) }
        return try file.openSlot(file.slots[slot], with: try SecretKey(SecretBytes(copying: key.span)))
    }

    /// Opens the file with a device share and a server share.
    static func open(
        _ file: IdentityFile, deviceShare: [UInt8], serverShare: [UInt8], now: UInt64
    ) throws(TresorError) -> Identity {
        let device = try DeviceShare(try SecretBytes(copying: deviceShare.span))
        guard serverShare.count == 32 else { throw .altered }
        return try file.open(withDevice: device, serverShare: try SecretBytes(copying: serverShare.span), now: now)
    }

    /// The statement of an epoch, read whole.
    private static func epoch(_ bytes: [UInt8]) throws(TresorError) -> Epoch {
        var decoder = ByteDecoder(bytes)
        let epoch = try Epoch(from: &decoder)
        try decoder.end()
        return epoch
    }

    /// `checkKeys` of SPEC §9.5: keys of an epoch against its statement.
    static func checkKeys(_ keys: [UInt8], of epoch: [UInt8], in tresor: TresorID) throws(TresorError) {
        let statement = try self.epoch(epoch)
        let keys = try EpochKeys(epoch: statement.number, unwrapped: keys.span)
        try keys.checkKeys(against: statement, of: tresor)
    }

    /// `openBackLink` of SPEC §9.5; `epochs` are the statements from 1 on; the given keys belong to the last.
    static func openBackLink(
        _ keys: [UInt8], of tresor: TresorID, epochs: [[UInt8]]
    ) throws(TresorError) -> [(epoch: UInt64, keys: [UInt8])] {
        var statements: [Epoch] = []
        for bytes in epochs { statements.append(try epoch(bytes)) }
        guard let last = statements.last else { throw .altered }
        let own = try EpochKeys(epoch: last.number, unwrapped: keys.span)
        try own.checkKeys(against: last, of: tresor)
        var links: [(epoch: UInt64, keys: [UInt8])] = []
        for link in try own.openBackLink(last, of: tresor) {
            guard let statement = statements.first(where: { $0.number == link.epoch }),
                (try? link.checkKeys(against: statement, of: tresor)) != nil
            else {
                guard !links.isEmpty else { throw .altered }
                break
            }
            let bytes = try link.secret()
            links.append((link.epoch, bytes.span.publicBytes))
        }
        return links
    }

    /// Opens a sealed name.
    static func openName(
        _ sealed: [UInt8], contentKey: [UInt8], tresor: TresorID, epoch: UInt64, sequence: UInt64
    ) throws(TresorError) -> (name: Name, kind: Name) {
        var decoder = ByteDecoder(sealed)
        let name = try SealedName(from: &decoder)
        try decoder.end()
        let key = try SecretKey<ContentUse>(SecretBytes(copying: contentKey.span))
        return try name.open(with: key, tresor: tresor, epoch: epoch, sequence: sequence)
    }

    /// Opens the sealed names of a home, SPEC §8.5.
    static func openNames(
        _ sealed: [UInt8], as identity: Identity
    ) throws(TresorError) -> [(tresor: TresorID, name: Name)] {
        try KnownNames(sealed, of: identity).names.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Opens the sealed marks of a home, SPEC §8.5.
    static func openMarks(
        _ sealed: [UInt8], as identity: Identity
    ) throws(TresorError) -> [(tresor: TresorID, flags: UInt8)] {
        try Marks(sealed, of: identity).flags.sorted { $0.key < $1.key }.map { ($0.key, $0.value.rawValue) }
    }

    /// Makes the snapshot of a folded log, SPEC §9.10.
    static func snapshot(_ state: LogState, of identity: Identity) throws(TresorError) -> [UInt8] {
        try Snapshots(identity).bytes(of: state)
    }

    /// Opens a snapshot, SPEC §9.10.
    static func openSnapshot(
        _ bytes: [UInt8], of tresor: TresorID, as identity: Identity
    ) throws(TresorError) -> LogState {
        let state = try Snapshots(identity).openSnapshot(bytes)
        guard state.tresor == tresor else { throw .altered }
        return state
    }

    /// `pin` of SPEC §7.5, on the pins of a home.
    static func pin(
        _ chain: CardChain, in pins: [UInt8], time: UInt64, replacing: Bool, beside: Bool
    ) throws(TresorError) -> [UInt8] {
        var pins = try Pins(pins)
        try pins.pin(chain, time: time, replacing: replacing, beside: beside)
        return pins.bytes
    }

    /// `openWrap` of SPEC §9.6.
    ///
    /// - Parameters:
    ///   - chain: the chain of the member in the log.
    ///   - history: 0 for all, otherwise the first epoch that the member may read.
    /// - Returns: TK, or TK ‖ HK.
    static func openWrap(
        _ bytes: [UInt8], tresor: TresorID, epoch: [UInt8], chain: CardChain, history: UInt64, as identity: Identity
    ) throws(TresorError) -> [UInt8] {
        let wrap = try UnverifiedWrap(bytes)
        guard let card = chain.card(generation: wrap.generation) else { throw .altered }
        let keys = try wrap.openWrap(
            as: identity, of: tresor, statement: try self.epoch(epoch), card: card,
            history: history == 0 ? .all : .from(epoch: history))
        let unwrapped = try keys.secret()
        return unwrapped.span.publicBytes
    }

    /// `openFile` of SPEC §10.5 after the checks of the owner and of the keys.
    static func openFile(
        _ bytes: [UInt8], contentKey: [UInt8], in state: LogState
    ) throws(TresorError) -> OpenedFile {
        let file = try SealedFile(bytes)
        guard file.header.tresor == state.tresor else { throw .noAccess }
        try file.header.check(in: state, isNewest: true)
        guard file.header.epoch > 0 else { throw .noAccess }
        return try FileOpener.openFile(
            file, with: try EpochKeys(epoch: file.header.epoch, unwrapped: contentKey.span), in: state)
    }

    /// The size of a payload, SPEC §10.3.
    static func paddedByteCount(_ count: Int) -> Int { Padding.paddedByteCount(count) }

    /// Folds the local copy of a log.
    static func state(ofLogCopy bytes: [UInt8], tresor: TresorID) throws(TresorError) -> LogState {
        try Fold.state(of: try LogCopy(bytes).entries, tresor: tresor)
    }

    /// Makes a session of an open identity.
    static func session(_ client: Client, identity: Identity) -> Session {
        Session(client: client, identity: identity)
    }

    /// Marks a tresor as *confirmed mine*, as *create* does, SPEC §8.5.
    static func confirmMine(_ tresor: TresorID, for session: Session) throws(TresorError) {
        try session.tresors.mark(tresor, .confirmed, true)
    }

    /// `keysOf` of SPEC §9.6, without the keys.
    static func checkKeys(of epoch: UInt64, in state: LogState, for session: Session) async throws(TresorError) {
        _ = try await session.keyRing.keys(of: epoch, in: state)
    }

    /// `keysOf` of SPEC §9.6: TK, or TK ‖ HK.
    static func keys(
        of epoch: UInt64, in state: LogState, for session: Session
    ) async throws(TresorError) -> [UInt8] {
        let secret = try await session.keyRing.keys(of: epoch, in: state).secret()
        return secret.span.publicBytes
    }

    /// `standing` of SPEC §10.6.
    ///
    /// - Parameter client: the home that may have compared the user; `nil` for none.
    static func authorStatus(
        of user: UserID, generation: UInt32, since head: UInt64, in state: LogState, for client: Client?
    ) throws(TresorError) -> AuthorStatus {
        let status = AuthorStatus(of: user, generation: generation, since: head, in: state)
        return status.compared(with: try client?.trust.comparedChain(of: user), generation: generation)
    }

    /// Reads the entries appended by `settle` (SPEC §9.7): the renewed cards in order, and the removed users.
    static func settled(_ entries: [[UInt8]]) throws(TresorError) -> (cards: [[UInt8]], removed: [UserID]) {
        var cards: [[UInt8]] = []
        var removed: [UserID] = []
        for bytes in entries {
            switch try Entry(bytes).body {
            case .renew(let renew): cards.append(renew.card.bytes)
            case .remove(let remove): removed += remove.users
            case .genesis, .grant, .approve, .refuse, .leave, .epoch, .approvers, .role, .rename, .commit, .checkpoint,
                .additive:
                throw .altered
            }
        }
        return (cards, removed)
    }
}
