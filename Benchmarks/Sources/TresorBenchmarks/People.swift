// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Crypto
import Foundation
import Measuring
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The cost of changes of the circle as it grows.
enum People {
    static func figures(in directory: String) async throws -> [Figure] {
        var figures: [Figure] = []
        for count in [10, 100, 1000, 10_000] {
            let circle = try await Circle(members: count, in: directory)
            var times: [Double] = []
            var raw: [Double] = []
            for victim in circle.readers.prefix(count == 10_000 ? 1 : 3) {
                raw.append(try await Measure.time { try wraps(count, for: circle.readers) })
                times.append(
                    try await Measure.time {
                        try await circle.anna.tresors.perform(.revoke([victim.user]), on: circle.tresor)
                    })
            }
            figures.append(
                Figure(
                    work: "remove one of \(count) members", time: Measure.median(times),
                    baseline: "\(count) plain wraps on all cores", baselineTime: Measure.median(raw),
                    goal: count == 1000 ? .atMost(1.2) : nil))
        }
        return figures
    }

    /// One plain HPKE wrap for each member.
    private static func wraps(_ count: Int, for people: [CardChain]) throws {
        let suite = HPKE.Ciphersuite(kem: .XWingMLKEM768X25519, kdf: .HKDF_SHA256, aead: .chaChaPoly)
        let keys = people.map(\.newest.kemKey.bytes)
        let info = Data(repeating: 1, count: 132)
        let secret = Data(repeating: 2, count: 64)
        try Measure.onAllCores(count) { share in
            for index in 0..<share {
                guard
                    let key = try? XWingMLKEM768X25519.PublicKey(rawRepresentation: keys[index % keys.count]),
                    var sender = try? HPKE.Sender(recipientKey: key, ciphersuite: suite, info: info),
                    (try? sender.seal(secret)) != nil
                else { return -1 }
            }
            return 0
        }
    }
}

/// Unlocking.
enum Passwords {
    static func figures() async throws -> [Figure] {
        let cost = Argon2id.Cost.standard
        let text = Array("a password".utf8)
        let password = try Password(typed: try SecretBytes(copying: text.span))
        let (file, _) = try IdentityFile.make(
            handle: Name(text: "anna"), password: password, cost: cost, time: 1_777_730_400)
        let times = try await Measure.byTurns(5) {
            _ = try file.open(withPassword: password)
        } _: {
            try require(baseline_argon2id(256 << 20, 3))
        }
        return [
            Figure(
                work: "unlock with the password", time: times.first, baseline: "plain Argon2id",
                baselineTime: times.second, goal: .atMost(1.03))
        ]
    }
}
