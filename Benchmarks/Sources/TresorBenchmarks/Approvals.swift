// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Measuring
import TresorSQLite
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Approving people who wait, each by a grant of their own.
enum Approvals {
    private static let count = 1000
    /// How many are approved in one turn, the last run of which is read back.
    private static let turn = 250

    static func figures(in directory: String) async throws -> [Figure] {
        let store = try await SQLiteStore.open(at: directory + "/approvals.db", creating: true)
        let (anna, clinic) = (try Circle.person("anna", on: store), try Circle.person("clinic", on: store))
        try await clinic.client.people.pin(anna.identity.chain)
        let tresor = try await anna.tresors.create(
            Name(text: "plans"), approvers: [clinic.chain], acceptingUnverified: true
        ).tresor
        for chain in try Circle.cards(count) {
            try await anna.tresors.perform(
                .share(with: [chain], role: .reader, fromNow: false, notAfter: nil), on: tresor,
                acceptingUnverified: true)
        }
        let pending = PendingGrant.all(in: try await clinic.client.logs.state(of: tresor))
        let plain = try PlainApprovals(
            tresor: tresor, store: await SQLiteStore.open(at: directory + "/plain-approvals.db", creating: true))
        let asked = try await store.entries(of: tresor, from: 0, limit: count + 1)
        for sequence in asked.indices { try await plain.append(asked, sequence, at: sequence) }
        var times = (first: 0.0, second: 0.0)
        for start in stride(from: 0, to: count, by: turn) {
            let grants = pending[start..<(start + turn)]
            times.first += try await Measure.time {
                try await Decisions(session: clinic).decide(grants.map(Decision.approve), on: tresor)
            }
            // The entry before them stands first.
            let written = try await store.entries(of: tresor, from: UInt64(count + start), limit: turn + 1)
            let people = grants.flatMap(\.people)
            times.second += try await Measure.time {
                for (index, chain) in people.enumerated() {
                    try plain.release(to: chain)
                    try await plain.append(written, index + 1, at: count + start + index + 1)
                }
            }
        }
        return [
            Figure(
                work: "approve \(count) grants", time: times.first,
                baseline: "plain HPKE, and the same appends", baselineTime: times.second, goal: .atMost(1.2))
        ]
    }
}

/// The calls of HPKE and of the store without which nobody is approved.
private struct PlainApprovals {
    private static let suite = HPKE.Ciphersuite(kem: .XWingMLKEM768X25519, kdf: .HKDF_SHA256, aead: .chaChaPoly)
    private static let info = Data(repeating: 1, count: 132)

    private let tresor: TresorID
    private let store: any Store
    private let approver: XWingMLKEM768X25519.PrivateKey
    /// A wrap for the approver.
    private let wrap: (encapsulated: Data, ciphertext: Data)

    init(tresor: TresorID, store: any Store) throws {
        self.tresor = tresor
        self.store = store
        approver = try XWingMLKEM768X25519.PrivateKey.generate()
        var sender = try HPKE.Sender(recipientKey: approver.publicKey, ciphersuite: Self.suite, info: Self.info)
        let ciphertext = try sender.seal(Data(repeating: 2, count: 32))
        wrap = (sender.encapsulatedKey, ciphertext)
    }

    /// Opens the wrap, and wraps what it holds for a person.
    func release(to chain: CardChain) throws {
        var recipient = try HPKE.Recipient(
            privateKey: approver, ciphersuite: Self.suite, info: Self.info, encapsulatedKey: wrap.encapsulated)
        let key = try XWingMLKEM768X25519.PublicKey(rawRepresentation: chain.newest.kemKey.bytes)
        var sender = try HPKE.Sender(recipientKey: key, ciphersuite: Self.suite, info: Self.info)
        _ = try sender.seal(try recipient.open(wrap.ciphertext))
    }

    /// Appends one of these entries at its place in the log.
    func append(_ entries: [[UInt8]], _ index: Int, at sequence: Int) async throws {
        let change = LogChange(
            tresor: tresor, sequence: UInt64(sequence), previous: try Entry(entries[index]).previous,
            entry: entries[index])
        guard try await store.append(change) == .done else { throw BaselineFailure() }
    }
}
