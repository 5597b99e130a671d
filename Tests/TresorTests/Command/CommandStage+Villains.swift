// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore

/// Entries that no honest program sends, and lies of the store about everything else.
extension CommandStage {
    /// A lie of the store. It shows every log as it is.
    enum Lie: CaseIterable {
        case none, withholdsAllWraps, givesOldWraps, showsOldCards
    }

    /// From now on the store tells this lie to everybody.
    func tell(_ lie: Lie) {
        switch lie {
        case .none: evil.behave()
        case .withholdsAllWraps: evil.showWraps { _, _, _ in [] }
        case .givesOldWraps:
            evil.showWraps { wraps, _, _ in wraps.filter { (try? UnverifiedWrap($0).epoch) == 1 } }
        case .showsOldCards:
            evil.showCards { bytes in (try? CardChain(bytes))?.cards.first?.bytes }
        }
    }

    func entries(of tresor: TresorID) async throws -> [[UInt8]] { try await log(tresor, in: evil.truth) }

    func state(of tresor: TresorID) async throws -> LogState {
        try Fold.state(of: await entries(of: tresor), tresor: tresor)
    }

    /// Appends an entry that a person signs with their own keys, with any content.
    func append(
        _ body: EntryBody, by author: Identity, generation: UInt32? = nil, to tresor: TresorID,
        wraps: [StoredWrap] = []
    ) async throws {
        try await world.append(body, by: author, generation: generation, to: tresor, in: evil, wraps: wraps)
    }

    /// An epoch that its author gives to nobody else, and a file under it.
    ///
    /// - Returns: the keys, and the sealed file.
    func withhold(
        by author: Identity, in tresor: TresorID, linking earlier: EpochKeys
    ) async throws -> (keys: EpochKeys, file: SealedFile) {
        let next = try EpochKeys(epoch: try await state(of: tresor).epoch + 1)
        let wrap = try Wrap(next, of: tresor, for: author.chain.newest, user: author.user, history: .all)
        try await append(
            .epoch(EpochBody(try next.statement(of: tresor, linking: [earlier]))), by: author, to: tresor,
            wraps: [StoredWrap(user: author.user, epoch: next.epoch, bytes: wrap.bytes)])
        let file = try FileSealer.sealFile(
            Array("theirs".utf8), type: .empty, record: .empty, keys: next, state: try await state(of: tresor),
            author: author, time: world.clock.now)
        return (next, file)
    }
}
