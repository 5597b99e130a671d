// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

extension Audience {
    /// The address of the services of tests that no wire leads to: `https://tresor.example`.
    static let ofTests = Audience(isSecure: true, host: "tresor.example", port: 443)
}

extension ServiceCall {
    init(operation: ServiceOperation, body: [UInt8], authorization: String?, source: [UInt8]) {
        self.init(
            operation: operation, body: body, authorization: authorization, source: source, audiences: [.ofTests])
    }
}

extension ServiceHead {
    init(operation: ServiceOperation, bodyByteCount: Int, authorization: String?, source: [UInt8]) {
        self.init(
            operation: operation, bodyByteCount: bodyByteCount, authorization: authorization, source: source,
            audiences: [.ofTests])
    }
}

extension SessionKey {
    convenience init(
        of identity: Identity, device: DeviceID?, server: Hash256, era: Era = .first, since: UInt64, duration: UInt64
    ) throws(TresorError) {
        try self.init(
            of: identity, device: device, server: server, audience: Audience.ofTests.hash(), era: era, since: since,
            duration: duration)
    }

    convenience init(of device: DeviceShare, server: Hash256, since: UInt64, duration: UInt64) throws(TresorError) {
        try self.init(
            of: device, server: server, audience: Audience.ofTests.hash(), since: since, duration: duration)
    }
}

extension SessionStatement {
    init(
        kind: Kind, server: Hash256, user: UserID, generation: UInt32, device: DeviceID?, key: Hash256, since: UInt64,
        until: UInt64, sign: (_ label: DomainLabel, _ bytes: [UInt8]) throws(TresorError) -> [UInt8]
    ) throws(TresorError) {
        try self.init(
            kind: kind, server: server, audience: Audience.ofTests.hash(), user: user, generation: generation,
            device: device, key: key, since: since, until: until, sign: sign)
    }
}
