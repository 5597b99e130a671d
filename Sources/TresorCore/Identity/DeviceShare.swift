// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The device share of a slot key, as the home keeps it: magic, version, suite, user id, device id, 32 secret bytes.
package final class DeviceShare: Sendable {
    package let user: UserID
    package let id: DeviceID
    package let secret: SecretKey<DeviceUse>

    package static let byteCount = 8 + 2 + 32 + 16 + 32

    package init(user: UserID) throws(TresorError) {
        let id = try DeviceID.random()
        let secret = try SecretKey<DeviceUse>()
        self.user = user
        self.id = id
        self.secret = secret
    }

    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: borrowing SecretBytes) throws(TresorError) {
        guard bytes.count == Self.byteCount else { throw .altered }
        var decoder = ByteDecoder(bytes.span.extracting(first: Self.byteCount - 32).publicBytes)
        try decoder.preamble(.device)
        let user = UserID(try decoder.digest())
        guard let id = DeviceID(try decoder.raw(16)) else { throw .altered }
        let secret = try SecretKey<DeviceUse>(SecretBytes(copying: bytes.span.extracting(last: 32)))
        self.user = user
        self.id = id
        self.secret = secret
    }

    package func encoded() throws(TresorError) -> SecretBytes {
        var encoder = ByteEncoder()
        encoder.preamble(.device)
        encoder.digest(user.digest)
        encoder.raw(id.bytes)
        let prefix = encoder.bytes
        return try SecretBytes(count: Self.byteCount) { (output) throws(TresorError) in
            for (index, byte) in prefix.enumerated() { output[index] = byte }
            secret.copy(into: &output, at: prefix.count)
        }
    }

    /// Signs `LP(label) ‖ bytes` with the device key, which the service knows (SPEC §18.2).
    package func sign(_ label: DomainLabel, _ bytes: [UInt8]) throws(TresorError) -> [UInt8] {
        try signingKey().sign(label.message(bytes))
    }

    /// The public key of the device key.
    package func publicKey() throws(TresorError) -> Hash256 { try signingKey().publicKey }

    private func signingKey() throws(TresorError) -> SigningKey {
        let context: [UInt8] = []
        return try SigningKey(seed: try secret.derive(.deviceSign, context: context.span))
    }

    func slotKey(serverShare: borrowing SecretBytes) throws(TresorError) -> SecretKey<SlotUse> {
        return try secret.derive(.slotDevice, context: serverShare.span)
    }
}

/// The use of a device share.
package enum DeviceUse: KeyUse {}

extension DeviceID {
    package static func random() throws(TresorError) -> DeviceID {
        guard let id = DeviceID(try randomBytes(16)) else { throw .failed(.other) }
        return id
    }
}
