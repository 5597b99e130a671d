// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Everything that people can open together, with their seeds, every wrap that a store ever had, and a log (SPEC §9.11).
/// Nothing is believed: each secret is tried for every use.
struct Plunder {
    /// The keys of epochs, each proved by the log.
    private(set) var keys: [UInt64: [EpochKeys]] = [:]
    private let state: LogState

    /// The keys of a wrap, and whose and of which epoch it was.
    private struct Find: Hashable {
        let secret: [UInt8]
        let epoch: UInt64
        let user: UserID
    }

    init(of people: [Identity], wraps: [[UInt8]], log: [[UInt8]]) throws {
        state = try Fold.state(of: log, tresor: Entry(log[0]).tresor)
        var finds: Set<Find> = []
        for bytes in wraps {
            guard let wrap = try? UnverifiedWrap(bytes) else { continue }
            for person in people { finds.formUnion(Self.open(wrap, as: person)) }
        }
        var secrets = finds.map(\.secret)
        for bytes in log {
            guard case .approve(let body) = try Entry(bytes).body else { continue }
            for person in people { secrets += Self.open(body, as: person, of: state.tresor) }
        }
        let short = Set(secrets.filter { $0.count == 32 })
        let sealed = finds.filter { $0.secret.count > 64 }
        let opened = try sealed.flatMap { find in try short.flatMap { try open(find, with: $0) } }
        take(secrets + opened)
    }

    /// Whether a file opens, as far as its own key goes.
    func opens(_ file: SealedFile) -> Bool {
        (keys[file.header.epoch] ?? []).contains { keys in
            let (context, sealed) = (file.header.bytes, Array(file.bytes[FileHeader.byteCount...]))
            return (try? TC1.open(sealed.span, with: keys.content, label: .fileSeal, context: context.span)) != nil
        }
    }

    private static func open(_ wrap: UnverifiedWrap, as person: Identity) -> [Find] {
        guard let card = person.chain.card(generation: wrap.generation) else { return [] }
        return [DomainLabel.epochWrap, .approvalWrap].compactMap { label in
            let info = label.message(
                wrap.tresor.digest.bytes + bigEndianBytes(wrap.epoch) + wrap.user.digest.bytes + card.hash.bytes)
            let opened = bytes { () throws(TresorError) in
                try person.unwrap(wrap.wrapped, generation: wrap.generation, info: info)
            }
            return opened.map { Find(secret: $0, epoch: wrap.epoch, user: wrap.user) }
        }
    }

    private static func open(_ body: ApproveBody, as person: Identity, of tresor: TresorID) -> [[UInt8]] {
        body.releases.flatMap { release -> [[UInt8]] in
            guard let card = person.chain.card(generation: release.generation) else { return [] }
            let opened = bytes { () throws(TresorError) in
                try release.open(as: person, grant: body.grant, epoch: body.epoch, of: tresor, card: card)
            }
            let keys = opened ?? []
            return stride(from: 0, to: keys.count, by: 32).map { Array(keys[$0..<($0 + 32)]) }
        }
    }

    /// Tries a secret as the approval key of the epoch, and as that of the person.
    private func open(_ find: Find, with secret: [UInt8]) throws -> [[UInt8]] {
        let tresor = state.tresor
        let direct = Self.bytes { () throws(TresorError) in
            let key = try SecretKey<WaitingUse>(SecretBytes(copying: secret.span))
            return try key.open(find.secret.span, epoch: find.epoch, of: tresor, user: find.user)
        }
        let derived = Self.bytes { () throws(TresorError) in
            let plain = try SecretKey<ApprovalUse>(SecretBytes(copying: secret.span))
            let key = try ApprovalKey(plain, epoch: find.epoch, of: tresor).key(of: find.user)
            return try key.open(find.secret.span, epoch: find.epoch, of: tresor, user: find.user)
        }
        return [direct, derived].compactMap(\.self)
    }

    private static func bytes(_ open: () throws(TresorError) -> SecretBytes) -> [UInt8]? {
        do throws(TresorError) {
            let opened = try open()
            return opened.span.publicBytes
        } catch {
            return nil
        }
    }

    /// Keeps what the log committed to, and follows all back-links.
    private mutating func take(_ secrets: [[UInt8]]) {
        var found: [EpochKeys] = []
        for secret in secrets where secret.count == 32 || secret.count == 64 {
            for epoch in 1...state.epoch {
                guard let statement = state.statement(of: epoch),
                    let keys = try? EpochKeys(epoch: epoch, unwrapped: secret.span),
                    (try? keys.checkKeys(against: statement, of: state.tresor)) != nil
                else { continue }
                found.append(keys)
            }
        }
        while let next = found.popLast() {
            let isKnown = keys[next.epoch]?.contains { $0.opensHistory || !next.opensHistory } ?? false
            guard !isKnown, let statement = state.statement(of: next.epoch) else { continue }
            keys[next.epoch, default: []].append(next)
            found += (try? next.openBackLink(statement, of: state.tresor)) ?? []
        }
    }
}
