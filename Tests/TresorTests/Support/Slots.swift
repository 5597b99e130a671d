// SPDX-License-Identifier: Apache-2.0

import TresorCrypto
@testable import Tresor
@testable import TresorCore

extension Slot {
    /// The slot as it stands in an identity file.
    var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encode(into: &encoder)
        return encoder.bytes
    }

    /// Everything but the sealed seed, as it stands in an identity file.
    var fields: [UInt8] { Array(bytes.dropLast(sealed.count)) }

    var isPassword: Bool { if case .password = kind { true } else { false } }

    /// A slot that nobody sealed, put together of anybody's parts; what is not said is as in this one.
    func with(
        id: DeviceID? = nil, kind: Kind? = nil, since: UInt64? = nil, sealed: [UInt8]? = nil
    ) throws -> Slot {
        let seed = try SecretKey<SeedUse>()
        let key = try SecretKey<SlotUse>()
        let model = try Slot.seal(
            seed, under: key, id: id ?? self.id, kind: kind ?? self.kind, since: since ?? self.since,
            user: UserID(try anyDigest()), generation: 0)
        var decoder = ByteDecoder(model.fields + (sealed ?? self.sealed))
        let slot = try Slot(from: &decoder)
        try decoder.end()
        return slot
    }
}
