// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The part of an export that a service takes from one person (SPEC §11.1, §18.7).
///
/// A service takes a card from its owner alone, and wraps with an entry from its author alone. So the author makes them
/// anew: an export has no wraps of people who are members no more.
struct Delivery: Sendable {
    private let export: TresorExport
    private let shown: LogState
    /// The session of the person who delivers, which reads the export.
    private let session: Session

    /// - Parameter shown: the state of the export's log.
    init(of export: TresorExport, in shown: LogState, by identity: Identity, _ client: Client) {
        self.export = export
        self.shown = shown
        session = Session(client: client.reading(ExportedStore(export: export)), identity: identity)
    }

    /// Checks that the service takes all entries from one on: the first one from the founder, another one from its
    /// author, and from members before or after it.
    ///
    /// - Throws: ``TresorError/noAccess``.
    func checkEntries(from first: UInt64) throws(TresorError) {
        for sequence in first..<shown.entryCount {
            let isIn =
                shown.role(of: session.user, at: sequence) != nil
                || (sequence > 0 && shown.role(of: session.user, at: sequence - 1) != nil)
            guard sequence > 0 || session.user == shown.founder else { throw .noAccess }
            guard !isIn else { continue }
            guard try Entry(export.entries[Int(sequence)]).author == session.user else { throw .noAccess }
        }
    }

    /// Whether the service takes a card.
    func takes(_ chain: CardChain) -> Bool { chain.user == session.user }

    /// Whether the service takes blobs: from an owner or a writer.
    var takesBlobs: Bool { shown.members[session.user].map { $0.role != .reader } ?? false }

    /// Whether the service takes a wrap without an entry.
    func takes(_ wrap: Wrap, in state: LogState) -> Bool {
        guard let member = state.members[session.user], wrap.unverified.isNeeded(in: state) else { return false }
        return member.history == .all || wrap.user == session.user
    }

    /// Returns the fold of the entries before one.
    func fold(before sequence: UInt64) throws(TresorError) -> Fold {
        var fold = Fold(tresor: export.tresor)
        try fold.apply(Array(export.entries[..<Int(sequence)]))
        return fold
    }

    /// Applies an entry, and makes the wraps that go with it: none for the entry of somebody else.
    func wraps(with entry: [UInt8], in fold: inout Fold) async throws(TresorError) -> [StoredWrap] {
        let entry = try Entry(entry)
        try fold.apply(entry)
        guard let after = fold.state else { throw .altered }
        return await session.audit.wraps(of: entry, after: after, in: shown)
    }
}
