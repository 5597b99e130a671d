// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import TresorCore

/// No object of a service is taken for another one (SPEC §18).
@Suite struct MixingTests {
    private typealias Reader = @Sendable ([UInt8]) throws -> Void

    @Test func A119_noObjectIsTakenForAnother() throws {
        let server = Server(key: MessageSpecimen.digest(1), memoryKiB: 65_536, passes: 3)
        let objects: [(name: String, bytes: [UInt8], read: Reader)] = [
            ("server", server.bytes, { _ = try Server($0) }),
            ("session", try MessageSpecimen.session().statement.bytes, { _ = try SessionStatement($0) }),
            (
                "log-in", try MessageSpecimen.login(record: .zero, copy: .zero).bytes,
                { _ = try LoginStatement($0) }
            ),
            ("known log-ins", KnownLogins().bytes, { _ = try KnownLogins($0) }),
            ("refusal", Refusal.forbidden.body, { _ = try Refusal.read($0) }),
            ("card", try MessageSpecimen.identity().chain.bytes, { _ = try CardChain($0) }),
        ]
        for object in objects {
            try object.read(object.bytes)
            for other in objects where other.name != object.name {
                // At the size that the other one has, too.
                let sized = (object.bytes + [UInt8](repeating: 0, count: 4096)).prefix(other.bytes.count)
                for bytes in [object.bytes, Array(sized)] {
                    #expect(throws: TresorError.self, "\(object.name) as \(other.name)") { try other.read(bytes) }
                }
            }
        }
    }

    /// The identity signs sessions and log-ins, and the key of a session signs requests: each under a label of its own.
    @Test func A119_noSignatureServesTwoPurposes() throws {
        let identity = try MessageSpecimen.identity()
        let bytes = Array("the same bytes".utf8)
        let labels = DomainLabel.registry.filter { $0.use == .sign }.map(\.label)
        for label in labels {
            let signature = try identity.sign(label, bytes)
            for other in labels {
                let holds: Void? =
                    (try? Ed25519.verify(signature, of: other.message(bytes), by: identity.chain.newest.signingKey))
                #expect((holds != nil) == (label == other), "\(label.text) as \(other.text)")
            }
        }
    }
}
