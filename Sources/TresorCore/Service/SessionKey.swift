// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The key pair of a session, which a process makes for itself (SPEC §18.2). It signs requests.
package final class SessionKey: Sendable {
    private let key: SigningKey
    package let statement: SessionStatement
    private let hash: Hash256

    /// Makes a session of a person.
    ///
    /// - Parameters:
    ///   - device: this device, if it is trusted.
    ///   - audience: the hash of the address of the service, as it is dialled.
    ///   - era: the era of the account, as far as it is known.
    ///   - since: the time from which it is good, in seconds since 1970, and at most the latest time of the format.
    ///   - duration: the seconds after which it ends, and at most a day.
    /// - Throws: ``TresorError/usage(_:)`` with `locked` for a locked identity; ``TresorError/failed(_:)``.
    package convenience init(
        of identity: Identity, device: DeviceID?, server: Hash256, audience: Hash256, era: Era = .first, since: UInt64,
        duration: UInt64
    ) throws(TresorError) {
        try self.init(
            kind: .identity, user: identity.user, generation: identity.generation, device: device, server: server,
            audience: audience, era: era, since: since, duration: duration
        ) { (label, bytes) throws(TresorError) in try identity.sign(label, bytes) }
    }

    /// Makes a session of a device, which may fetch and delete its server share.
    package convenience init(
        of device: DeviceShare, server: Hash256, audience: Hash256, era: Era = .first, since: UInt64, duration: UInt64
    ) throws(TresorError) {
        try self.init(
            kind: .device, user: device.user, generation: 0, device: device.id, server: server, audience: audience,
            era: era, since: since, duration: duration
        ) { (label, bytes) throws(TresorError) in try device.sign(label, bytes) }
    }

    private init(
        kind: SessionStatement.Kind, user: UserID, generation: UInt32, device: DeviceID?, server: Hash256,
        audience: Hash256, era: Era, since: UInt64, duration: UInt64,
        sign: (DomainLabel, [UInt8]) throws(TresorError) -> [UInt8]
    ) throws(TresorError) {
        let seed = try SecretKey<SigningUse>()
        let key = try SigningKey(seed: seed)
        let since = min(since, Format.latestTime)
        let until = min(since + min(duration, SessionStatement.maximumDuration), Format.latestTime)
        let statement = try SessionStatement(
            kind: kind, server: server, audience: audience, user: user, generation: generation, device: device,
            era: era,
            key: key.publicKey, since: since, until: until, sign: sign)
        self.statement = statement
        hash = try statement.hash()
        self.key = key
    }

    /// Signs a request.
    package func authorization(
        for operation: ServiceOperation, body: [UInt8], id: [UInt8], time: UInt64
    ) throws(TresorError) -> Authorization {
        let request = try RequestStatement(session: hash, id: id, time: time, operation: operation, body: body)
        return Authorization(statement: statement, id: id, time: time, signature: try key.sign(request.message))
    }
}
