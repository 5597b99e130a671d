// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Puts the server share of a device slot of the speaker, with the public key of the device.
package struct PutServerShareRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.putServerShare

    package let device: DeviceID
    /// The server share: 32 bytes.
    package let share: [UInt8]
    /// The Ed25519 public key of the device.
    package let deviceKey: Hash256

    package init(device: DeviceID, share: [UInt8], deviceKey: Hash256) {
        self.device = device
        self.share = share
        self.deviceKey = deviceKey
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.raw(device.bytes)
        encoder.raw(share)
        encoder.digest(deviceKey)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        device = try readDevice(from: &decoder)
        share = try decoder.raw(32)
        deviceKey = try decoder.digest()
    }
}

/// Asks for the server share of the speaker's device.
package struct ServerShareRequest: ServiceRequest {
    package typealias Answer = ServerShareAnswer
    package static let operation = ServiceOperation.serverShare

    package let device: DeviceID

    package init(device: DeviceID) { self.device = device }

    package func encode(to encoder: inout ByteEncoder) { encoder.raw(device.bytes) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { device = try readDevice(from: &decoder) }
}

/// A server share: 32 bytes, or none.
package struct ServerShareAnswer: ServiceMessage {
    package let share: [UInt8]

    package init(share: [UInt8]) { self.share = share }

    package func encode(to encoder: inout ByteEncoder) { encoder.vector8(share) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { share = try decoder.emptyOr(32) }
}

/// Deletes server shares of the speaker.
package struct DeleteServerSharesRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.deleteServerShares

    /// The devices; empty for all.
    package let devices: [DeviceID]

    package init(devices: [DeviceID]) { self.devices = devices }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.list(devices, counted: UInt16.self) { $0.raw($1.bytes) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        devices = try decoder.list(of: 0, counted: UInt16.self, byteCount: 16) { (decoder) throws(TresorError) in
            try readDevice(from: &decoder)
        }
    }
}

/// Puts a kit copy of the speaker.
package struct PutKitCopyRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.putKitCopy

    package let locator: Hash256
    package let copy: [UInt8]

    package init(locator: Hash256, copy: [UInt8]) {
        self.locator = locator
        self.copy = copy
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(locator)
        encoder.vector32(copy)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        locator = try decoder.digest()
        copy = try decoder.vector32(1...IdentityFile.maximumByteCount)
    }
}

/// Asks for the kit copy under a locator, which only the kit yields.
package struct KitCopyRequest: ServiceRequest {
    package typealias Answer = KitCopyAnswer
    package static let operation = ServiceOperation.kitCopy

    package let locator: Hash256

    package init(locator: Hash256) { self.locator = locator }

    package func encode(to encoder: inout ByteEncoder) { encoder.digest(locator) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { locator = try decoder.digest() }
}

/// A kit copy; empty for none.
package struct KitCopyAnswer: ServiceMessage {
    package let copy: [UInt8]

    package init(copy: [UInt8]) { self.copy = copy }

    package func encode(to encoder: inout ByteEncoder) { encoder.vector32(copy) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        copy = try decoder.vector32(0...IdentityFile.maximumByteCount)
    }
}

/// Deletes a kit copy of the speaker.
package struct DeleteKitCopyRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.deleteKitCopy

    package let locator: Hash256

    package init(locator: Hash256) { self.locator = locator }

    package func encode(to encoder: inout ByteEncoder) { encoder.digest(locator) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { locator = try decoder.digest() }
}

/// Puts the offer of a new machine into the mailbox under a locator, which only the code yields.
package struct PutOfferRequest: ServiceRequest {
    package typealias Answer = PutOfferAnswer
    package static let operation = ServiceOperation.putOffer

    package let locator: Hash256
    /// The offer: 1266 bytes.
    package let offer: [UInt8]

    package init(locator: Hash256, offer: [UInt8]) {
        self.locator = locator
        self.offer = offer
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(locator)
        encoder.raw(offer)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        locator = try decoder.digest()
        offer = try decoder.raw(DeviceOffer.byteCount)
    }
}

/// Whether an offer lies in its mailbox now.
package struct PutOfferAnswer: ServiceMessage {
    /// The outcome; `nil` where there is no mailbox, or its time is over.
    package let outcome: StoreOutcome?

    package init(_ outcome: StoreOutcome?) { self.outcome = outcome }

    package func encode(to encoder: inout ByteEncoder) {
        let code: UInt8 =
            switch outcome {
            case .done: 0
            case .conflict: 1
            case nil: 2
            }
        encoder.integer(code)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        switch try decoder.integer(UInt8.self) {
        case 0: outcome = .done
        case 1: outcome = .conflict
        case 2: outcome = nil
        default: throw .altered
        }
    }
}

/// The 16 bytes of a device id.
private func readDevice(from decoder: inout ByteDecoder) throws(TresorError) -> DeviceID {
    guard let device = DeviceID(try decoder.raw(16)) else { throw .altered }
    return device
}
