// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The statement that binds the key of a session to a person or a device, and to one service at one address (SPEC §18.2).
///
/// A process makes the key and never writes it down, so nothing in a log or a database opens a session.
package struct SessionStatement: ServiceMessage {
    /// The size in bytes: 255.
    package static let byteCount = 255
    /// The maximum time from *since* to *until*, in seconds: a day.
    package static let maximumDuration: UInt64 = 86_400

    /// The signer of a statement.
    package enum Kind: UInt8, Sendable {
        case identity = 1
        case device = 2
    }

    package let kind: Kind
    /// The id of the service.
    package let server: Hash256
    /// The hash of the address that was dialled.
    package let audience: Hash256
    package let user: UserID
    /// The generation of the identity; 0 for a statement of a device.
    package let generation: UInt32
    /// The device; `nil` for one that is not trusted.
    package let device: DeviceID?
    /// The era of the account, as far as the process knows it.
    package let era: Era
    /// The Ed25519 public key of the session.
    package let key: Hash256
    /// The times between which the session is good, in seconds since 1970.
    package let since: UInt64
    package let until: UInt64
    package let signature: [UInt8]
    /// The bytes that the signature covers after the label.
    private let signed: [UInt8]

    /// Signs a statement.
    ///
    /// - Throws: the errors of `sign`.
    package init(
        kind: Kind, server: Hash256, audience: Hash256, user: UserID, generation: UInt32, device: DeviceID?,
        era: Era = .first, key: Hash256, since: UInt64, until: UInt64,
        sign: (_ label: DomainLabel, _ bytes: [UInt8]) throws(TresorError) -> [UInt8]
    ) throws(TresorError) {
        self.kind = kind
        self.server = server
        self.audience = audience
        self.user = user
        self.generation = generation
        self.device = device
        self.era = era
        self.key = key
        self.since = since
        self.until = until
        var encoder = ByteEncoder()
        encoder.preamble(.session)
        encoder.integer(kind.rawValue)
        encoder.digest(server)
        encoder.digest(audience)
        encoder.digest(user.digest)
        encoder.integer(generation)
        encoder.raw(device?.bytes ?? Self.noDevice)
        encoder.raw(era.bytes)
        encoder.digest(key)
        encoder.integer(since)
        encoder.integer(until)
        signed = encoder.bytes
        signature = try sign(.sessionSignature, signed)
    }

    /// The device that signs for itself; `nil` for a statement of a person.
    package var signingDevice: DeviceID? { kind == .device ? device : nil }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.raw(signed)
        encoder.raw(signature)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        let bytes = try decoder.raw(Self.byteCount)
        var fields = ByteDecoder(bytes)
        try fields.preamble(.session)
        guard let kind = Kind(rawValue: try fields.integer()) else { throw .altered }
        self.kind = kind
        server = try fields.digest()
        audience = try fields.digest()
        user = UserID(try fields.digest())
        generation = try fields.integer()
        let device = try fields.raw(Self.noDevice.count)
        self.device = device == Self.noDevice ? nil : DeviceID(device)
        era = try Era(from: &fields)
        key = try fields.digest()
        since = try fields.time()
        until = try fields.time()
        guard since <= until, until - since <= Self.maximumDuration,
            kind == .identity || (self.device != nil && generation == 0)
        else { throw .altered }
        signed = Array(bytes[..<fields.offset])
        signature = try fields.raw(Ed25519.signatureByteCount)
    }

    /// Checks the signature by the key of the signer: that of the identity's generation, or that of the device.
    ///
    /// - Throws: ``TresorError/altered``.
    package func verify(by signer: Hash256) throws(TresorError) {
        try Ed25519.verify(signature, of: DomainLabel.sessionSignature.message(signed), by: signer)
    }

    /// `H("tresor/v1/session-hash", SessionStatement)`.
    package func hash() throws(TresorError) -> Hash256 { try BLAKE2b.hash(.sessionHash, bytes) }

    private static let noDevice = [UInt8](repeating: 0, count: 16)
}
